"""The versions of a table that rows may still be joined with, each from its tick on.

    a row with tick T  meets  the last version with holds_from <= T

So only a row's tick decides which version it meets. Neither the row's arrival nor the way the log was cut
matters. A version may be given before its time. The law: no row comes with a tick below the watermark, so a
version is forgotten once the watermark has reached the start of the next one.

>>> from nilometer.types import INT, Column
>>> versions = StoredVersions(Schema((Column("k", INT),)))
>>> versions.put(pl.DataFrame({"k": [1]}), holds_from=0)
>>> versions.put(pl.DataFrame({"k": [2]}), holds_from=10)
>>> met = versions.met(pl.DataFrame({"@tick": [3, 10, 12]}))
>>> [(rows["@tick"].to_list(), table["k"].to_list()) for rows, table in met if rows.height]
[([3], [1]), ([10, 12], [2])]
"""

from __future__ import annotations

import json
from bisect import bisect_left, bisect_right
from collections.abc import Iterator

import polars as pl

from nilometer.operators.logic import TICK
from nilometer.operators.stored_rows import StoredRows
from nilometer.types import INT_MINIMUM, Schema

_FIRST = "table"
_BEGINNINGS = "versions"


class StoredVersions:
    """The versions of a table of this schema, empty until `put` is called."""

    def __init__(self, schema: Schema) -> None:
        self._schema = schema
        self._beginnings = [INT_MINIMUM]
        self._tables = [StoredRows(schema)]

    def put(self, rows: pl.DataFrame, holds_from: int) -> None:
        """Add a version that holds from this tick on. It replaces all versions that would start at this tick
        or later.
        """
        kept = bisect_left(self._beginnings, holds_from)
        table = StoredRows(self._schema)
        table.put(rows)
        self._beginnings[kept:] = [holds_from]
        self._tables[kept:] = [table]

    def met(self, rows: pl.DataFrame) -> Iterator[tuple[pl.DataFrame, pl.DataFrame]]:
        """Yields the rows with the version that they meet: all rows, each once."""
        if len(self._tables) == 1:
            yield rows, self._tables[0].rows
            return
        ticks = rows.get_column(TICK)
        for number, table in enumerate(self._tables):
            mine = ticks >= self._beginnings[number] if number else pl.repeat(True, rows.height, eager=True)
            if number + 1 < len(self._tables):
                mine &= ticks < self._beginnings[number + 1]
            yield rows.filter(mine), table.rows

    def forget(self, watermark: int) -> None:
        """Drop the versions that no row can meet any more: no row has a tick below the watermark."""
        passed = bisect_right(self._beginnings, watermark) - 1
        if passed > 0:
            del self._beginnings[:passed], self._tables[:passed]

    def to_panes(self) -> dict[str, bytes]:
        """Returns a pane for each version. A table that was never read again has one pane."""
        names = [_FIRST, *(f"{_FIRST} {number}" for number in range(1, len(self._tables)))]
        panes = {name: table.to_bytes() for name, table in zip(names, self._tables, strict=True)}
        if self._beginnings != [INT_MINIMUM]:
            panes[_BEGINNINGS] = json.dumps(self._beginnings).encode()
        return panes

    def from_panes(self, panes: dict[str, bytes]) -> None:
        """Take back what `to_panes` gave."""
        self._beginnings = json.loads(panes.get(_BEGINNINGS, json.dumps([INT_MINIMUM])))
        self._tables = [StoredRows(self._schema) for _ in self._beginnings]
        for number, table in enumerate(self._tables):
            table.from_bytes(panes[f"{_FIRST} {number}" if number else _FIRST])
