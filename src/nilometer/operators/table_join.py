"""Table joins: stream ⋈ table, each tuple on arrival, its system columns kept; table ⋈ table, once.

A stored extent exists at every tick (language.md, "Window joins": "Stored extents: always"). So a tuple does
not wait for the watermark, and the only state is the table.

>>> import polars as pl
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

from nilometer.operators import frames
from nilometer.operators.limits import operator
from nilometer.operators.logic import STREAM_COLUMNS, Output, Progress
from nilometer.operators.lookup import Lookup
from nilometer.operators.matching import JoinSpec
from nilometer.operators.table_pair import TablePair
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


class TableJoinLogic(TablePair):
    """Returns the joined table in the first round, and again in every round with a new version of a side."""

    def __init__(self, spec: TableJoin) -> None:
        super().__init__(spec.left, spec.right, spec.schema)
        self._matcher = spec.matching.build()

    @operator("a join with a table")
    def advance(self, progress: Progress) -> Output:  # noqa: ARG002 - tables know no time
        return self.when_changed(self._matcher)
