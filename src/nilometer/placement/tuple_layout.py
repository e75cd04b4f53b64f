"""A physical operator -> the layout of its output tuples, in a mote's memory and on the air.

Columns have their declared widths (`INT(16)`, `FLOAT(32)`), otherwise SNEE's: INT 2, FLOAT 4, TIME 4, BOOLEAN
1, STRING 4 (Types.xml of the released code). A sum takes 4 bytes, because it outgrows its terms; so does a
computed INT. In a `bounded` format, a sum of INT is only as much wider than its terms as their greatest
number requires, and a count is no wider than necessary.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from nilometer.expressions import ColumnReference, Expression, type_of
from nilometer.placement.population import Population
from nilometer.placement.wire_format import WireFormat
from nilometer.plan import physical
from nilometer.types import Kind, Type

_SIZES = {
    Kind.INT: 2,
    Kind.FLOAT: 4,
    Kind.TIME: 4,
    Kind.DURATION: 4,
    Kind.BOOLEAN: 1,
    Kind.STRING: 4,
    Kind.POINT: 8,
    Kind.NULL: 1,
}

COMPUTED_INT = 4
"""Bytes of an INT that is not an unchanged reading: sums and products outgrow their operands."""


@dataclass(frozen=True, slots=True)
class TupleField:
    """The place of a column in a tuple. The field of the evaluation is named `@evaluation`."""

    name: str
    offset: int
    size: int


@dataclass(frozen=True, slots=True)
class TupleLayout:
    """The place of each field, and the bytes of the whole. `derived` are the columns without a field: each is
    the tick of the evaluation minus a fixed number of microseconds: (name, microseconds)."""

    fields: tuple[TupleField, ...]
    size: int
    derived: tuple[tuple[str, int], ...] = ()


def tuple_layout(node: physical.Node, wire: WireFormat, population: Population) -> TupleLayout:
    """The layout of the operator's output: the evaluation first, then the columns, large before small, so
    that alignment wastes the least."""
    derived = derived_times(node) if wire.derives_time else {}
    columns = column_sizes(node, population if wire.bounded else None)
    sizes = [(name, size) for name, size in columns.items() if name not in derived]
    return replace(_layout(tuple(sizes), wire), derived=tuple(derived.items()))


def _layout(columns: tuple[tuple[str, int], ...], wire: WireFormat) -> TupleLayout:
    ordered = sorted(columns, key=lambda column: -column[1])  # stable: equal sizes keep their order
    fields: list[TupleField] = []
    offset = 0
    for name, size in (("@evaluation", wire.evaluation_size), *ordered):
        if wire.aligned:
            offset = -(-offset // size) * size
        fields.append(TupleField(name, offset, size))
        offset += size
    if wire.aligned:
        largest = max(field.size for field in fields)
        offset = -(-offset // largest) * largest
    return TupleLayout(tuple(fields), offset)


def column_sizes(node: physical.Node, population: Population | None) -> dict[str, int]:
    """The bytes of each column of an operator's output. With a population, partial counts and sums are as
    narrow as it allows."""
    match node:
        case physical.Project(input, items):
            below = column_sizes(input, population)
            return {item.name: _expression_size(item.expression, below) for item in items}
        case physical.Rename(input, alias):
            return {f"{alias}.{name}": size for name, size in column_sizes(input, population).items()}
        case physical.Aggregate() | physical.AggregateInit():
            return _aggregate_sizes(node, population)
        case physical.AggregateMerge(input):
            return column_sizes(input, population)
        case physical.AggregateEvaluate():
            below = column_sizes(node.input, population)
            found = {key.name: below[key.name] for key in node.keys}
            for column in node.schema.columns[len(found) :]:
                kept = below.get(f"{column.name}#sum") or below.get(f"{column.name}#count")
                kept = below.get(f"{column.name}#min") or below.get(f"{column.name}#max") or kept
                found[column.name] = kept if kept and column.type.kind is Kind.INT else type_size(column.type)
            return found
        case physical.Union(left, right):
            one, two = column_sizes(left, population), column_sizes(right, population)
            pairs = zip(one.items(), two.values(), strict=True)
            return {name: max(size, other) for (name, size), other in pairs}
        case _ if len(node.inputs) == 0:
            return {column.name: type_size(column.type) for column in node.schema}
        case _:
            known: dict[str, int] = {}
            for child in node.inputs:
                known |= column_sizes(child, population)
            return {
                column.name: known.get(column.name, type_size(column.type)) for column in node.schema.columns
            }


def derived_times(node: physical.Node) -> dict[str, int]:
    """The `time` columns that equal the evaluation's tick minus a fixed number of microseconds: those of an
    acquired stream, and those of a window that holds one instant ([NOW], [AT NOW - 15 MINUTES])."""
    match node:
        case physical.SpAcquire(alias=alias, columns=columns):
            times = (c for c in columns if c.name.lower() == "time" and c.type.kind is Kind.TIME)
            return {f"{alias}.{column.name}": 0 for column in times} if node.stream.sensed else {}
        case physical.TimeWindow(input, start, end) if start is not None and start == end:
            return {name: offset + start for name, offset in derived_times(input).items()}
        case physical.Project(input, items):
            below = derived_times(input)
            return {
                item.name: below[item.expression.name]
                for item in items
                if isinstance(item.expression, ColumnReference) and item.expression.name in below
            }
        case physical.Rename(input, alias):
            return {f"{alias}.{name}": offset for name, offset in derived_times(input).items()}
        case (
            physical.Select(input)
            | physical.Exchange(input)
            | physical.Sample(input)
            | physical.Lag(input)
            | physical.Analytic(input)
            | physical.RStream(input)
            | physical.Deliver(input)
        ):
            return derived_times(input)
        case physical.NlJoin() | physical.HashJoin():
            left, right = derived_times(node.left), derived_times(node.right)
            return {name: offset for name, offset in (left | right).items() if name in node.schema}
        case _:
            return {}


def type_size(type: Type) -> int:
    """The bytes of a value of the type."""
    if type.width is not None:
        return -(-type.width // 8)
    return _SIZES.get(type.kind, 8)


def _aggregate_sizes(
    node: physical.Aggregate | physical.AggregateInit, population: Population | None
) -> dict[str, int]:
    below = column_sizes(node.input, population)
    rows = None if population is None else population.rows(node.input)
    found = {key.name: _expression_size(key.expression, below) for key in node.keys}
    arguments = {item.name: item.aggregate.argument for item in node.items}
    for column in node.schema.columns[len(found) :]:
        name, _, part = column.name.partition("#")
        argument = arguments.get(name)
        if part in ("min", "max") and argument is not None:
            found[column.name] = _expression_size(argument, below)
        elif rows is not None and part == "count":
            found[column.name] = count_size(rows)
        elif rows is not None and part == "sum" and _is_integer(argument):
            assert argument is not None
            found[column.name] = sum_size(_expression_size(argument, below), rows)
        elif part == "sum" or (not part and column.type.kind is Kind.INT):
            found[column.name] = COMPUTED_INT
        else:
            found[column.name] = type_size(column.type)
    return found


def _expression_size(expression: Expression, columns: dict[str, int]) -> int:
    if isinstance(expression, ColumnReference):
        return columns.get(expression.name, type_size(expression.type))
    kind = type_of(expression)
    return COMPUTED_INT if kind.kind is Kind.INT and kind.width is None else type_size(kind)


def _is_integer(argument: Expression | None) -> bool:
    return argument is not None and type_of(argument).kind is Kind.INT


def count_size(rows: int) -> int:
    """The bytes of a count up to `rows`, with one value to spare for NULL.

    >>> [count_size(rows) for rows in (1, 254, 255, 65534, 65535)]
    [1, 1, 2, 2, 4]
    """
    return next(size for size in (1, 2, 4) if size == COMPUTED_INT or rows < (1 << 8 * size) - 1)


def sum_size(size: int, rows: int) -> int:
    """The bytes of a sum of at most `rows` INTs of `size` bytes each, with one value to spare for NULL.

    >>> [sum_size(2, rows) for rows in (1, 255, 256)], sum_size(1, 100), sum_size(4, 1)
    ([3, 3, 4], 2, 4)
    """
    return max(size, min(COMPUTED_INT, -(-(8 * size + rows.bit_length()) // 8)))
