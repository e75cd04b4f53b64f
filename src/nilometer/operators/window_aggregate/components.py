"""Aggregates <-> components: the numbers a partial aggregate holds, how rows become components, and how
answers are read from them.

This is the monoid interface of reference/algorithms.md section 7: `lift` (rows -> components), the operation
of each component (the kernels combine with it), and `lower` (components -> answers). Aggregates of one
argument share its components. A SUM of INTs is held in two halves of 32 bits: it is exact, and only the whole
sum is checked for overflow, whatever the order. A SUM of FLOATs is held in two doubles, so that it is rounded
once. VARIANCE is held as (n, mean in two doubles, squares).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from nilometer.errors import InternalError
from nilometer.expressions import Expression, constant_size, type_of
from nilometer.operators.aggregate_items import NamedAggregate
from nilometer.operators.evaluate.evaluate import Evaluator, compile_expression
from nilometer.operators.evaluate.overflow import overflow_in
from nilometer.operators.frames import dtype
from nilometer.types import INT_MAXIMUM, INT_MINIMUM, Kind

Array = npt.NDArray[Any]
Arrays = dict[str, Array]

ADD, MINIMUM, MAXIMUM, SUMS, MOMENTS = range(5)
"""The operations; the first three are those of kernels/sliding.py."""

ROWS = "rows"
"""The component that every partial has: how many rows it stands for."""

_HALF = 32
_LOWER = (1 << _HALF) - 1


@dataclass(frozen=True)
class Component:
    """One number per partial (several for SUMS and MOMENTS), and the operation that combines two of them."""

    name: str
    operation: int
    dtype: str = "int64"

    @property
    def parts(self) -> tuple[str, ...]:
        """The names of its numbers, if it has several. They are the rows of its array."""
        match self.operation:
            case 3:
                return ("high", "low")
            case 4:
                return ("n", "mean", "low", "squares")
        return ()

    @property
    def identity(self) -> int | float:
        """The value that changes nothing when it is combined with another."""
        match self.operation, self.dtype:
            case 1, "int64":
                return INT_MAXIMUM
            case 2, "int64":
                return INT_MINIMUM
            case 1, _:
                return float("inf")
            case 2, _:
                return float("-inf")
        return 0 if self.dtype == "int64" else 0.0


def slides(items: Sequence[NamedAggregate]) -> bool:
    """Whether all aggregates have partials of constant size."""
    return all(constant_size(aggregate) for _, aggregate in items)


class Lifting:
    """The components of a list of aggregates. `heard` adds a component that counts rows before the
    predicate.
    """

    def __init__(self, items: Sequence[NamedAggregate], heard: bool) -> None:
        self._items = tuple(items)
        self._arguments: dict[Expression, tuple[str, Evaluator]] = {}
        components: dict[str, Component] = {ROWS: Component(ROWS, ADD)}
        if heard:
            components["heard"] = Component("heard", ADD)
        for _, aggregate in items:
            if aggregate.argument is None:
                continue
            number = str(len(self._arguments))
            self._arguments.setdefault(aggregate.argument, (number, compile_expression(aggregate.argument)))
            for component in self._needed(aggregate.function, aggregate.argument):
                components[component.name] = component
        # Most arguments are never NULL. Their count then equals the count of rows and need not be held a
        # second time.
        self._counts = {name: c for name, c in components.items() if name.startswith("count")}
        self.components = tuple(c for name, c in components.items() if name not in self._counts)

    def _needed(self, function: str, argument: Expression) -> list[Component]:
        number = self._arguments[argument][0]
        real = type_of(argument).kind is Kind.FLOAT
        numeric = "float64" if real else "int64"
        counted = [Component(f"count{number}", ADD)]
        match function:
            case "count":
                return counted
            case "sum" | "avg" if real:
                return [*counted, Component(f"sum{number}", SUMS, "float64")]
            case "sum" | "avg":
                return [*counted, Component(f"high{number}", ADD), Component(f"low{number}", ADD)]
            case "min":
                return [*counted, Component(f"min{number}", MINIMUM, numeric)]
            case "max":
                return [*counted, Component(f"max{number}", MAXIMUM, numeric)]
            case "variance" | "stdev":
                return [Component(f"moments{number}", MOMENTS, "float64")]
        raise InternalError(f"{function} has no partial of constant size")

    def number_of(self, argument: Expression) -> str:
        """The number that appears in the names of an argument's components."""
        return self._arguments[argument][0]

    def hold_counts(self) -> None:
        """Hold the counts of all arguments, even those that equal the count of rows."""
        for name in list(self._counts):
            self.add(name)

    def add(self, name: str) -> Component:
        """Hold a separate count for an argument, because a NULL has been seen."""
        component = self._counts.pop(name)
        self.components = (*self.components, component)
        return component

    def unheld(self, arrays: Arrays) -> list[str]:
        """Returns the names of the counts in the arrays that are not held yet."""
        return [name for name in self._counts if name in arrays]

    def lift(self, rows: pl.DataFrame, mask: pl.Series | None) -> Arrays:
        """Returns each row's components. Rows outside the mask count for `heard` only.

        SUMS have one number per row, because the second is 0. Counts to which every row adds 1 are left out.
        A count that is not held is returned only if it differs from the count of rows: from then on it must
        be held.
        """
        inside = None if mask is None else mask.to_numpy()
        arrays: Arrays = {} if inside is None else {ROWS: inside.astype(np.int64)}
        wanted = {component.name: component for component in self.components}
        for number, evaluator in self._arguments.values():
            column = evaluator(rows) if mask is None else where(mask, evaluator, rows)
            known = column.is_not_null().to_numpy() if column.null_count() else None
            if f"count{number}" in self._counts and known is not None:
                wanted[f"count{number}"] = self._counts[f"count{number}"]
            if inside is not None:
                known = inside if known is None else known & inside
            if f"count{number}" in wanted and known is not None:
                arrays[f"count{number}"] = known.astype(np.int64)
            for name, make in _LIFTS.items():
                if f"{name}{number}" in wanted:
                    component = wanted[f"{name}{number}"]
                    arrays[component.name] = make(column, known, component)
        return arrays

    def lower(self, found: Arrays) -> list[pl.Series]:
        """Returns the answers' columns, in their final dtypes."""
        columns = []
        for name, aggregate in self._items:
            target = dtype(aggregate.type)
            if aggregate.argument is None:
                columns.append(pl.Series(name, found[ROWS], dtype=target))
                continue
            number = self._arguments[aggregate.argument][0]
            count = found.get(f"count{number}", found[ROWS])
            values, known = _lowered(aggregate.function, number, count, found, str(aggregate))
            column = pl.Series(name, values).cast(target)
            if known is not None:
                if target.is_float():
                    known &= np.isfinite(values)
                if not known.all():
                    column = pl.select(pl.when(pl.Series(known)).then(column)).to_series().alias(name)
            columns.append(column)
        return columns


def _lowered(
    function: str, number: str, count: Array, found: Arrays, text: str
) -> tuple[Array, Array | None]:
    """Returns the values, and a mask of those that are not NULL (None: no value is NULL)."""
    with np.errstate(all="ignore"):
        if function in ("variance", "stdev"):
            count, _, _, squares = found[f"moments{number}"]
            variance = squares / (count - 1)
            return (np.sqrt(variance) if function == "stdev" else variance), count > 1
        known = count > 0
        match function:
            case "count":
                return count, None
            case "min" | "max":
                return found[f"{function}{number}"], known
            case "sum" if f"sum{number}" in found:
                return found[f"sum{number}"][0], known
            case "avg" if f"sum{number}" in found:
                return found[f"sum{number}"][0] / count, known
            case "avg":
                return (found[f"high{number}"] * float(1 << _HALF) + found[f"low{number}"]) / count, known
            case "sum":
                return _whole(found[f"high{number}"], found[f"low{number}"], text), known
    raise InternalError(f"no answer of {function}")


def _whole(high: Array, low: Array, text: str) -> Array:
    """Combines two halves into an INT. Raises an error if it does not fit 64 bits."""
    high = high + (low >> _HALF)
    limit = 1 << (_HALF - 1)
    if len(high) and (high.max() >= limit or high.min() < -limit):
        raise overflow_in(text)
    return np.asarray((high << _HALF) | (low & _LOWER))


def where(mask: pl.Series, evaluator: Evaluator, rows: pl.DataFrame) -> pl.Series:
    """The values of the rows inside the mask, NULL elsewhere. A row that the predicate rejects thus cannot
    overflow.
    """
    values = evaluator(rows.filter(mask))
    return pl.repeat(None, rows.height, dtype=values.dtype, eager=True).scatter(mask.arg_true(), values)


# ---- lifting ---------------------------------------------------------------------------------------------------------


def _plain(column: pl.Series, known: Array | None, component: Component) -> Array:
    """The values, with the identity in place of each missing one."""
    values = column.fill_null(0).to_numpy() if column.null_count() else column.to_numpy()
    if component.dtype == "float64":
        values = values.astype(np.float64, copy=False)
    return values if known is None else np.where(known, values, component.identity)


def _moments(column: pl.Series, known: Array | None, component: Component) -> Array:
    values = _plain(column.cast(pl.Float64), known, component)
    count = np.ones(len(column)) if known is None else known.astype(np.float64)
    low = np.zeros(len(column))
    if not column.dtype.is_float():
        low = _lost(column, known)
    return np.stack([count, values, low, np.zeros(len(column))])


def _lost(column: pl.Series, known: Array | None) -> Array:
    """The part of each INT that is lost when it becomes a double."""
    whole = column.to_physical().cast(pl.Int64).fill_null(0).to_numpy()
    rounded = whole.astype(np.float64)
    # 2^63 itself is not an INT: there the double is one step less, and the loss is counted from that double.
    near = np.minimum(rounded, np.nextafter(2.0**63, 0.0))
    lost = (whole - near.astype(np.int64)).astype(np.float64) - (rounded - near)
    return lost if known is None else np.where(known, lost, 0.0)


_LIFTS: dict[str, Callable[[pl.Series, Array | None, Component], Array]] = {
    "sum": _plain,
    "high": lambda column, known, component: _plain(column, known, component) >> _HALF,
    "low": lambda column, known, component: _plain(column, known, component) & _LOWER,
    "min": _plain,
    "max": _plain,
    "moments": _moments,
}
