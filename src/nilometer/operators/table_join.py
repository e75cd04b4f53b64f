"""Table joins: stream ⋈ table, each tuple on arrival, its system columns kept; table ⋈ table, once.

A stored extent exists at every tick (language.md, "Window joins": "Stored extents: always"). So a tuple does
not wait for the watermark, and the only state is the table.

>>> from nilometer.expressions import ColumnReference
>>> from nilometer.types import STRING, Column, Schema
>>> river, place = Schema((Column("gauge", INT),)), Schema((Column("k", INT), Column("name", STRING)))
>>> keys = ((ColumnReference("gauge", INT), ColumnReference("k", INT)),)
>>> logic = StreamTableJoin(river, place, "LEFT", keys).build()
>>> logic.update(1, pl.DataFrame([(7, "weir")], frames.dtypes(place), orient="row"))
>>> rows = [(1, 1, 1, 0, 7), (2, 2, 1, 1, 8)]  # tick, time, id, position, gauge
>>> logic.update(0, pl.DataFrame(rows, frames.stream_dtypes(river), orient="row"))
>>> logic.advance(Progress(watermark=0)).rows.select("@time", "gauge", "name").rows()
[(1, 7, 'weir'), (2, 8, None)]
"""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from nilometer.operators import frames
from nilometer.operators.limits import operator
from nilometer.operators.logic import STREAM_COLUMNS, Output, Progress, no_evaluations
from nilometer.operators.lookup import Lookup
from nilometer.operators.matching import JoinSpec
from nilometer.operators.stored_rows import StoredRows, visible
from nilometer.types import INT, Type


@dataclass(frozen=True)
class StreamTableJoin(JoinSpec):
    """A join of a stream with a table, which is at port `table` (0 only for INNER). `id_type` is the type of
    the stream's ids.
    """

    table: int = 1
    id_type: Type = INT

    def __post_init__(self) -> None:
        _ = self.build()

    def build(self) -> Lookup:
        columns = frames.stream_dtypes(self.schema, self.id_type)
        return Lookup(self.matching, columns, STREAM_COLUMNS, self.table)


@dataclass(frozen=True)
class TableJoin(JoinSpec):
    """A join of a table (port 0) with a table (port 1)."""

    def build(self) -> TableJoinLogic:
        return TableJoinLogic(self)


class TableJoinLogic:
    """Returns the joined table in the first round, and again in every round with a new version of a side."""

    def __init__(self, spec: TableJoin) -> None:
        self._matcher = spec.matching.build()
        self._columns = frames.dtypes(spec.schema)
        self._tables = (StoredRows(spec.left), StoredRows(spec.right))
        self._changed = False

    def update(self, port: int, rows: pl.DataFrame) -> None:
        self._tables[port].put(rows)
        self._changed = True

    @operator("a join with a table")
    def advance(self, progress: Progress) -> Output:  # noqa: ARG002 - tables know no time
        if not self._changed:
            return Output(frames.empty(self._columns), no_evaluations())
        self._changed = False
        left, right = (table.rows for table in self._tables)
        return Output(visible(self._matcher(left, right), self._columns), no_evaluations())

    def snapshot(self) -> dict[str, bytes]:
        left, right = self._tables
        changed = b"yes" if self._changed else b"no"
        return {"left": left.to_bytes(), "right": right.to_bytes(), "changed": changed}

    def restore(self, panes: dict[str, bytes]) -> None:
        for name, table in zip(("left", "right"), self._tables, strict=True):
            table.from_bytes(panes[name])
        self._changed = panes["changed"] == b"yes"
