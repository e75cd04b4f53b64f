"""Aggregates <-> components: the numbers a partial aggregate holds, how rows become components, and how
answers are read from them.

This is the monoid interface of reference/algorithms.md section 7: `lift` (rows -> components), the operation
of each component (the kernels combine with it), and `lower` (components -> answers). Aggregates of one
argument share its components. A SUM of INTs is held in two halves of 32 bits: it is exact, and only the whole
sum is checked for overflow, whatever the order. A SUM of FLOATs is held in two doubles, so that it is rounded
once. VARIANCE is held as (n, mean in two doubles, squares), CORR and its kin as the same of two values, and the area
under the readings of one source as a path (kernels/merging.py).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from nilometer.algebra.summary import READINGS
from nilometer.errors import DataError, InternalError
from nilometer.expressions import Aggregate, ColumnReference, Expression, Literal, constant_size, type_of
from nilometer.operators.aggregate_items import NamedAggregate
from nilometer.operators.evaluate.evaluate import Evaluator, compile_expression
from nilometer.operators.evaluate.overflow import overflow_in
from nilometer.operators.frames import dtype
from nilometer.operators.group_functions import PAIRS, PATHS
from nilometer.operators.logic import TIME
from nilometer.operators.vectors import matrix_of, vectors_of
from nilometer.types import INT_MAXIMUM, INT_MINIMUM, Kind

Array = npt.NDArray[Any]
Arrays = dict[str, Array]

ADD, MINIMUM, MAXIMUM, SUMS, MOMENTS, COMOMENTS, PATH = range(7)
"""The operations; the first three are those of kernels/sliding.py."""

MERGED = (MOMENTS, COMOMENTS, PATH)
"""The operations of kernels/merging.py."""

_PARTS = {
    SUMS: ("high", "low"),
    MOMENTS: ("n", "mean", "low", "squares"),
    COMOMENTS: ("n", "mean", "low", "other", "other low", "squares", "other squares", "products"),
    PATH: (
        "n",
        "first high",
        "first low",
        "first",
        "last high",
        "last low",
        "last",
        "area",
        "area low",
        "linear",
    ),
}

ROWS = "rows"
"""The component that every partial has: how many rows it stands for."""

METHODS = ("STEP", "LINEAR")
"""How the readings of a path are joined."""

_HALF = 32
_LOWER = (1 << _HALF) - 1


@dataclass(frozen=True)
class Component:
    """One number per partial (several for SUMS and MOMENTS), and the operation that combines two of them."""

    name: str
    operation: int
    dtype: str = "int64"
    size: int | None = None
    """The number of a vector's elements. The component is then a matrix (kernels/vector_partials.py)."""

    @property
    def height(self) -> int | None:
        """The number of rows of its matrix; None if it is not one of vectors."""
        return None if self.size is None else self.size * (2 if self.operation == SUMS else 1)

    @property
    def parts(self) -> tuple[str, ...]:
        """The names of its numbers, if it has several. They are the rows of its array."""
        return _PARTS.get(self.operation, ())

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


_FLOATS = Component("", ADD, "float64")


def slides(items: Sequence[NamedAggregate]) -> bool:
    """Whether all aggregates have partials of constant size."""
    return all(
        constant_size(a) or a.function in PAIRS or a.function in PATHS or of_vectors(a) for _, a in items
    )


def of_vectors(aggregate: Aggregate) -> bool:
    """Whether this is an aggregate of vectors, element by element."""
    argument = aggregate.argument
    return (
        argument is not None
        and type_of(argument).kind is Kind.VECTOR
        and aggregate.function in ("sum", "avg", "min", "max")
        and not aggregate.distinct
    )


class Lifting:
    """The components of a list of aggregates. `heard` adds a component that counts rows before the
    predicate.
    """

    def __init__(self, items: Sequence[NamedAggregate], heard: bool) -> None:
        self._items = tuple(items)
        self._arguments: dict[Expression, tuple[str, Evaluator]] = {}
        self._pairs: dict[str, tuple[str, str]] = {}
        components: dict[str, Component] = {ROWS: Component(ROWS, ADD)}
        if heard:
            components["heard"] = Component("heard", ADD)
        for _, aggregate in items:
            if aggregate.argument is None:
                continue
            if aggregate.function in PAIRS:
                numbers = self._number(aggregate.argument), self._number(aggregate.rest[0])
                component = Component(_pair(*numbers), COMOMENTS, "float64")
                self._pairs[component.name] = numbers
                components[component.name] = component
                continue
            self._number(aggregate.argument)
            for component in self._needed(aggregate):
                components[component.name] = component
        # Most arguments are never NULL. Their count then equals the count of rows and need not be held a
        # second time.
        self._counts = {name: c for name, c in components.items() if name.startswith("count")}
        self.components = tuple(c for name, c in components.items() if name not in self._counts)

    def _number(self, argument: Expression) -> str:
        if argument not in self._arguments:
            self._arguments[argument] = (str(len(self._arguments)), compile_expression(argument))
        return self._arguments[argument][0]

    def _needed(self, aggregate: Aggregate) -> list[Component]:
        function, argument = aggregate.function, aggregate.argument
        assert argument is not None
        number = self._number(argument)
        size = type_of(argument).size
        real = (type_of(argument).element or type_of(argument)).kind is Kind.FLOAT
        numeric = "float64" if real else "int64"
        counted = [Component(f"count{number}", ADD)]
        match function:
            case "count":
                return counted
            case "sum" | "avg" if real:
                return [*counted, Component(f"sum{number}", SUMS, "float64", size)]
            case "sum" | "avg":
                halves = (f"high{number}", f"low{number}")
                return [*counted, *(Component(half, ADD, size=size) for half in halves)]
            case "min":
                return [*counted, Component(f"min{number}", MINIMUM, numeric, size)]
            case "max":
                return [*counted, Component(f"max{number}", MAXIMUM, numeric, size)]
            case "variance" | "stdev":
                return [Component(f"moments{number}", MOMENTS, "float64")]
            case "area" | "width":
                return [Component(_path(aggregate, number), PATH, "float64")]
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
        paired = {number for pair in self._pairs.values() for number in pair}
        columns: dict[str, tuple[pl.Series, Array | None]] = {}
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
            for method in METHODS:
                if f"path{number}{method}" in wanted:
                    arrays[f"path{number}{method}"] = _path_lift(column, known, rows[TIME], method)
            if number in paired:
                columns[number] = column, known
        for name, (one, other) in self._pairs.items():
            arrays[name] = _comoments(*columns[one], *columns[other])
        return arrays

    def lift_summaries(self, rows: pl.DataFrame) -> Arrays:
        """Returns the components of summaries, each of which stands for several rows. The columns of an argument are
        named after it (plan/summaries.py)."""
        whole = rows.get_column(READINGS).to_numpy()
        arrays: Arrays = {ROWS: whole}
        wanted = {component.name: component for component in (*self.components, *self._counts.values())}
        for argument, (number, _) in self._arguments.items():
            assert isinstance(argument, ColumnReference), "a summary of an expression"
            count = rows.get_column(f"{argument.name}#count").to_numpy()
            if f"count{number}" not in self._counts or (count != whole).any():
                arrays[f"count{number}"] = count
            for part in ("min", "max"):
                if (component := wanted.get(f"{part}{number}")) is not None:
                    column = rows.get_column(f"{argument.name}#{part}")
                    arrays[component.name] = column.fill_null(component.identity).to_numpy()
            if f"sum{number}" in wanted:
                parts = (rows.get_column(f"{argument.name}#{part}").fill_null(0.0) for part in ("sum", "low"))
                arrays[f"sum{number}"] = np.stack([part.to_numpy() for part in parts])
            if f"high{number}" in wanted:
                total = rows.get_column(f"{argument.name}#sum").fill_null(0).to_numpy()
                arrays[f"high{number}"], arrays[f"low{number}"] = total >> _HALF, total & _LOWER
        return {name: array for name, array in arrays.items() if name in wanted or name == ROWS}

    def lower(self, found: Arrays) -> tuple[list[pl.Series], list[tuple[pl.Series, DataError]]]:
        """Returns the answers' columns, in their final dtypes, and the rows in which one has no value."""
        columns: list[pl.Series] = []
        failing: list[tuple[pl.Series, DataError]] = []
        for name, aggregate in self._items:
            target = dtype(aggregate.type)
            if aggregate.argument is None:
                columns.append(pl.Series(name, found[ROWS], dtype=target))
                continue
            number = self._arguments[aggregate.argument][0]
            if aggregate.function in PAIRS:
                number = _pair(number, self._number(aggregate.rest[0]))
            elif aggregate.function in PATHS:
                number = _path(aggregate, number)
            count = found.get(f"count{number}", found[ROWS])
            values, known = _lowered(
                aggregate.function, number, count, found, type_of(aggregate.argument).size
            )
            if aggregate.function == "sum" and f"high{number}" in found:
                outside = _outside(found[f"high{number}"], found[f"low{number}"])
                if outside is not None:
                    outside = np.asarray(outside.any(axis=0)) if outside.ndim > 1 else outside
                    failing.append((pl.Series(outside), overflow_in(str(aggregate))))
            if values.ndim > 1:
                columns.append(vectors_of(name, values.T, known).cast(target))
                continue
            column = pl.Series(name, values).cast(target)
            if known is not None:
                if target.is_float():
                    known &= np.isfinite(values)
                if not known.all():
                    column = pl.select(pl.when(pl.Series(known)).then(column)).to_series().alias(name)
            columns.append(column)
        return columns, failing


def _lowered(
    function: str, number: str, count: Array, found: Arrays, size: int | None
) -> tuple[Array, Array | None]:
    """Returns the values, and a mask of those that are not NULL (None: no value is NULL)."""
    with np.errstate(all="ignore"):
        if function in PAIRS:
            return _of_pairs(function, found[number])
        if function in PATHS:
            path = found[number]
            if function == "area":
                return path[7], path[0] > 0
            return (path[4] - path[1]) * float(1 << _HALF) + (path[5] - path[2]), None
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
                return _totals(found[f"sum{number}"], size), known
            case "avg" if f"sum{number}" in found:
                return _totals(found[f"sum{number}"], size) / count, known
            case "avg":
                return (found[f"high{number}"] * float(1 << _HALF) + found[f"low{number}"]) / count, known
            case "sum":
                return _whole(found[f"high{number}"], found[f"low{number}"]), known
    raise InternalError(f"no answer of {function}")


def _of_pairs(function: str, comoments: Array) -> tuple[Array, Array | None]:
    """The measures of two values; group_functions computes the same from rows."""
    count, mean, low, other, other_low, squares, other_squares, products = comoments
    varies, other_varies = squares > 0, other_squares > 0
    match function:
        case "corr":
            return products / np.sqrt(squares) / np.sqrt(other_squares), varies & other_varies
        case "covar_pop":
            return products / count, count > 0
        case "covar_samp":
            return products / (count - 1), count > 1
        case "regr_slope":
            return products / other_squares, other_varies
        case "regr_intercept":
            return (mean + low) - products / other_squares * (other + other_low), other_varies
    share = np.where(varies, products / squares * (products / other_squares), 1.0)
    return share, other_varies


def _totals(sums: Array, size: int | None) -> Array:
    """The rounded sums: the first of two rows, or every other row of those of vectors."""
    return sums[0] if size is None else sums[0::2]


def _whole(high: Array, low: Array) -> Array:
    """Combines two halves into an INT."""
    return np.asarray(((high + (low >> _HALF)) << _HALF) | (low & _LOWER))


def _outside(high: Array, low: Array) -> Array | None:
    """The sums that do not fit 64 bits; None if there are none."""
    high = high + (low >> _HALF)
    limit = 1 << (_HALF - 1)
    if high.size and (high.max() >= limit or high.min() < -limit):
        return np.asarray((high >= limit) | (high < -limit))
    return None


def where(mask: pl.Series, evaluator: Evaluator, rows: pl.DataFrame) -> pl.Series:
    """The values of the rows inside the mask, NULL elsewhere. A row that the predicate rejects thus cannot
    overflow.
    """
    values = evaluator(rows.filter(mask))
    return pl.repeat(None, rows.height, dtype=values.dtype, eager=True).scatter(mask.arg_true(), values)


# ---- lifting ---------------------------------------------------------------------------------------------------------


def _plain(column: pl.Series, known: Array | None, component: Component) -> Array:
    """The values, with the identity in place of each missing one. Vectors are the columns of a matrix."""
    if component.size is not None:
        matrix = np.ascontiguousarray(matrix_of(column)[0].T)
        return matrix if known is None else np.where(known, matrix, component.identity)
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


def _comoments(column: pl.Series, known: Array | None, other: pl.Series, other_known: Array | None) -> Array:
    """The moments of both values, in rows in which neither is NULL."""
    if known is None or other_known is None:
        both = other_known if known is None else known
    else:
        both = known & other_known
    one, second = (_moments(values, both, _FLOATS) for values in (column, other))
    nothing = np.zeros(len(column))
    return np.stack([one[0], one[1], one[2], second[1], second[2], nothing, nothing, nothing])


def _path_lift(column: pl.Series, known: Array | None, times: pl.Series, method: str) -> Array:
    """The path of a single reading: it begins and ends there."""
    values = _plain(column.cast(pl.Float64), known, _FLOATS)
    count = np.ones(len(column)) if known is None else known.astype(np.float64)
    moments = times.to_numpy()
    high, low = (moments >> _HALF).astype(np.float64), (moments & _LOWER).astype(np.float64)
    nothing = np.zeros(len(column))
    linear = np.full(len(column), float(method == "LINEAR"))
    return np.stack([count, high, low, values, high, low, values, nothing, nothing, linear])


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


# ---- names -----------------------------------------------------------------------------------------------------------


def _pair(one: str, other: str) -> str:
    return f"pair{one} {other}"


def _path(aggregate: Aggregate, number: str) -> str:
    method = aggregate.rest[0]
    assert isinstance(method, Literal)
    return f"path{number}{method.value}"
