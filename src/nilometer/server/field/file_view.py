"""A stream's file at hand as the field's source: its newest rows, sorted by time, in memory."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import polars as pl

from nilometer.catalog import Stream
from nilometer.engine import Database
from nilometer.operators.logic import POSITION
from nilometer.server.field.newest import merged

MOST = 2_000_000
"""The most rows of a file that are kept: the newest ones."""
PART = 200_000


class FileView:
    """Reads the file once."""

    def __init__(self, stream: Stream, database: Database) -> None:
        from nilometer.dataflow import Batch

        identity, time = stream.column("id"), stream.column("time")
        assert identity is not None, "a stream has ids"
        assert time is not None, "a stream has times"
        self.stream = stream
        self.identity, self.time = identity.name, time.name
        self.columns = [column.name for column in stream.columns]
        frames = [
            entry.rows
            for entry in database.data.entries(stream)
            if isinstance(entry, Batch) and entry.rows.height
        ]
        rows = pl.concat(frames, how="diagonal") if frames else pl.DataFrame(schema={self.time: pl.Int64()})
        names = [name for name in self.columns if name in rows.columns]
        rows = rows.select(names).drop_nulls(self.time).sort(self.time, maintain_order=True).tail(MOST)
        self._rows = rows.with_row_index(POSITION).with_columns(pl.col(POSITION).cast(pl.Int64))
        self._times = rows.get_column(self.time).cast(pl.Int64).to_numpy()

    def newest(self) -> tuple[pl.DataFrame, int]:
        """The newest reading of each sensor, and the number of rows."""
        if self.identity not in self._rows.columns:
            return self._rows.clear(), 0
        return merged(self._rows, self.identity, self.time), self._rows.height

    def between(self, low: int, high: int, columns: list[str]) -> Iterator[pl.DataFrame]:
        """The rows with times from `low` up to but not including `high`, with their positions, in parts."""
        begin, end = np.searchsorted(self._times, [low, high], side="left").tolist()
        wanted = [POSITION, *(name for name in columns if name in self._rows.columns)]
        for at in range(begin, end, PART):
            yield self._rows[at : min(at + PART, end)].select(wanted)

    def spans(self) -> list[tuple[int, int, int]]:
        """The least time, the greatest and the number of rows of up to 120 parts of the file."""
        parts = np.array_split(self._times, min(120, max(1, len(self._times) // 50)))
        return [(int(part[0]), int(part[-1]), len(part)) for part in parts if len(part)]
