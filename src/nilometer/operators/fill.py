"""FILL: adds to the evaluations of windows a row for every group that an earlier evaluation had and a later one lacks.

    NULL, PREVIOUS   the row is in the evaluation that lacks the group; it holds NULLs, or the group's last values
    LINEAR           the row comes in the evaluation in which the group returns; it holds values between the two

The row has the group's keys, and the columns of the window that it stands for (`windows`, expressions of the tick). The
state is the last row of each group; for LINEAR also the ticks of the evaluations since the oldest of these.

>>> from nilometer.types import INT, Column
>>> river = Schema((Column("id", INT), Column("mean", INT)))
>>> logic = Fill(river, ("id",), "PREVIOUS").build()
>>> rows = [(1, 1, 5, 70), (1, 1, 6, 80), (2, 2, 6, 81)]  # evaluation, tick, id, mean
>>> logic.update(0, pl.DataFrame(rows, frames.window_dtypes(river), orient="row"))
>>> evaluations = pl.DataFrame({EVALUATION: [1, 2], "@tick": [1, 2]})
>>> logic.advance(Progress(3, evaluations=(evaluations,))).rows.rows()
[(1, 1, 5, 70), (1, 1, 6, 80), (2, 2, 6, 81), (2, 2, 5, 70)]
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from nilometer.operators import frames
from nilometer.operators.aggregate_items import NamedExpression
from nilometer.operators.evaluate.evaluate import compile_projection
from nilometer.operators.last_of_each.moments import MOMENT, last_at
from nilometer.operators.limits import check_built, check_kept, operator
from nilometer.operators.logic import EVALUATION, ID, TICK, Output, Progress, no_evaluations
from nilometer.operators.validation import require
from nilometer.types import Kind, Schema

METHODS = ("NULL", "PREVIOUS", "LINEAR")
_ONE = "@one"
_BEFORE = "before "


@dataclass(frozen=True)
class Fill:
    """Fills the groups of windows with these columns; `keys` name the group, `windows` the columns that the tick of an
    evaluation gives."""

    schema: Schema
    keys: tuple[str, ...]
    method: str
    windows: tuple[NamedExpression, ...] = ()

    def __post_init__(self) -> None:
        named = (*self.keys, *(name for name, _ in self.windows))
        require(bool(named) and set(named) <= set(self.schema.names), "FILL without its keys")
        require(self.method in METHODS, f"FILL({self.method})")

    def build(self) -> FillLogic:
        return FillLogic(self)


class FillLogic:
    """The last row of each group, and for LINEAR the evaluations since the oldest of them."""

    def __init__(self, spec: Fill) -> None:
        self._columns = frames.window_dtypes(spec.schema)
        self._keys = list(spec.keys)
        self._method = spec.method
        windows = [name for name, _ in spec.windows]
        self._others = [c for c in spec.schema if c.name not in {*self._keys, *windows}]
        self._windows = compile_projection(spec.windows)
        self._last = frames.empty(self._columns)
        self._ticks = no_evaluations()
        self._new: list[pl.DataFrame] = []
        self._saved = frames.Saved(), frames.Saved(), frames.Saved()

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
        keys = self._keys or [_ONE]
        rows = rows.with_columns(pl.lit(0).alias(_ONE))
        groups = rows.select(keys).unique(maintain_order=True).with_row_index(ID)
        numbered = rows.join(groups, on=keys, how="left", nulls_equal=True, maintain_order="left")
        if new.height:
            self._last = rows.unique(keys, keep="last", maintain_order=True).drop(_ONE)
            check_kept(self._last.height)
        gaps = (
            self._between(numbered, listed) if self._method == "LINEAR" else self._lacking(numbered, listed)
        )
        shown = pl.concat([new, frames.conform(gaps, self._columns)])
        return Output(shown.sort(EVALUATION, maintain_order=True), listed)

    def _lacking(self, rows: pl.DataFrame, listed: pl.DataFrame) -> pl.DataFrame:
        """A row in each evaluation for each group that it lacks."""
        found = last_at(rows, EVALUATION, listed[EVALUATION])
        gaps = found.filter(pl.col(EVALUATION) < pl.col(MOMENT)).drop(TICK)
        gaps = gaps.drop(EVALUATION).rename({MOMENT: EVALUATION})
        gaps = self._in_windows(gaps.join(listed, on=EVALUATION, how="left", maintain_order="left"))
        if self._method == "NULL":
            gaps = gaps.with_columns(pl.lit(None).alias(column.name) for column in self._others)
        return gaps

    def _between(self, rows: pl.DataFrame, listed: pl.DataFrame) -> pl.DataFrame:
        """For each row of a group, the rows that stand for the evaluations between it and the row before."""
        ticks = frames.concatenate([self._ticks, listed], dict(listed.schema))
        oldest = self._last.get_column(EVALUATION).min()
        self._ticks = ticks.filter(pl.col(EVALUATION) > oldest)
        check_kept(self._ticks.height)
        names = [EVALUATION, *(column.name for column in self._others)]
        pairs = (
            rows.unique([ID, EVALUATION], keep="last", maintain_order=True)
            .with_columns(pl.col(name).shift().over(ID).alias(_BEFORE + name) for name in names)
            .filter(pl.col(_BEFORE + EVALUATION).is_not_null())
        )
        places = ticks.get_column(EVALUATION).to_numpy()
        start = np.searchsorted(places, pairs.get_column(_BEFORE + EVALUATION).to_numpy(), side="right")
        counts = np.searchsorted(places, pairs.get_column(EVALUATION).to_numpy(), side="left") - start
        check_built(int(counts.sum()), rows.width)
        owners = np.repeat(np.arange(pairs.height), counts)
        within = np.arange(len(owners)) - np.repeat(np.cumsum(counts) - counts, counts)
        gaps = pairs[owners].with_columns(pl.Series(MOMENT, places[start[owners] + within]))
        returns = gaps.select(EVALUATION, TICK)
        gaps = gaps.with_columns(self._line(column.name, column.type.kind) for column in self._others)
        gaps = self._in_windows(gaps.with_columns(pl.col(MOMENT).alias(TICK)))
        return gaps.with_columns(returns.get_columns())

    def _line(self, name: str, kind: Kind) -> pl.Expr:
        """The value at the moment, on the straight line between two evaluations; NULL of what is no number."""
        after, before = pl.col(name), pl.col(_BEFORE + name)
        whole = pl.col(EVALUATION) - pl.col(_BEFORE + EVALUATION)
        part = pl.col(MOMENT) - pl.col(_BEFORE + EVALUATION)
        if kind is Kind.FLOAT:
            share = part / whole
            return (before * (1 - share) + after * share).alias(name)
        if kind is not Kind.INT:
            return pl.lit(None).alias(name)
        wide, long = (before.cast(pl.Int128), after.cast(pl.Int128)), whole.cast(pl.Int128)
        total = wide[0] * (long - part) + wide[1] * part
        size = pl.when(total < 0).then(total * -1).otherwise(total)
        nearest = (size * 2 + long) // (long * 2)  # halves away from 0
        return pl.when(total < 0).then(nearest * -1).otherwise(nearest).cast(pl.Int64).alias(name)

    def _in_windows(self, gaps: pl.DataFrame) -> pl.DataFrame:
        """The rows with the columns of the windows at their ticks."""
        return gaps.with_columns(self._windows(gaps).get_columns()) if gaps.height else gaps

    def snapshot(self) -> dict[str, bytes]:
        rows = frames.concatenate(self._new, self._columns)
        panes = {"last": self._saved[0](self._last), "rows": self._saved[1](rows)}
        return panes | ({"ticks": self._saved[2](self._ticks)} if self._method == "LINEAR" else {})

    def restore(self, panes: dict[str, bytes]) -> None:
        self._last = self._saved[0].load(panes["last"])
        rows = self._saved[1].load(panes["rows"])
        self._new = [rows] if rows.height else []
        if self._method == "LINEAR":
            self._ticks = self._saved[2].load(panes["ticks"])
