"""Aggregates of groups of rows: (keys, aggregates) + frame -> one row per group, by Polars' group_by.

language.md, "Types": NULL arguments are left out. COUNT of nothing is 0, and every other aggregate of nothing
is NULL. A SUM of INTs beyond 64 bits is an error. STDEV and VARIANCE are those of a sample, NULL for a single
value. MEDIAN is the mean of the middle two. A FLOAT that is not finite is NULL. NULL is a group of its own.

>>> from nilometer.expressions import ColumnReference
>>> from nilometer.types import INT
>>> grouping = Grouping((), (("n", AggregateExpression("count", ColumnReference("x", INT), False, INT)),))
>>> grouping(pl.DataFrame({"x": [4, None, 5]})).rows()
[(2,)]
"""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from nilometer.errors import InternalError
from nilometer.expressions import COUNTING, Expression, Literal, type_of
from nilometer.expressions import Aggregate as AggregateExpression
from nilometer.operators import group_functions, vector_aggregates
from nilometer.operators.evaluate.evaluate import Projector, compile_projection
from nilometer.operators.evaluate.overflow import overflow_in
from nilometer.operators.frames import Dtypes, dtype, dtypes
from nilometer.operators.group_functions import GroupItem
from nilometer.operators.limits import check_listed
from nilometer.operators.set_aside import set_aside
from nilometer.types import INT_MAXIMUM, INT_MINIMUM, Column, Kind, Schema

NamedExpression = tuple[str, Expression]
NamedAggregate = tuple[str, AggregateExpression]

FUNCTIONS = (
    frozenset({"count", "sum", "avg", "min", "max", "stdev", "variance", "median"})
    | group_functions.GROUP_FUNCTIONS
    | group_functions.PATHS
)

_WIDE = pl.Int128()


def check_items(keys: Sequence[NamedExpression], items: Sequence[NamedAggregate]) -> None:
    """Refuse a wrong list of keys and aggregates."""
    names = [name for name, _ in (*keys, *items)]
    if len(set(names)) != len(names):
        raise InternalError(f"an aggregate gives a name twice: {names}")
    for name, aggregate in items:
        if aggregate.function not in FUNCTIONS:
            raise InternalError(f"no aggregate {aggregate.function!r} for {name}")
        if aggregate.argument is None and aggregate.function != "count":
            raise InternalError(f"{aggregate.function} of nothing for {name}")


def output_schema(keys: Sequence[NamedExpression], items: Sequence[NamedAggregate]) -> Schema:
    """The columns of the answer: keys, then aggregates."""
    columns = [Column(name, type_of(expression)) for name, expression in keys]
    return Schema((*columns, *(Column(name, aggregate.type) for name, aggregate in items)))


class Grouping:
    """Compiled keys and aggregates. `by` names the system columns by which rows are grouped as well."""

    def __init__(self, keys: Sequence[NamedExpression], items: Sequence[NamedAggregate]) -> None:
        check_items(keys, items)
        self._keys = tuple(name for name, _ in keys)
        self.columns: Dtypes = dtypes(output_schema(keys, items))
        arguments: dict[Expression, str] = {}
        for _, aggregate in items:
            for argument in aggregate.children():
                if argument is aggregate.argument or not isinstance(argument, Literal):
                    arguments.setdefault(argument, f"@argument{len(arguments)}")
        self._items = tuple(
            GroupItem(name, a, tuple(arguments.get(argument) for argument in a.children()))
            for name, a in items
        )
        self._projector: Projector = compile_projection(
            [*keys, *((name, expression) for expression, name in arguments.items())]
        )

    def __call__(self, rows: pl.DataFrame, by: Sequence[str] = ()) -> pl.DataFrame:
        """Returns one row per existing group. Without keys and `by` it returns one row, even for no rows. A group
        without an answer is set aside (set_aside.py)."""
        return self.answered(rows, by)[0]

    def answered(
        self, rows: pl.DataFrame, by: Sequence[str] = ()
    ) -> tuple[pl.DataFrame, pl.DataFrame | None]:
        """One row per existing group; and the groups that were set aside, None if there are none."""
        inputs = self._projector.of_sound(rows, by)
        if not inputs.width:  # COUNT(*) alone reads no column, and a frame without columns has no height
            inputs = pl.DataFrame({"@row": pl.Series([None]).new_from_index(0, rows.height)})
        groups = [*by, *self._keys]
        inputs = self._prepared(inputs, groups)
        values = [self._value(item, inputs).alias(item.name) for item in self._items]
        if not groups:
            values = [
                value.implode() if _many(item) else value
                for item, value in zip(self._items, values, strict=True)
            ]
            found = inputs.select(values) if values else pl.DataFrame({"": [None]}).select()
        else:
            found = inputs.group_by(groups, maintain_order=True).agg(values)
        found, overflown = self._with_vectors(found, inputs, by)
        answers, lost = self._checked(found, by)
        parts = [part for part in (overflown, lost) if part is not None]
        return answers, pl.concat(parts) if parts else None

    def _with_vectors(
        self, found: pl.DataFrame, inputs: pl.DataFrame, by: Sequence[str]
    ) -> tuple[pl.DataFrame, pl.DataFrame | None]:
        """The groups with the aggregates of their vectors; and those whose SUM does not fit, which are set aside."""
        lost: pl.DataFrame | None = None
        for item in self._items:
            if of_vectors(item):
                column = inputs.get_column(item.columns[0] or "")
                values, outside = vector_aggregates.grouped_vectors(
                    item.aggregate.function, column, found.get_column(item.name)
                )
                found = found.with_columns(values)
                if outside is not None:
                    new = found.filter(outside).select(*by, *self._keys)
                    set_aside(new, overflow_in(str(item.aggregate)))
                    lost = new if lost is None else pl.concat([lost, new])
                    found = found.filter(~outside)
        return found, lost

    def selected(self, rows: pl.DataFrame, slices: pl.Series) -> pl.DataFrame:
        """The rows that decide SELECTIVE aggregates of their slice and group, and one row at least of each group."""
        inputs = self._projector(rows, ()).with_columns(slices.alias("@slice"))
        groups = ["@slice", *self._keys]
        inputs = self._prepared(inputs, groups)
        deciding = [group_functions.chosen(item) for item in self._items]
        kept = pl.any_horizontal(pl.int_range(pl.len()) == 0, *deciding).over(groups)
        return rows.filter(inputs.select(kept.fill_null(False)).to_series())

    @property
    def empty_row(self) -> dict[str, int | None]:
        """The aggregates of an empty window."""
        return {item.name: 0 if item.aggregate.function in COUNTING else None for item in self._items}

    def _prepared(self, inputs: pl.DataFrame, groups: Sequence[str]) -> pl.DataFrame:
        if any(of_vectors(item) for item in self._items):
            inputs = inputs.with_row_index(vector_aggregates.ROW)
        for item in self._items:
            if item.aggregate.function in group_functions.LISTS:
                check_listed(inputs.height, str(item.aggregate))
            if item.aggregate.function in group_functions.GROUP_FUNCTIONS:
                inputs = group_functions.prepare(item, inputs, groups)
        return inputs

    def _value(self, item: GroupItem, inputs: pl.DataFrame) -> pl.Expr:
        """The aggregate of one group. SUMs that might not fit stay in 128 bits until `_checked` has tested
        them.
        """
        if not item.columns or item.columns[0] is None:
            return pl.len().cast(pl.Int64)
        column = inputs.get_column(item.columns[0])
        if of_vectors(item):
            return pl.col(vector_aggregates.ROW).filter(pl.col(item.columns[0]).is_not_null())
        if item.aggregate.function in group_functions.GROUP_FUNCTIONS:
            return group_functions.value(item)
        if column.dtype == pl.Null:
            return pl.lit(0 if item.aggregate.function == "count" else None, dtype=dtype(item.aggregate.type))
        values = pl.col(item.columns[0]).drop_nulls()
        if item.aggregate.distinct:
            values = values.unique()
        count = values.len().cast(pl.Int64)
        whole = not column.dtype.is_float()
        match item.aggregate.function:
            case "count":
                return count if item.aggregate.distinct else pl.col(item.columns[0]).count().cast(pl.Int64)
            case "sum":
                wide = whole and _may_overflow(column)
                total = values.cast(_WIDE).sum() if wide else values.sum()
                return pl.when(count > 0).then(total)
            case "avg":
                if whole and _may_overflow(column):
                    return values.cast(_WIDE).sum().cast(pl.Float64) / count
                return values.cast(pl.Float64).mean()
            case "min":
                return values.min()
            case "max":
                return values.max()
            case "median" if item.aggregate.type.kind is Kind.DURATION:
                ordered, upper = values.sort(), count // 2
                lower = pl.max_horizontal(count - 1, 0) // 2
                low = ordered.get(lower, null_on_oob=True)
                return low + (ordered.get(upper, null_on_oob=True) - low) // 2
            case "median":
                return values.cast(pl.Float64).median()
            case "variance":
                return _centred(values, column).var()
            case "stdev":
                return _centred(values, column).std()
        raise InternalError(f"no aggregate {item.aggregate.function!r}")

    def _checked(self, found: pl.DataFrame, by: Sequence[str]) -> tuple[pl.DataFrame, pl.DataFrame | None]:
        lost: pl.DataFrame | None = None
        finished = [pl.col(name) for name in (*by, *self._keys)]
        for item in self._items:
            if item.aggregate.function in group_functions.GROUP_FUNCTIONS:
                last = group_functions.finish(item, found.get_column(item.name))
                found = found.with_columns(last.alias(item.name))
            column = found.get_column(item.name)
            value, target = pl.col(item.name), self.columns[item.name]
            if column.dtype == _WIDE and not fits(column):
                groups, failing = found.select(*by, *self._keys), ~within(column)
                set_aside(groups.filter(failing), overflow_in(str(item.aggregate)))
                new = groups.filter(failing)
                lost = new if lost is None else pl.concat([lost, new])
                found = found.filter(~failing)
                column = found.get_column(item.name)
            if column.dtype.is_float():
                value = pl.when(value.is_finite()).then(value)
            finished.append(value.cast(target))
        return found.select(finished), lost


def of_vectors(item: GroupItem) -> bool:
    """Whether this is an aggregate of vectors, element by element."""
    argument = item.aggregate.argument
    of = item.aggregate.function in vector_aggregates.FUNCTIONS
    return of and argument is not None and type_of(argument).kind is Kind.VECTOR


def _many(item: GroupItem) -> bool:
    """Whether the item's expression gives several values per group."""
    return item.aggregate.function in group_functions.MANY_VALUES or of_vectors(item)


def within(column: pl.Series) -> pl.Series:
    """For each value of a 128-bit column whether it is an INT; NULL is one."""
    return column.is_between(INT_MINIMUM, INT_MAXIMUM).fill_null(True)


def fits(column: pl.Series) -> bool:
    """Whether every value of a 128-bit column is an INT."""
    low, high = column.min(), column.max()
    return low is None or (int(low) >= INT_MINIMUM and int(high) <= INT_MAXIMUM)  # type: ignore[arg-type]


def _magnitude(column: pl.Series) -> int:
    low, high = column.min(), column.max()
    return max(abs(int(low)), abs(int(high))) if low is not None else 0  # type: ignore[arg-type]


def _may_overflow(column: pl.Series) -> bool:
    """Whether a sum of the column's values may leave 64 bits (its partial sums in a double would then have
    lost digits, too).
    """
    return _magnitude(column) * len(column) > INT_MAXIMUM


def _centred(values: pl.Expr, column: pl.Series) -> pl.Expr:
    """The values as FLOAT, relative to the group's least. This changes no variance, and digits that all
    values share are not lost.
    """
    if not column.dtype.is_float() and _magnitude(column) > INT_MAXIMUM // 2:
        values = values.cast(_WIDE)
    return (values - values.min()).cast(pl.Float64)
