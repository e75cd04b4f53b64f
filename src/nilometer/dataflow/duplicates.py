"""Keys seen so far -> which rows of a batch are the first of their key (NULL = NULL), over the whole stream.

Keys are kept in chunks that are appended and, but for the last ones, never changed (design principle 8). A key that holds the
time needs only the chunks whose ticks overlap the batch's: so a batch costs what is near it, not what is behind it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import polars as pl

from nilometer.catalog.extents import Stream
from nilometer.errors import DataError
from nilometer.operators.frames import from_bytes, to_bytes
from nilometer.operators.logic import ID, TICK, TIME
from nilometer.operators.panes import SMALL

_CHUNK = 65_536


@dataclass
class _Chunk:
    keys: pl.DataFrame
    first: int
    last: int
    data: bytes | None = None


class SeenKeys:
    """The keys of a stream, as columns of its tagged rows."""

    def __init__(self, columns: list[str]) -> None:
        self._columns = columns
        self._chunks: list[_Chunk] = []

    @property
    def timed(self) -> bool:
        """Whether equal keys have equal ticks."""
        return bool({TIME, TICK} & set(self._columns))

    def take(self, rows: pl.DataFrame) -> pl.DataFrame:
        """The rows whose key comes for the first time, in their order; their keys are seen from now on."""
        if not rows.height:
            return rows
        fresh = rows.unique(self._columns, keep="first", maintain_order=True)
        first, last = fresh.select(pl.col(TICK).min().alias("first"), pl.col(TICK).max().alias("last")).row(0)
        near = [
            chunk.keys
            for chunk in self._chunks
            if not self.timed or (chunk.first <= last and first <= chunk.last)
        ]
        if near:
            known = pl.concat(near)
            if self.timed:
                known = known.filter(pl.col(TICK).is_between(first, last))
            fresh = fresh.join(known, on=self._columns, how="anti", nulls_equal=True, maintain_order="left")
        if fresh.height:
            self._remember(fresh.select(*dict.fromkeys((TICK, *self._columns))), first, last)
        return fresh

    def _remember(self, keys: pl.DataFrame, first: int, last: int) -> None:
        while self._chunks and _mergeable(self._chunks[-1].keys.height, keys.height):
            old = self._chunks.pop()
            keys = pl.concat([old.keys, keys], rechunk=True)
            first, last = min(first, old.first), max(last, old.last)
        self._chunks.append(_Chunk(keys, first, last))

    def snapshot(self) -> dict[str, bytes]:
        """Every chunk, under a name that it keeps."""
        for chunk in self._chunks:
            if chunk.data is None:
                chunk.data = to_bytes(chunk.keys)
        return {f"seen/{number:06d}": chunk.data or b"" for number, chunk in enumerate(self._chunks)}

    def restore(self, panes: dict[str, bytes]) -> None:
        """Take back what `snapshot` gave."""
        for name in sorted(name for name in panes if name.startswith("seen/")):
            keys = from_bytes(panes[name])
            first, last = keys.select(
                pl.col(TICK).min().alias("first"), pl.col(TICK).max().alias("last")
            ).row(0)
            self._chunks.append(_Chunk(keys, first, last, panes[name]))


def _mergeable(old: int, new: int) -> bool:
    """Small chunks, and those of like size, so that a batch writes what it brought and there are few of them."""
    return old + new <= SMALL or (2 * new >= old and old + new <= _CHUNK)


def key_columns(stream: Stream, names: Iterable[str]) -> list[str]:
    """The columns that a KEY of these names means; time, id and tick are system columns."""
    system = {"time": TIME, "tick": TICK, "id": ID}
    columns = []
    for name in names:
        column = stream.column(name)
        if name.lower() in system:
            columns.append(system[name.lower()])
        elif column is not None:
            columns.append(column.name)
        else:
            raise DataError(
                f"the KEY of '{stream.name}' names '{name}', which is not a column of it",
                hint=f"its columns are {', '.join(c.name for c in stream.columns)}",
            )
    return columns
