"""Binds calls of functions that are declared with CREATE FUNCTION.

    f(depth)  =>  python('module:function', 'FLOAT', float(depth))

The call names the code and its type, so a plan needs no catalog to run. No function of the language is called `python`:
a query cannot name code, only a declaration can.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from nilometer.catalog.catalog import FunctionDefinition
from nilometer.expressions import Call, Expression, Literal, type_of
from nilometer.language import ast
from nilometer.types import FLOAT, STRING, Kind, Type, vector_of

if TYPE_CHECKING:
    from nilometer.plan.bind.expressions import ExpressionBinder


def bind_python(binder: ExpressionBinder, node: ast.FunctionCall, function: FunctionDefinition) -> Expression:
    """The call of a declared function, with arguments of its types."""
    if node.distinct or node.order or node.condition is not None:
        binder.context.fail(f"{function.name}() is no aggregate: it takes one row at a time", node)
    if len(node.arguments) != len(function.arguments):
        binder.context.fail(
            f"{function.name} takes {len(function.arguments)} arguments, not {len(node.arguments)}",
            node,
            hint=f"it is declared as {function}",
        )
    arguments = [
        _fitted(binder, function, place, binder.bind(place), wanted.type)
        for place, wanted in zip(node.arguments, function.arguments, strict=True)
    ]
    head = Literal(function.reference, STRING), Literal(str(function.returns), STRING)
    return Call("python", (*head, *arguments), function.returns)


def _fitted(
    binder: ExpressionBinder,
    function: FunctionDefinition,
    place: ast.Expression,
    given: Expression,
    wanted: Type,
) -> Expression:
    found = type_of(given).plain
    if found.kind is Kind.NULL:
        return Literal(None, wanted)
    if found == wanted:
        return given
    if wanted.kind is Kind.FLOAT and found.kind is Kind.INT:
        return binder.as_float(given)
    if wanted.element == FLOAT and found.kind is Kind.VECTOR and found.size == wanted.size:
        return Call("float", (given,), vector_of(FLOAT, found.size or 1))
    binder.context.fail(
        f"{function.name} takes {wanted} here, not {found}", place, hint=f"it is declared as {function}"
    )
