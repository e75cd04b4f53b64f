"""Windows joined with a table of which every row is kept: at each evaluation, all rows of the table, with NULLs
where the window holds no partner.

    limits LEFT JOIN air [RANGE 10 MINUTES SLIDE 10 MINUTES]      the sites that sent nothing are there, too
    FULL                                                          and so are the readings without a limit

The table is repeated for every evaluation, in bounded chunks, and rows join within an evaluation. The only
state is the table.

>>> from nilometer.expressions import ColumnReference
>>> from nilometer.types import INT, Column, Schema
>>> site, air = Schema((Column("s.k", INT),)), Schema((Column("a.k", INT),))
>>> keys = ((ColumnReference("s.k", INT), ColumnReference("a.k", INT)),)
>>> logic = TableOuterJoin(site, air, "LEFT", keys).build()
>>> logic.update(0, pl.DataFrame({"s.k": [1, 2]}))
>>> logic.update(1, pl.DataFrame([(5, 5, 2)], frames.window_dtypes(air), orient="row"))
>>> listed = frames.evaluations(pl.Series([5, 10]))
>>> found = logic.advance(Progress(11, evaluations=(frames.evaluations(pl.Series([])), listed))).rows
>>> sorted(found.select("@tick", "s.k", "a.k").rows(), key=str)
[(10, 1, None), (10, 2, None), (5, 1, None), (5, 2, 2)]
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from nilometer.algebra import JoinKind
from nilometer.kernels.candidates import split
from nilometer.operators import frames
from nilometer.operators.beside_table import BesideTable
from nilometer.operators.gathering import gather
from nilometer.operators.limits import check_built, operator
from nilometer.operators.logic import EVALUATION, WINDOW_COLUMNS, Output, Progress
from nilometer.operators.matching import JoinSpec, Matching, join_kind
from nilometer.operators.validation import require

ROWS_AT_ONCE = 2_000_000


@dataclass(frozen=True)
class TableOuterJoin(JoinSpec):
    """A LEFT join of a table (port 0) with windows (port 1), or a FULL join with the table at port `table`."""

    table: int = 0

    def __post_init__(self) -> None:
        kind = join_kind(self.kind)
        require(
            kind is JoinKind.FULL or (kind is JoinKind.LEFT and self.table == 0),
            f"a {kind} join that keeps the rows of a table at port {self.table}",
        )
        _ = self.schema

    @property
    def matching(self) -> Matching:
        kind = join_kind(self.kind)
        return Matching(self.left, self.right, kind, self.keys, self.residual, True, EVALUATION)

    def build(self) -> TableOuterJoinLogic:
        return TableOuterJoinLogic(self)


class TableOuterJoinLogic(BesideTable):
    """The table, and the windows' rows since the last round."""

    def __init__(self, spec: TableOuterJoin) -> None:
        table, windows = (spec.left, spec.right) if spec.table == 0 else (spec.right, spec.left)
        super().__init__(table, frames.window_dtypes(windows), spec.table)
        self._matcher = spec.matching.build()
        self._answer = frames.window_dtypes(spec.schema)

    @operator("a join with a table")
    def advance(self, progress: Progress) -> Output:
        rows = self.settle(progress)
        listed = progress.evaluations[1 - self.port]
        joined: list[pl.DataFrame] = []
        total = 0
        for evaluations, table in self.tables.met(listed):
            for part in split(np.full(evaluations.height, max(table.height, 1)), ROWS_AT_ONCE):
                joined.append(self._joined(evaluations[part], table, rows))
                total += joined[-1].height
                check_built(total, len(self._answer))
        self.tables.forget(progress.watermark)
        return Output(frames.concatenate(joined, self._answer), listed)

    def _joined(self, evaluations: pl.DataFrame, table: pl.DataFrame, rows: pl.DataFrame) -> pl.DataFrame:
        """The join at some evaluations: each with the whole table, and with the rows of its own window."""
        check_built(float(evaluations.height * table.height), table.width)
        owners = np.repeat(np.arange(evaluations.height, dtype=np.int64), table.height)
        members = np.tile(np.arange(table.height, dtype=np.int64), evaluations.height)
        repeated = pl.DataFrame(
            [*gather(evaluations.select(*WINDOW_COLUMNS), owners), *gather(table, members)]
        )
        own = rows.join(evaluations.select(EVALUATION), on=EVALUATION, how="semi", maintain_order="left")
        sides = (repeated, own) if self.port == 0 else (own, repeated)
        return self._matcher(*sides).select(*self._answer)
