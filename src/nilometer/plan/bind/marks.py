"""IN and EXISTS as values: under OR, in CASE, in the select list.

The subquery is joined so that no row of the outer query is lost or doubled, and the answer is computed from
what the joins bring (a mark join). With the keys that tie the subquery to the outer query:

    EXISTS (q)      the number of q's rows of the key is above 0
    x IN (q)        TRUE if q has a row of the key with the value x; else FALSE if it has no row of the key, or if
                    x and all values of the key are known; else NULL
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from nilometer import algebra
from nilometer.expressions import (
    Aggregate,
    Call,
    Case,
    ColumnReference,
    Expression,
    Literal,
    conjunction,
    type_of,
)
from nilometer.language import ast
from nilometer.plan import logical
from nilometer.plan.bind.expressions import ExpressionBinder
from nilometer.plan.bind.subqueries import MembershipSide, joinable, membership_side
from nilometer.types import BOOLEAN, INT

if TYPE_CHECKING:
    from nilometer.plan.bind.select import SelectBinder


def mark(outer: SelectBinder, node: ast.InQuery | ast.Exists, binder: ExpressionBinder) -> Expression:
    """Joins the subquery with the outer query's plan, and gives the value of IN or EXISTS."""
    context = outer.context
    side = membership_side(outer, node)
    outer.node, right = joinable(context, outer.node, side.node, node)
    side = replace(side, node=right)
    if side.residuals:
        context.fail(
            "this condition ties the subquery to the outer query by more than '=', which works only in WHERE, outside of OR and CASE",
            side.place,
            hint="join the conditions of WHERE by AND, or compare by '='",
        )
    if isinstance(node, ast.Exists):
        return Call(">", (_counts(outer, side, None)[0], Literal(0, INT)), BOOLEAN)
    if len(side.values) != 1:
        context.fail(
            f"IN compares one value with a subquery of {len(side.values)} columns",
            node,
            hint="select one column there; tie the others to the outer query by '=' in its WHERE",
        )
    operand = binder.bind(node.operand)
    found = _found(outer, side, operand, node, binder)
    total, known = _counts(outer, side, None, side.values[0])
    undecided = Call("or", (_null(operand), Call("<", (known, total), BOOLEAN)), BOOLEAN)
    value = Case(
        (found, Call("=", (total, Literal(0, INT)), BOOLEAN), undecided),
        (Literal(True, BOOLEAN), Literal(False, BOOLEAN), Literal(None, BOOLEAN)),
        Literal(False, BOOLEAN),
        BOOLEAN,
    )
    return Call("not", (value,), BOOLEAN) if node.negated else value


def _counts(outer: SelectBinder, side: MembershipSide, *of: ColumnReference | None) -> list[Expression]:
    """The number of the subquery's rows with the keys of the outer row (None), or of their known values."""
    context = outer.context
    counts = [
        logical.AggregateItem(context.fresh("count"), Aggregate("count", each, False, INT)) for each in of
    ]
    keys = _keys(outer, side)
    _join(outer, logical.Aggregate(side.node, keys, tuple(counts)), side, keys, ())
    # Where there is no such group, or before the first evaluation, the count is 0.
    return [Call("coalesce", (ColumnReference(each.name, INT), Literal(0, INT)), INT) for each in counts]


def _found(
    outer: SelectBinder,
    side: MembershipSide,
    operand: Expression,
    node: ast.InQuery,
    binder: ExpressionBinder,
) -> Expression:
    """Whether the subquery has a row with the keys of the outer row and the operand's value.

    The values are compared as the equality compares them: INTs that are equal as FLOATs are one value.
    """
    equality = binder.equal(node, operand, side.values[0])
    if not (isinstance(equality, Call) and equality.function == "="):
        return Literal(False, BOOLEAN)  # a constant NULL equals nothing
    left, right = equality.arguments
    value = logical.Projection(outer.context.fresh("value"), right)
    keys = _keys(outer, side)
    column = ColumnReference(value.name, type_of(right))
    condition = Call("=", (left, column), BOOLEAN)
    _join(outer, logical.Aggregate(side.node, (value, *keys), ()), side, keys, (condition,))
    return Call("not", (_null(column),), BOOLEAN)


def _keys(outer: SelectBinder, side: MembershipSide) -> tuple[logical.Projection, ...]:
    return tuple(logical.Projection(outer.context.fresh("key"), column) for column, _ in side.keys)


def _join(
    outer: SelectBinder,
    right: logical.Node,
    side: MembershipSide,
    keys: tuple[logical.Projection, ...],
    conditions: tuple[Expression, ...],
) -> None:
    tied = [
        Call("=", (outside, ColumnReference(key.name, type_of(key.expression))), BOOLEAN)
        for key, (_, outside) in zip(keys, side.keys, strict=True)
    ]
    outer.node = logical.Join(outer.node, right, algebra.JoinKind.LEFT, conjunction([*tied, *conditions]))


def _null(expression: Expression) -> Expression:
    return Call("is_null", (expression,), BOOLEAN)
