"""Binds UNNEST of the select list to the column of an Unnest node, which stands above WHERE and LAG."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nilometer.catalog import functions
from nilometer.expressions import ColumnReference, Expression, type_of
from nilometer.language import ast
from nilometer.plan import logical

if TYPE_CHECKING:
    from nilometer.plan.bind.select import SelectBinder


def bind_unnest(query: SelectBinder, node: ast.FunctionCall) -> Expression:
    """The column of a list's elements."""
    binder = query.binder("UNNEST() takes a list of each row", query._special_refused)
    arguments = [binder.bind(argument) for argument in node.arguments]
    signature = functions.resolve("unnest")
    assert signature is not None
    try:
        element = signature.result(tuple(map(type_of, arguments)))
    except ValueError as error:
        query.context.fail(str(error), node, hint="ARRAY_AGG in a subquery gives a list, and so does SIMILAR")
    if query.unnested is None:
        query.unnested = logical.Unnest(query.node, query.context.fresh("unnest"), arguments[0])
    elif query.unnested.expression != arguments[0]:
        query.context.fail(
            "two lists cannot be unnested at once", node, hint="unnest one of them in a subquery in FROM"
        )
    return ColumnReference(query.unnested.name, element)
