"""Binds UNNEST in FROM: each row of the relation that has the list, with each element of its list.

    FROM q, UNNEST(q.members) AS m(member)      Unnest(q, q.members) has the columns of q and m.member

The relation and the elements share one node, as both sides of an outer join do.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from nilometer.expressions import columns_of, type_of
from nilometer.language import ast
from nilometer.plan import logical
from nilometer.plan.bind.expressions import ExpressionBinder
from nilometer.plan.bind.scope import Relation, Scope
from nilometer.types import Kind

if TYPE_CHECKING:
    from nilometer.plan.bind.sources import SourceBinder

NAME = "unnest"
"""The alias, and the name of the column, unless the query gives others."""


def unnest_source(binder: SourceBinder, source: ast.UnnestSource, before: list[Relation]) -> list[Relation]:
    """The relations before it, of which that with the list is now unnested, and the relation of the elements."""
    context = binder.context
    alias = source.alias or NAME
    if any(relation.alias.lower() == alias.lower() for relation in before):
        context.fail(f"'{alias}' stands twice in FROM", source, hint="give the elements another alias")
    if not before:
        context.fail(
            "UNNEST takes a list of a source before it in FROM",
            source,
            hint="write FROM q, UNNEST(q.members) AS member",
        )
    if len(source.columns) > 1:
        context.fail("UNNEST gives one column", source, hint=f"write {alias}({source.columns[0]})")
    names = Scope(context, before)
    bound = ExpressionBinder(names, binder.refuse_in_on, "UNNEST() takes a list of each row").bind(
        source.expression
    )
    binder.scope.places |= names.places
    if type_of(bound).kind is not Kind.LIST:
        context.fail(
            f"UNNEST takes a list, not {type_of(bound)}",
            source.expression,
            hint="ARRAY_AGG in a subquery gives a list, and so does SIMILAR",
        )
    used = columns_of(bound)
    owner = next((r for r in before if used and used <= set(r.node.schema.names)), None)
    if owner is None:
        context.fail(
            "UNNEST takes a list of one source before it in FROM",
            source.expression,
            hint="make the list in a subquery: FROM (SELECT ...) q, UNNEST(q.members) AS member",
        )
    column = f"{alias}.{source.columns[0] if source.columns else alias}"
    node = logical.Unnest(owner.node, column, bound)
    shared = [replace(r, node=node) if r.node is owner.node else r for r in before]
    return [*shared, Relation(alias, node, (column,), source)]


def join_with_elements(
    binder: SourceBinder, source: ast.JoinSource, elements: ast.UnnestSource, left: list[Relation]
) -> list[Relation]:
    """`a CROSS JOIN UNNEST(a.l)`, `a JOIN UNNEST(a.l) u ON u > 3`."""
    context = binder.context
    if source.kind != "INNER" or source.using:
        context.fail(
            f"UNNEST cannot stand in a {source.kind} JOIN" if not source.using else "UNNEST has no USING",
            source.right,
            detail="a row without elements gives no row",
            hint="write a CROSS JOIN UNNEST(a.members) AS member, and conditions into WHERE",
        )
    relations = unnest_source(binder, elements, left)
    if source.condition is not None:
        names = Scope(context, relations, merged=binder.scope.merged)
        on = ExpressionBinder(names, binder.refuse_in_on, "ON looks at one pair of rows at a time")
        binder.scope.conditions.append(on.condition(source.condition))
        binder.scope.places |= names.places
    return relations
