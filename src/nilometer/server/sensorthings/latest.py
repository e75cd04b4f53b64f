"""The last reading of every sensor of a stream, by column, kept up to date with the log: what SensorThings asks most.

Each request takes up the rows that came since the last one, so a request costs what is new, not what is there. It
knows, for each column and sensor, the first and the last time, the value and position at the last time, and how many
values there are. Last is by event time; of several at one time, the one that came last.

The laws: it equals a scan of the whole log (tests compare). It follows retention: when the log's beginning moves, it
is made again. The rows of the newest batches are kept, so that a reading that was just acknowledged is found. New rows
are summed up when somebody looks, not as they come: a group of sixty new Observations costs the same beside ten sensors
and beside 20,000.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from nilometer.catalog import Stream
from nilometer.log import StreamLog
from nilometer.log.reader import Cursor
from nilometer.operators.logic import POSITION

RECENT = 200_000
"""How many of the newest rows are kept, at least."""
PART = 4_096
"""Small batches of new rows are joined to parts of about this size."""
UNSUMMED = 50_000
"""At most about this many new rows wait for somebody who looks."""
FIRST, COUNT = "@first", "@count"


@dataclass(frozen=True)
class Measure:
    """What counts as a value: `column` is not NULL (None: every row is one), and `kept` columns are remembered."""

    name: str
    column: str | None
    kept: tuple[str, ...]


class Latest:
    """One stream's. For all threads."""

    def __init__(self, stream: Stream, log: StreamLog, measures: Sequence[Measure]) -> None:
        time, identity = stream.column("time"), stream.column("id")
        assert time is not None
        assert identity is not None
        self.stream = stream
        self.log = log
        self.time, self.id = time.name, identity.name
        self.measures = {measure.name: measure for measure in measures}
        self._turn = threading.Lock()
        self._forget()

    def _forget(self) -> None:
        self._state: dict[str, pl.DataFrame] = {}
        self._columns: dict[tuple[str, str], list[Any]] = {}
        self._rows: dict[str, dict[Any, int]] = {}
        self._recent: deque[pl.DataFrame] = deque()
        self._kept_rows = 0
        self._unsummed: list[pl.DataFrame] = []
        self._unsummed_rows = 0
        self._heard: set[Any] = set()
        self._cursor: Cursor | None = None
        self._began = 0
        self.revision = 0
        self.ids: tuple[Any, ...] = ()
        """The sensors that were heard, in the order of their first reading."""

    @property
    def position(self) -> int:
        """The position of the next row that is taken up."""
        return 0 if self._cursor is None else self._cursor.offset.position

    def refresh(self) -> None:
        """Take up what is new in the log."""
        with self._turn:
            if not self.log.exists:
                return
            if self._cursor is not None and self.log.start.position > self._began:
                self._forget()
            if self._cursor is None:
                self._began = self.log.start.position
                end = self.log.end
                names = [POSITION, *self._names()]
                for frame in self.log.scan(self._began, names, on_damage=lambda _: None):
                    self._take(frame.filter(pl.col(POSITION) < end.position))
                self._cursor = Cursor(self.log.files, end, self.log.columns, lambda _: None)
            while entries := self._cursor.read():
                frames = [
                    _numbered(entry.rows.select(self._names()), entry.position)
                    for entry in entries
                    if entry.rows is not None and entry.rows.height
                ]
                if frames:
                    self._take(pl.concat(frames).select(POSITION, *self._names()))

    @property
    def kept(self) -> list[str]:
        """The columns that are remembered, of all measures."""
        return list(dict.fromkeys(name for measure in self.measures.values() for name in measure.kept))

    def _names(self) -> list[str]:
        return list(dict.fromkeys((self.time, self.id, *self.kept)))

    def _take(self, rows: pl.DataFrame) -> None:
        rows = without_doubles(self.log, rows).filter(pl.col(self.id).is_not_null())
        if not rows.height:
            return
        self._keep(rows)
        self._unsummed.append(rows)
        self._unsummed_rows += rows.height
        if self._unsummed_rows > UNSUMMED:
            self._sum_up()
        fresh = [
            each
            for each in rows.get_column(self.id).unique(maintain_order=True).to_list()
            if each not in self._heard
        ]
        if fresh:
            self._heard.update(fresh)
            self.ids += tuple(fresh)
        self.revision += 1

    def _keep(self, rows: pl.DataFrame) -> None:
        """Keep the newest rows. Batches are joined while they are small, like the tails of a sorted log: each row is
        copied a few times at most."""
        recent = self._recent
        recent.append(rows)
        self._kept_rows += rows.height
        while len(recent) > 1 and recent[-2].height <= min(recent[-1].height, PART):
            last = recent.pop()
            recent[-1] = pl.concat([recent[-1], last], rechunk=True)
        while len(recent) > 1 and self._kept_rows - recent[0].height >= RECENT:
            self._kept_rows -= recent.popleft().height

    def _sum_up(self) -> None:
        """Take up the rows that have come since somebody looked."""
        if not self._unsummed:
            return
        rows = self._unsummed[0] if len(self._unsummed) == 1 else pl.concat(self._unsummed)
        self._unsummed, self._unsummed_rows = [], 0
        for measure in self.measures.values():
            self._add(measure, rows)
        self._columns.clear()

    def _add(self, measure: Measure, rows: pl.DataFrame) -> None:
        values = rows if measure.column is None else rows.filter(pl.col(measure.column).is_not_null())
        if not values.height:
            return
        part = values.select(
            pl.col(self.id),
            pl.col(self.time),
            pl.col(POSITION),
            pl.col(self.time).alias(FIRST),
            pl.lit(1, dtype=pl.Int64).alias(COUNT),
            *(pl.col(name).alias(f"={name}") for name in measure.kept),
        )
        before = self._state.get(measure.name)
        if before is not None:
            part = pl.concat([before, part])
        order = part.group_by(self.id, maintain_order=True).agg()
        last = (
            part.sort(self.time, POSITION)
            .group_by(self.id)
            .agg(
                pl.exclude(self.id, FIRST, COUNT).last(),
                pl.col(FIRST).min(),
                pl.col(COUNT).sum(),
            )
        )
        self._state[measure.name] = order.join(last, on=self.id, how="left", maintain_order="left").select(
            part.columns
        )
        self._rows.pop(measure.name, None)

    # ---- looking -----------------------------------------------------------------------------------------------------

    def row(self, measure: str, identity: Any) -> int | None:
        """The number of a sensor in `column`; None if it has no value."""
        self._sum_up()
        rows = self._rows.get(measure)
        if rows is None:
            state = self._state.get(measure)
            ids = [] if state is None else state.get_column(self.id).to_list()
            rows = self._rows[measure] = {identity: place for place, identity in enumerate(ids)}
        return rows.get(identity)

    def column(self, measure: str, name: str) -> list[Any]:
        """One fact of all sensors: the name of a column, POSITION, FIRST, COUNT, or `=column` of the last values."""
        self._sum_up()
        found = self._columns.get((measure, name))
        if found is None:
            found = self._columns[measure, name] = self._state[measure].get_column(name).to_list()
        return found

    def fact(self, measure: str, identity: Any, name: str) -> Any:
        """One fact of one sensor; None if it has no value."""
        with self._turn:
            row = self.row(measure, identity)
            return None if row is None else self.column(measure, name)[row]

    def last(self, measure: str, identity: Any) -> dict[str, Any] | None:
        """The last value of a sensor: its time, position, and the kept columns."""
        with self._turn:
            row = self.row(measure, identity)
            if row is None:
                return None
            names = (self.time, POSITION, *(f"={name}" for name in self.measures[measure].kept))
            return {name.removeprefix("="): self.column(measure, name)[row] for name in names}

    def total(self, measure: str) -> int:
        """How many values there are, of all sensors."""
        with self._turn:
            self._sum_up()
            return sum(self.column(measure, COUNT)) if measure in self._state else 0

    def since(self, position: int) -> pl.DataFrame:
        """The rows from a position on, if they are among the newest."""
        with self._turn:
            frames: deque[pl.DataFrame] = deque()
            for frame in reversed(self._recent):
                if frame.item(-1, POSITION) < position:
                    break
                frames.appendleft(frame)
            if not frames:
                return pl.DataFrame(schema={POSITION: pl.Int64()})
            found = frames[0] if len(frames) == 1 else pl.concat(frames)
            first = int(found.get_column(POSITION).search_sorted(position))
            return found[first:]


def without_doubles(log: StreamLog, rows: pl.DataFrame) -> pl.DataFrame:
    """Rows with their positions, without doubles from before the stream had a KEY."""
    positions = log.recorded_doubles.positions
    if not positions.size or not rows.height:
        return rows
    return rows.filter(~pl.col(POSITION).is_in(pl.Series(positions).implode()))


def _numbered(rows: pl.DataFrame, first: int) -> pl.DataFrame:
    return rows.with_columns(pl.Series(POSITION, np.arange(first, first + rows.height, dtype=np.int64)))
