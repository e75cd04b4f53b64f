"""The edges at which group windows begin and end: every so many microseconds, by the calendar of a time zone,
or once, at the end of finite data.

A window over a grid is evaluated at the grid's edges. It holds the time between two edges: with `half_open`
windows (TUMBLE, HOP) the first edge belongs to it and the last does not.

>>> hours = Grid(GridUnit.TIME, 60, offset=5)
>>> hours.at_or_after(6), hours.at_or_after(65)
(65, 65)
>>> from nilometer.types import format_time, parse_time
>>> months = Grid(GridUnit.MONTH, 1, zone="Europe/Zurich")
>>> edge = months.at_or_after(parse_time("2026-03-10T12:00Z"))
>>> format_time(edge), format_time(months.back(edge, 1))
('2026-03-31T22:00:00Z', '2026-02-28T23:00:00Z')
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import lru_cache

from nilometer import time_zones
from nilometer.errors import InternalError
from nilometer.types import DAY, parse_time

LAST_MOMENT = parse_time("9999-12-31T23:59:59.999999Z")
"""The tick at which a window that is evaluated once is evaluated: no reading is later."""


class GridUnit(StrEnum):
    """The unit in which the edges of a grid are counted. TIME is microseconds; ONCE has one edge only."""

    TIME = "TIME"
    DAY = "DAY"
    WEEK = "WEEK"
    MONTH = "MONTH"
    ONCE = "ONCE"


NOMINAL = {GridUnit.DAY: DAY, GridUnit.WEEK: 7 * DAY, GridUnit.MONTH: 30 * DAY}
"""The lengths of the calendar's units that plans and estimates use; the edges use the calendar's own."""


@dataclass(frozen=True)
class Grid:
    """An edge every `count` units, counted from 1970 (weeks from the first Monday of 1970), and `offset`
    microseconds later. The calendar's units begin at the zone's midnight.

    `early` is how much earlier than the first tuple a later one may be: the stream's DELAY. A plan leaves it to
    those that run it (`over`).
    """

    unit: GridUnit
    count: int = 1
    offset: int = 0
    zone: str = "UTC"
    early: int = 0

    def __post_init__(self) -> None:
        if self.count < 1:
            raise InternalError("a grid without a step")

    @property
    def once(self) -> bool:
        """Whether it has one edge only."""
        return self.unit is GridUnit.ONCE

    @property
    def by_calendar(self) -> bool:
        """Whether its edges are not equally far apart."""
        return self.unit in NOMINAL

    @property
    def nominal(self) -> int:
        """About how far two edges are apart."""
        match self.unit:
            case GridUnit.TIME:
                return self.count
            case GridUnit.ONCE:
                return LAST_MOMENT
            case unit:
                return self.count * NOMINAL[unit]

    def over(self, delays: Iterable[int]) -> Grid:
        """The same grid over streams with these DELAYs."""
        return replace(self, early=max(delays, default=0))

    def begins(self, first_tick: int, end: int) -> int:
        """The moment from which on windows are evaluated; half-open windows (`end`) leave no tuple out."""
        return first_tick - self.early + end if end else first_tick

    def edge(self, index: int) -> int:
        """The moment of an edge, by its number."""
        if self.unit is GridUnit.TIME:
            return index * self.count + self.offset
        return _moment(self, index)

    def index_at(self, moment: int) -> int:
        """The number of the last edge at or before a moment."""
        if self.unit is GridUnit.TIME:
            return (moment - self.offset) // self.count
        days = (time_zones.to_local(moment, self.zone) - self.offset) // DAY
        index = _units(self.unit, days) // self.count
        while self.edge(index) > moment:
            index -= 1
        while self.edge(index + 1) <= moment:
            index += 1
        return index

    def at_or_after(self, moment: int) -> int:
        """The first edge at or after a moment."""
        if self.once:
            return LAST_MOMENT
        index = self.index_at(moment)
        return moment if self.edge(index) == moment else self.edge(index + 1)

    def back(self, edge: int, steps: int) -> int:
        """The edge `steps` before an edge."""
        return self.edge(self.index_at(edge) - steps)

    def edges(self, first: int, limit: int) -> list[int]:
        """The edges in [first, limit)."""
        if self.once:
            return [LAST_MOMENT] if first <= LAST_MOMENT < limit else []
        found = []
        index = self.index_at(first - 1) + 1
        while (edge := self.edge(index)) < limit:
            found.append(edge)
            index += 1
        return found

    def last_evaluation(self, tick: int, start: int | None, end: int, open_start: bool) -> int:
        """The last evaluation at which a window holds a tuple of this tick, but not before the first edge at
        or after `tick + end`."""
        first = self.at_or_after(tick + end)
        if start is None:
            return first
        if self.by_calendar:
            return self.edge(self.index_at(first) + start // self.nominal - 1)
        return max(first, self.edge(self.index_at(tick + start - int(open_start))))


def _units(unit: GridUnit, days: int) -> int:
    """The number of whole units from 1970 to a day."""
    match unit:
        case GridUnit.DAY:
            return days
        case GridUnit.WEEK:
            return (days - 4) // 7  # 1970-01-05 was a Monday
        case _:
            year, month, _ = time_zones.civil(days)
            return (year - 1970) * 12 + month - 1


@lru_cache(maxsize=20_000)
def _moment(grid: Grid, index: int) -> int:
    units = index * grid.count
    match grid.unit:
        case GridUnit.DAY:
            days = units
        case GridUnit.WEEK:
            days = 7 * units + 4
        case _:
            days = time_zones.days_of(1970, 1 + units, 1)
    wall = days * DAY + grid.offset
    moment = time_zones.to_utc(wall, grid.zone)
    return moment if grid.offset else time_zones.floor_local(moment, "DAY", grid.zone)


def grid_back(edge: int, steps: int, unit: str, count: int, offset: int, zone: str) -> int:
    """The edge `steps` before an edge of the grid that is described; the start of a window in a plan."""
    return Grid(GridUnit(unit), count, offset, zone).back(edge, steps)


ONCE = Grid(GridUnit.ONCE)
"""Windows over this grid are evaluated once, at the end of finite data."""
