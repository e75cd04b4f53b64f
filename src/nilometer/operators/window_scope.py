"""The scope of a time window: which ticks are evaluated, which ticks each evaluation sees, and the slices.

language.md, "When" and "What": FROM a TO b holds T - a <= tick <= T - b, and RANGE d holds T - d < tick <= T.
Ticks are whole microseconds, so both are (T - reach, T - end] with reach = start (+ 1 if the start is
closed). Over a grid by the calendar, the distance to the start differs from evaluation to evaluation.

>>> day = Scope(start=20, end=0, slide=10, open_start=True)
>>> day.evaluations(first_tick=12, since=0, watermark=41, ticks=np.array([12]))
array([20, 30, 40])
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nilometer.algebra.grid import LAST_MOMENT, Grid
from nilometer.errors import InternalError, ResourceError
from nilometer.kernels.arrays import Integers
from nilometer.kernels.ranges import multiples
from nilometer.kernels.slices import EVERY_TICK, Slicing
from nilometer.types import DAY, INT_MINIMUM, SECOND, ceil_to, format_duration, format_time

BEGINNING = INT_MINIMUM
"""The watermark before the first one."""

MOST_EVALUATIONS = 20_000_000
"""The most evaluations listed at once. More than that come from a stray timestamp and would exhaust memory
before anyone saw it.
"""


@dataclass(frozen=True)
class Scope:
    """`start` None is UNBOUNDED. Without `slide`, `interval` is a sensed input's acquisition interval, or
    None for a pushed input. `grid` as in logical.TimeWindow.
    """

    start: int | None
    end: int
    slide: int | None
    open_start: bool
    interval: int | None = None
    grid: Grid | None = None

    def __post_init__(self) -> None:
        if self.end < 0 or (self.start is not None and self.start < self.end):
            raise InternalError("a window that ends before it starts")
        for step in (self.slide, self.interval):
            if step is not None and step <= 0:
                raise InternalError("a window that does not slide")

    @property
    def reach(self) -> int | None:
        """The distance from T back to the open start: tick > T - reach. By the calendar, about."""
        return None if self.start is None else self.start + (0 if self.open_start else 1)

    @property
    def period(self) -> int | None:
        """The distance between evaluations; None if they are at the ticks that have a row."""
        return self.slide if self.slide is not None else self.interval

    def evaluations(self, first_tick: int | None, since: int, watermark: int, ticks: Integers) -> Integers:
        """Returns the evaluations T with since <= T < watermark. `ticks` are those of the rows in that
        span.
        """
        if self.period is None:
            return np.unique(ticks[(ticks >= since) & (ticks < watermark)])
        if self.grid is not None and self.grid.once:
            return np.array(self.grid.edges(since, watermark), dtype=np.int64)
        if first_tick is None:
            return np.empty(0, dtype=np.int64)
        first = max(self._first(first_tick), since)
        count = -(-watermark // self.period) - -(-first // self.period)
        if count > MOST_EVALUATIONS:
            raise _too_many(count, first, watermark, self.period)
        if self.grid is not None and self.grid.by_calendar:
            return np.array(self.grid.edges(first, watermark), dtype=np.int64)
        offset = self.offset
        return multiples(self.period, first - offset, watermark - offset) + offset

    def latest(self, first_tick: int | None, ticks: Integers) -> Integers:
        """The latest evaluation at or before each tick, for windows with a period that are not by the calendar;
        BEGINNING if there is none.

        >>> Scope(20, 0, 10, True).latest(12, np.array([19, 25, 30])).tolist() == [BEGINNING, 20, 30]
        True
        """
        if first_tick is None:
            return np.full(len(ticks), BEGINNING, dtype=np.int64)
        found = self.begun(ticks)
        return np.where(found >= self._first(first_tick), found, BEGINNING)

    def begun(self, ticks: Integers) -> Integers:
        """The latest tick of the grid at or before each tick, whether it is evaluated or not."""
        if self.period is None:
            raise InternalError("a window without a period")
        return np.asarray((ticks - self.offset) // self.period * self.period + self.offset)

    def lows(self, ticks: Integers) -> Integers | None:
        """The open start of the window of each evaluation; None if the windows have no start."""
        if self.reach is None or self.start is None:
            return None
        grid = self.grid
        if grid is None or not grid.by_calendar:
            return ticks - self.reach
        steps = self.start // grid.nominal
        starts = [grid.back(tick, steps) for tick in ticks.tolist()]
        return np.array(starts, dtype=np.int64) - self.end

    @property
    def slicing(self) -> Slicing:
        """The slices that the windows share. `sliced` gives ticks their slices where these are irregular."""
        if self.grid is not None and (self.grid.once or self.grid.by_calendar):
            return EVERY_TICK
        found = Slicing.of(self.period, self.reach, self.end)
        return found._replace(end=found.end - self.offset, other=found.other - self.offset)

    def sliced(self, ticks: Integers) -> Integers:
        """The ticks, each replaced by the name of its slice if `slicing` cannot tell them."""
        grid = self.grid
        if grid is None or not (grid.once or grid.by_calendar) or not len(ticks):
            return ticks
        if grid.once:
            return np.full(len(ticks), LAST_MOMENT, dtype=np.int64)
        first, last = int(ticks.min()) + self.end, int(ticks.max()) + self.end
        edges = np.array(grid.edges(first, grid.at_or_after(last) + 1), dtype=np.int64)
        return edges[np.searchsorted(edges, ticks + self.end, side="left")] - self.end

    @property
    def offset(self) -> int:
        """How much later than the multiples of the period it is evaluated."""
        return 0 if self.grid is None else self.grid.offset

    def _first(self, first_tick: int) -> int:
        """The first evaluation is not before this."""
        return first_tick if self.grid is None else self.grid.begins(first_tick, self.end)

    def needed_from(self, first_tick: int | None, watermark: int) -> int | None:
        """The least tick that an evaluation at or after the watermark may see, or None if it may see every
        tick.
        """
        if self.reach is None or watermark == BEGINNING:
            return None
        if self.period is None:
            # Rows from the watermark on are kept even for windows that are always empty, because they
            # determine when to evaluate.
            return watermark - max(self.reach - 1, 0)
        earliest = watermark if first_tick is None else max(self._first(first_tick), watermark)
        if self.grid is None:
            return ceil_to(earliest, self.period) - self.reach + 1
        lows = self.lows(np.array([self.grid.at_or_after(earliest)], dtype=np.int64))
        return None if lows is None else int(lows[0]) + 1

    def ever_seen(self, ticks: Integers) -> Integers | None:
        """A mask of the ticks that any evaluation can see. None means all of them (windows without gaps)."""
        if self.period is None or self.reach is None or self.reach - self.end >= self.period:
            return None
        # The first evaluation at or after tick + end is the only one that could see it.
        offset = self.offset
        following = -(-(ticks + self.end - offset) // self.period) * self.period + offset
        return np.asarray(following - self.reach < ticks, dtype=np.bool_)


def _too_many(count: int, first: int, watermark: int, period: int) -> ResourceError:
    gap = watermark - first
    unit = next((unit for unit in (DAY, SECOND) if gap >= unit), 1)
    return ResourceError(
        f"a window that slides by {format_duration(period)} would be evaluated {count:,} times at once",
        detail=f"stream time went from {format_time(first)} to {format_time(watermark)}, a gap of {format_duration(gap // unit * unit)}",
        hint="a reading with that time is probably wrong: filter or correct it, or use a larger SLIDE",
    )
