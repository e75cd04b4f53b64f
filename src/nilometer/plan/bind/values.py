"""Binds VALUES to a Values node: constants, whose types agree column by column."""

from __future__ import annotations

from typing import Any

from nilometer.errors import NilometerError
from nilometer.expressions import Expression, Literal, type_of
from nilometer.language import ast
from nilometer.plan import logical
from nilometer.plan.bind.expressions import ExpressionBinder, as_float
from nilometer.plan.bind.scope import Bound, Context, Scope
from nilometer.plan.scalar import evaluate
from nilometer.types import FLOAT, Column, Kind, Type

ONE_ROW = logical.Values((), ((),))
"""What a SELECT without FROM reads."""


def bind_values(context: Context, query: ast.Values) -> Bound:
    """The rows of VALUES; the columns are named column_1, column_2 and so on."""
    width = len(query.rows[0])
    for row in query.rows:
        if len(row) != width:
            context.fail(
                f"VALUES with a row of {len(row)} value{'' if len(row) == 1 else 's'} beside one of {width}",
                row[0],
                hint="give all rows equally many values; NULL can replace a missing one",
            )
    binder = ExpressionBinder(Scope(context), lambda node: _refuse(context, node), "VALUES are constants")
    bound = [[_constant(context, binder, value) for value in row] for row in query.rows]
    types = [_common(context, query, [row[place] for row in bound], place) for place in range(width)]
    columns = tuple(Column(f"column_{place}", type_) for place, type_ in enumerate(types, start=1))
    rows = tuple(
        tuple(_value(value, type_) for value, type_ in zip(row, types, strict=True)) for row in bound
    )
    return Bound(logical.Values(columns, rows), False)


def _constant(context: Context, binder: ExpressionBinder, node: ast.Expression) -> Literal:
    expression = binder.bind(node)
    try:
        return Literal(evaluate(expression, {}, None), type_of(expression).plain)
    except NilometerError as error:
        raise error.at(context.text, node.span) from None


def _common(context: Context, query: ast.Values, values: list[Literal], place: int) -> Type:
    kinds = list(dict.fromkeys(value.type for value in values if value.type.kind is not Kind.NULL))
    if len(kinds) > 1 and all(kind.numeric for kind in kinds):
        return FLOAT
    if len(kinds) > 1:
        odd = next(number for number, value in enumerate(values) if value.type == kinds[1])
        context.fail(
            f"VALUES with {kinds[0]} and {kinds[1]} in column {place + 1}",
            query.rows[odd][place],
            hint="all values of a column have the same type",
        )
    return kinds[0] if kinds else Type(Kind.NULL)


def _value(value: Literal, type_: Type) -> Any:
    if value.value is None or value.type.kind is type_.kind:
        return value.value
    return evaluate(as_float(value), {}, None)


def _refuse(context: Context, node: ast.Expression) -> Expression:
    context.fail("VALUES are constants", node, hint="use SELECT for what must be computed from rows")
