"""SORT and TOP_K: the rows of each evaluation, or of a table, in the order of keys; of them some (logical.Sort).

NULLs come last unless a key says otherwise. Rows that tie in all keys are equal in all visible columns, so
which of them comes first does not matter. TOP_K first leaves out the rows beyond the k-th value of the first
key, found by a bounded heap in each evaluation, and sorts the rest. No state is kept from one round to the
next, because every evaluation comes with all its rows.

>>> from nilometer.expressions import ColumnReference
>>> from nilometer.types import INT, Column
>>> river = Schema((Column("depth", INT),))
>>> logic = Sort(river, (SortKey(ColumnReference("depth", INT), descending=True),), limit=2).build()
>>> rows = [(1, 1, 60), (1, 1, None), (1, 1, 90), (1, 1, 70)]  # evaluation, tick, depth
>>> logic.update(0, pl.DataFrame(rows, frames.window_dtypes(river), orient="row"))
>>> evaluations = pl.DataFrame({"@evaluation": [1], "@tick": [1]})
>>> logic.advance(Progress(2, evaluations=(evaluations,))).rows["depth"].to_list()
[90, 70]
"""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from nilometer.algebra import SortKey
from nilometer.operators import frames
from nilometer.operators.evaluate.evaluate import compile_expression
from nilometer.operators.limits import check_built, operator
from nilometer.operators.logic import EVALUATION, Output, Progress, no_evaluations
from nilometer.operators.stored_rows import visible
from nilometer.operators.validation import require, require_columns
from nilometer.types import Schema

_NUMBER = "@number"
_BOUND = "@bound"


@dataclass(frozen=True)
class Sort:
    """The rows by `keys`, `limit` of them after the first `offset`; `windows` False for a table."""

    schema: Schema
    keys: tuple[SortKey, ...]
    limit: int | None = None
    offset: int = 0
    windows: bool = True

    def __post_init__(self) -> None:
        require(self.limit is None or self.limit >= 0, "a negative LIMIT")
        require(self.offset >= 0, "a negative OFFSET")
        for key in self.keys:
            require_columns(key.expression, self.schema, "ORDER BY")

    def build(self) -> SortLogic:
        return SortLogic(self)


class SortLogic:
    """Sorts the rows of a round."""

    def __init__(self, spec: Sort) -> None:
        self._spec = spec
        self._columns = frames.window_dtypes(spec.schema) if spec.windows else frames.dtypes(spec.schema)
        self._keys = [(f"@key{n}", compile_expression(key.expression)) for n, key in enumerate(spec.keys)]
        self._groups = [EVALUATION] if spec.windows else []
        self._parts: list[pl.DataFrame] = []

    def update(self, port: int, rows: pl.DataFrame) -> None:  # noqa: ARG002 - one port
        if rows.height:
            self._parts.append(rows)

    @operator("ORDER BY")
    def advance(self, progress: Progress) -> Output:
        listed = progress.evaluations[0] if self._spec.windows and progress.evaluations else no_evaluations()
        rows = pl.concat(self._parts) if self._parts else None
        self._parts = []
        if rows is None:
            return Output(frames.empty(self._columns), listed)
        check_built(rows.height, len(rows.columns) + len(self._keys))
        return Output(visible(self._limited(self._sorted(rows)), self._columns), listed)

    def _sorted(self, rows: pl.DataFrame) -> pl.DataFrame:
        if self._keys:
            rows = rows.with_columns(key(rows).alias(name) for name, key in self._keys)
        if self._spec.limit is not None and self._keys:
            rows = self._candidates(rows, self._spec.offset + self._spec.limit)
        names = [*self._groups, *(name for name, _ in self._keys)]
        if not names:
            return rows
        descending = [False] * len(self._groups) + [key.descending for key in self._spec.keys]
        last = [False] * len(self._groups) + [not key.nulls_first for key in self._spec.keys]
        return rows.sort(names, descending=descending, nulls_last=last, maintain_order=True)

    def _candidates(self, rows: pl.DataFrame, most: int) -> pl.DataFrame:
        """Leaves out rows that the first key alone puts behind the first `most` of their evaluation."""
        name = self._keys[0][0]
        if rows.height <= 4 * most or not rows.schema[name].is_numeric():
            return rows
        descending = self._spec.keys[0].descending
        key = pl.col(name)
        bound = key.top_k(most).min() if descending else key.bottom_k(most).max()
        bound = bound.over(EVALUATION) if self._groups else bound
        beyond = key < bound if descending else key > bound
        return rows.filter(~beyond.fill_null(False))

    def _limited(self, rows: pl.DataFrame) -> pl.DataFrame:
        limit, offset = self._spec.limit, self._spec.offset
        if limit is None and not offset:
            return rows
        if not self._groups:
            return rows.slice(offset, limit)
        number = pl.int_range(pl.len()).over(EVALUATION)
        kept = number >= offset
        return rows.filter(kept if limit is None else kept & (number < offset + limit))

    def snapshot(self) -> dict[str, bytes]:
        return {"rows": frames.to_bytes(pl.concat(self._parts))} if self._parts else {}

    def restore(self, panes: dict[str, bytes]) -> None:
        self._parts = [frames.from_bytes(panes["rows"])] if "rows" in panes else []
