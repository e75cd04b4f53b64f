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
from nilometer.operators.limits import operator
from nilometer.operators.logic import EVALUATION, Output, Progress
from nilometer.operators.table_pair import TablePair
from nilometer.operators.validation import require, require_choice
from nilometer.operators.window_pair import WindowPair
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


class WindowsBagOperation(WindowPair):
    """Compares both sides' latest windows."""

    def __init__(self, spec: BagOperation) -> None:
        super().__init__(spec.left, spec.right)
        self._columns = frames.window_dtypes(spec.left)
        self._kept = _Kept(spec, [EVALUATION])

    @operator("EXCEPT or INTERSECT")
    def advance(self, progress: Progress) -> Output:
        left, right = self.sides
        ticks = self.settle(progress)
        rows = self._kept(left.rows(ticks), right.rows(ticks))
        self.forget()
        return Output(frames.conform(rows, self._columns), frames.evaluations(pl.Series(ticks)))


class TablesBagOperation(TablePair):
    """Compares two tables in the first round, and again in every round with a new version of a side."""

    def __init__(self, spec: BagOperation) -> None:
        super().__init__(spec.left, spec.right, spec.left)
        self._kept = _Kept(spec, [])

    @operator("EXCEPT or INTERSECT")
    def advance(self, progress: Progress) -> Output:  # noqa: ARG002 - tables know no time
        return self.when_changed(self._kept)
