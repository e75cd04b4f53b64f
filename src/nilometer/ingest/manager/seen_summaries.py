"""Finds the summaries that are new to the log: sensors, moments of beginning and moments of ending, in bounded memory.

A broker that delivers again brings the same summary again. Memory holds the newest `limit` keys. A summary that ends
before all of them are counted as seen: adding readings twice is worse than refusing some that are very late. After a
restart the newest keys are loaded from the log.
"""

from __future__ import annotations

import polars as pl

from nilometer.algebra.summary import FROM
from nilometer.catalog.extents import Stream
from nilometer.log import StreamLog
from nilometer.log.record import RecordKind
from nilometer.log.segment import look, segment_ids
from nilometer.operators.frames import from_bytes
from nilometer.types import INT_MINIMUM

LIMIT = 200_000


class SeenSummaries:
    """The keys of a log's summaries."""

    def __init__(self, stream: Stream, log: StreamLog, limit: int = LIMIT) -> None:
        names = {column.name.lower(): column.name for column in stream.columns}
        self._time = names["time"]
        self._columns = [names["id"], FROM, self._time]
        self._limit = limit
        self._floor = INT_MINIMUM
        self._keys: pl.DataFrame | None = None
        self._load(log)

    def fresh(self, rows: pl.DataFrame) -> pl.DataFrame:
        """The summaries that the log does not have, in their order."""
        rows = rows.unique(self._columns, keep="first", maintain_order=True)
        rows = rows.filter(pl.col(self._time) >= self._floor)
        if self._keys is not None and rows.height:
            rows = rows.join(self._keys, on=self._columns, how="anti", maintain_order="left")
        return rows

    def remember(self, rows: pl.DataFrame) -> None:
        """Add summaries that were appended."""
        keys = rows.select(self._columns)
        self._keys = keys if self._keys is None else pl.concat([self._keys, keys])
        if self._keys.height > 2 * self._limit:
            self._keys = self._keys.sort(self._time).tail(self._limit)
            self._floor = int(self._keys.get_column(self._time)[0]) + 1

    def _load(self, log: StreamLog) -> None:
        loaded = 0
        for segment in reversed(segment_ids(log.files)):
            # Damage is ignored here: the readers of the log report it.
            _, contents = look(log.files, segment, on_damage=lambda _: None)
            for header, run in contents:
                if header.kind == RecordKind.SUMMARIES:
                    rows = from_bytes(bytes(header.body(run.buffer, run.base)))
                    self.remember(rows)
                    loaded += rows.height
            if loaded >= self._limit:
                break
