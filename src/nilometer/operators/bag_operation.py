"""EXCEPT and INTERSECT: the difference or the intersection of two bags of rows (logical.BagOperation).

Equal rows of a bag are numbered. A left row is in both bags if the right one has an equal row with the same
number. NULL equals NULL. Windows: at the union of the ticks, each side contributes its latest window at or
before; the state is these windows. Tables: the result is returned once, and again when a side has a new
version.

>>> from nilometer.types import INT, Column
>>> a, b = Schema((Column("a.x", INT),)), Schema((Column("b.x", INT),))
>>> logic = BagOperation(a, b, "EXCEPT").build()
>>> logic.update(0, pl.DataFrame([(1, 1, 5), (1, 1, 5), (1, 1, 6)], frames.window_dtypes(a), orient="row"))
>>> logic.update(1, pl.DataFrame([(1, 1, 5)], frames.window_dtypes(b), orient="row"))
>>> evaluations = pl.DataFrame({"@evaluation": [1], "@tick": [1]})
>>> logic.advance(Progress(2, evaluations=(evaluations, evaluations))).rows["a.x"].to_list()
[5, 6]
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import polars as pl

from nilometer.algebra import BagOperator
from nilometer.operators import frames
from nilometer.operators.latest import LatestWindow, union_of_ticks
from nilometer.operators.limits import operator
from nilometer.operators.logic import EVALUATION, Output, Progress, no_evaluations
from nilometer.operators.stored_rows import StoredRows
from nilometer.operators.validation import require, require_choice
from nilometer.types import Schema

_NUMBER = "@number"


@dataclass(frozen=True)
class BagOperation:
    """Of `left` (port 0) and `right` (port 1); `windows` False for tables."""

    left: Schema
    right: Schema
    operator: str
    windows: bool = True

    def __post_init__(self) -> None:
        require_choice(self.operator, BagOperator, "an operation on bags")
        alike = [frames.dtype(c.type) for c in self.left] == [frames.dtype(c.type) for c in self.right]
        require(alike, f"{self.operator} of ({self.left}) and ({self.right})")

    def build(self) -> WindowsBagOperation | TablesBagOperation:
        return WindowsBagOperation(self) if self.windows else TablesBagOperation(self)


class _Kept:
    """Chooses the left rows to keep."""

    def __init__(self, spec: BagOperation, groups: list[str]) -> None:
        self._names = dict(zip(spec.right.names, spec.left.names, strict=True))
        self._by = [*groups, *spec.left.names]
        self._how: Literal["semi", "anti"] = "semi" if spec.operator == BagOperator.INTERSECT else "anti"

    def __call__(self, left: pl.DataFrame, right: pl.DataFrame) -> pl.DataFrame:
        number = pl.int_range(pl.len()).over(self._by).alias(_NUMBER)
        on = [*self._by, _NUMBER]
        others = right.rename(self._names).with_columns(number).select(on)
        kept = left.with_columns(number).join(
            others, on=on, how=self._how, nulls_equal=True, maintain_order="left"
        )
        return kept.drop(_NUMBER)


class WindowsBagOperation:
    """Compares both sides' latest windows."""

    def __init__(self, spec: BagOperation) -> None:
        self._sides = (LatestWindow(spec.left), LatestWindow(spec.right))
        self._columns = frames.window_dtypes(spec.left)
        self._kept = _Kept(spec, [EVALUATION])

    def update(self, port: int, rows: pl.DataFrame) -> None:
        self._sides[port].take(rows)

    @operator("EXCEPT or INTERSECT")
    def advance(self, progress: Progress) -> Output:
        left, right = self._sides
        ticks = union_of_ticks(
            *(side.settle(listed) for side, listed in zip(self._sides, progress.evaluations, strict=True))
        )
        rows = self._kept(left.rows(ticks), right.rows(ticks))
        left.forget()
        right.forget()
        return Output(frames.conform(rows, self._columns), frames.evaluations(pl.Series(ticks)))

    def snapshot(self) -> dict[str, bytes]:
        return self._sides[0].to_panes("left") | self._sides[1].to_panes("right")

    def restore(self, panes: dict[str, bytes]) -> None:
        self._sides[0].from_panes("left", panes)
        self._sides[1].from_panes("right", panes)


class TablesBagOperation:
    """Compares two tables in the first round, and again in every round with a new version of a side."""

    def __init__(self, spec: BagOperation) -> None:
        self._columns = frames.dtypes(spec.left)
        self._tables = (StoredRows(spec.left), StoredRows(spec.right))
        self._kept = _Kept(spec, [])
        self._changed = False

    def update(self, port: int, rows: pl.DataFrame) -> None:
        self._tables[port].put(rows)
        self._changed = True

    @operator("EXCEPT or INTERSECT")
    def advance(self, progress: Progress) -> Output:  # noqa: ARG002 - tables know no time
        if not self._changed:
            return Output(frames.empty(self._columns), no_evaluations())
        self._changed = False
        left, right = (table.rows for table in self._tables)
        return Output(self._kept(left, right).select(*self._columns), no_evaluations())

    def snapshot(self) -> dict[str, bytes]:
        left, right = self._tables
        changed = b"yes" if self._changed else b"no"
        return {"left": left.to_bytes(), "right": right.to_bytes(), "changed": changed}

    def restore(self, panes: dict[str, bytes]) -> None:
        for name, table in zip(("left", "right"), self._tables, strict=True):
            table.from_bytes(panes[name])
        self._changed = panes["changed"] == b"yes"
