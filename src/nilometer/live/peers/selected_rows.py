"""The rows of one of our streams that another gateway's query selects, read from its log.

    log ─► door ─► the query's condition ─► rows, the position up to which the log was read, and the watermark there

The law: what is late is decided here, over all readings, as on one gateway. The watermark goes with the rows, so that the
other gateway's door lets all of them in.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

import polars as pl

from nilometer.catalog import Stream
from nilometer.dataflow.door import Door
from nilometer.live.peers.numbered_rows import ROWS, Entry, fitting, numbered, numbered_before
from nilometer.log import StreamLog
from nilometer.overlay.selections import leaf_of, matching
from nilometer.types import INT_MINIMUM

OWN = ("time", "id")
"""Columns that the other gateway's door needs, whatever the query reads."""


@dataclass(frozen=True)
class _Declared:
    stream: Stream

    def extent(self, name: str) -> Stream | None:
        return self.stream if name.lower() == self.stream.name.lower() else None


class SelectedRows:
    """Reads on from a position. `upto` and `watermark` say how far the rows come that were given."""

    def __init__(self, stream: Stream, log: StreamLog, selection: str, position: int) -> None:
        self.leaf = leaf_of(selection, _Declared(stream))
        self._log, self._matching = log, matching(self.leaf)
        self._door = Door(stream)
        read = {column.name for column in self.leaf.columns + self.leaf.reads}
        self._names = [one.name for one in stream.columns if one.name in read or one.name.lower() in OWN]
        end, start = log.end, log.start.position
        self._cursor = log.cursor(end)
        # The door also sees some rows before the position, so that it knows what is late.
        self._before: Iterator[Entry] = iter(())
        if position < end.position:
            self._before = numbered_before(log, max(start, position - ROWS), end.position)
        self.upto = self._read_to = self._begin = min(max(position, start), end.position)
        self.watermark = INT_MINIMUM
        self._waiting = pl.DataFrame()

    def read(self) -> pl.DataFrame:
        """The next rows that are selected, as many as fit into a message."""
        if not self._waiting.height:
            self._waiting = self._select()
        many = fitting(self._waiting)
        rows, self._waiting = self._waiting.head(many), self._waiting.slice(many)
        if self._waiting.height:
            self.upto = int(rows.get_column("@log")[-1]) + 1
        else:
            self.upto, self.watermark = self._read_to, self._door.watermark
        return rows.drop("@log", strict=False)

    @property
    def whole(self) -> bool:
        """Whether the log was read to its end, and all its selected rows were given."""
        return not self._waiting.height and self.upto >= self._log.end.position

    def _select(self) -> pl.DataFrame:
        found = []
        for rows, upto, tick in list(islice(self._before, 1)) or numbered(self._cursor):
            if tick is not None:
                self._door.heartbeat(tick)
            if rows is None:
                continue
            self._read_to = max(self._read_to, upto)
            accepted = self._door.admit(rows).filter(pl.col("@log") >= self._begin)
            chosen = self._matching(accepted.select("@log", *self._names))
            if chosen.height:
                found.append(chosen)
        return pl.concat(found) if found else pl.DataFrame()
