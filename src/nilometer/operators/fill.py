"""FILL: adds to each evaluation a row for every group that an earlier evaluation had and this one lacks.

The row holds the keys, and the values of the group's last row or NULLs. The state is the last row of each group.

>>> from nilometer.types import INT, Column
>>> river = Schema((Column("id", INT), Column("mean", INT)))
>>> logic = Fill(river, ("id",), previous=True).build()
>>> rows = [(1, 1, 5, 70), (1, 1, 6, 80), (2, 2, 6, 81)]  # evaluation, tick, id, mean
>>> logic.update(0, pl.DataFrame(rows, frames.window_dtypes(river), orient="row"))
>>> evaluations = pl.DataFrame({EVALUATION: [1, 2], "@tick": [1, 2]})
>>> logic.advance(Progress(3, evaluations=(evaluations,))).rows.rows()
[(1, 1, 5, 70), (1, 1, 6, 80), (2, 2, 6, 81), (2, 2, 5, 70)]
"""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from nilometer.operators import frames
from nilometer.operators.last_of_each.moments import MOMENT, last_at
from nilometer.operators.limits import check_kept, operator
from nilometer.operators.logic import EVALUATION, ID, TICK, Output, Progress, no_evaluations
from nilometer.operators.validation import require
from nilometer.types import Schema


@dataclass(frozen=True)
class Fill:
    """Fills the groups of windows with these columns; `keys` name the group."""

    schema: Schema
    keys: tuple[str, ...]
    previous: bool

    def __post_init__(self) -> None:
        require(bool(self.keys) and set(self.keys) <= set(self.schema.names), "FILL without its keys")

    def build(self) -> FillLogic:
        return FillLogic(self)


class FillLogic:
    """The last row of each group."""

    def __init__(self, spec: Fill) -> None:
        self._spec = spec
        self._columns = frames.window_dtypes(spec.schema)
        self._last = frames.empty(self._columns)
        self._new: list[pl.DataFrame] = []
        self._saved = frames.Saved(), frames.Saved()

    def update(self, port: int, rows: pl.DataFrame) -> None:  # noqa: ARG002 - one port
        if rows.height:
            self._new.append(frames.conform(rows, self._columns))

    @operator("FILL")
    def advance(self, progress: Progress) -> Output:
        listed = progress.evaluations[0] if progress.evaluations else no_evaluations()
        new = frames.concatenate(self._new, self._columns)
        self._new = []
        rows = frames.concatenate([self._last, new], self._columns)
        if not listed.height or not rows.height:
            return Output(frames.empty(self._columns), listed)
        rows = rows.sort(EVALUATION, maintain_order=True)
        keys = list(self._spec.keys)
        groups = rows.select(keys).unique(maintain_order=True).with_row_index(ID)
        numbered = rows.join(groups, on=keys, how="left", nulls_equal=True, maintain_order="left")
        found = last_at(numbered, EVALUATION, listed[EVALUATION])
        gaps = found.filter(pl.col(EVALUATION) < pl.col(MOMENT)).drop(TICK)
        gaps = gaps.drop(EVALUATION).rename({MOMENT: EVALUATION})
        gaps = gaps.join(listed, on=EVALUATION, how="left", maintain_order="left")
        if not self._spec.previous:
            others = [name for name in self._spec.schema.names if name not in keys]
            gaps = gaps.with_columns(pl.lit(None).alias(name) for name in others)
        shown = pl.concat([new, frames.conform(gaps, self._columns)])
        if new.height:
            self._last = rows.unique(keys, keep="last", maintain_order=True)
            check_kept(self._last.height)
        return Output(shown.sort(EVALUATION, maintain_order=True), listed)

    def snapshot(self) -> dict[str, bytes]:
        rows = frames.concatenate(self._new, self._columns)
        return {"last": self._saved[0](self._last), "rows": self._saved[1](rows)}

    def restore(self, panes: dict[str, bytes]) -> None:
        self._last = self._saved[0].load(panes["last"])
        rows = self._saved[1].load(panes["rows"])
        self._new = [rows] if rows.height else []
