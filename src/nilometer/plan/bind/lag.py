"""Binds LAG, DELTA and RATE to columns of a Lag node, which reads a source's earlier tuples.

The Lag node stands above WHERE, so it sees only the tuples that WHERE kept.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from nilometer import algebra
from nilometer.expressions import ColumnReference, Expression, Literal, type_of
from nilometer.language import ast
from nilometer.plan import logical
from nilometer.plan.bind.places import keep_coordinates
from nilometer.types import INT, Kind

if TYPE_CHECKING:
    from nilometer.plan.bind.select import SelectBinder


def bind_lag(query: SelectBinder, node: ast.FunctionCall) -> Expression:
    name = node.name.upper()
    if query.node.collection is algebra.Collection.WINDOWS:
        return query.previous.of_subquery(node)
    if query.node.collection is not algebra.Collection.STREAM:
        query.context.fail(
            f"{name}() is for streams without windows",
            node,
            hint="compute it in a subquery in FROM, and give that a window",
        )
    if isinstance(query.node, logical.WindowJoin) or query.select.bounds:
        query.context.fail(
            f"{name}() needs one source per tuple, and a WINDOW join has several",
            node,
            hint="compute it in a subquery in FROM, before the join",
        )
    most = 2 if name == "LAG" else 1
    if not 1 <= len(node.arguments) <= most:
        query.context.fail(f"{name}() takes {'one or two arguments' if most == 2 else 'one argument'}", node)
    binder = query.binder(f"{name}() is over the tuples of a stream", query._special_refused)
    expression = binder.bind(node.arguments[0])
    offset = 1
    if len(node.arguments) == 2:
        number = binder.bind(node.arguments[1])
        if not isinstance(number, Literal) or not isinstance(number.value, int) or number.value < 1:
            query.context.fail(
                "LAG looks back a whole number of tuples", node.arguments[1], hint="such as LAG(x, 2)"
            )
        offset = number.value
    kind = type_of(expression).kind
    if kind is Kind.NULL:
        expression = Literal(None, INT)
    elif (name == "DELTA" and kind not in (Kind.INT, Kind.FLOAT)) or (
        name == "RATE" and kind not in (Kind.INT, Kind.FLOAT)
    ):
        query.context.fail(
            f"{name}() needs a number, not a value of type {type_of(expression)}",
            node,
            hint=f"for example {name}(depth)" + ("; LAG takes any value" if name == "DELTA" else ""),
        )
    lagged = algebra.Lagged("", algebra.Shift(name), expression, offset)
    if lagged not in query.lagged:
        query.lagged[lagged] = query.context.fresh(name.lower())
    column = ColumnReference(query.lagged[lagged], lagged.type)
    keep_coordinates(query.context, query.scope.relations, expression, column)
    return column
