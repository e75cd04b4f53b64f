"""Binds a whole query to the logical plan that delivers its answer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from nilometer import algebra
from nilometer.expressions import ColumnReference, Now
from nilometer.language import ast
from nilometer.plan import logical
from nilometer.plan.bind.grouping_sets import has_grouping_sets, ordered_sets, union_of_sets
from nilometer.plan.bind.named import with_tables
from nilometer.plan.bind.ordering import order_query, ordering_of
from nilometer.plan.bind.scope import Bound, CatalogView, Context, Scope
from nilometer.plan.bind.select import SelectBinder
from nilometer.plan.bind.union import bind_bag_operation, bind_union
from nilometer.plan.bind.values import bind_values
from nilometer.plan.bind.windows import duration


def bind(
    query: ast.QueryNode,
    catalog: CatalogView,
    parameters: Mapping[str, Any] | None = None,
    text: str | None = None,
    at_hand: frozenset[str] = frozenset(),
) -> logical.Deliver:
    """Binds a whole query; the result delivers the columns of its select list, and a window query's tick.
    `at_hand` are the streams, in lower case, whose data is all there (whole.py)."""
    context = Context(catalog, dict(parameters or {}), text, at_hand)
    bound = bind_query(context, query, None)
    node = bound.node
    if node.collection is algebra.Collection.WINDOWS:
        node = logical.ToStream(node, algebra.Relation.RSTREAM)
    named = any(name.lower() == "tick" for name in node.schema.names)
    if bound.windowed and named and not _is_the_tick(node):
        context.fail(
            "a column of this query is named 'tick', but is not the evaluation's tick",
            query,
            detail="the rows of a window query begin with 'tick', the tick of their evaluation",
            hint="give the column another name: ... AS moment",
        )
    return logical.Deliver(node, bound.windowed and not named, _deliver_within(context, query))


def _is_the_tick(node: logical.Node) -> bool:
    """Whether the column `tick` of a select list is the evaluation's tick: NOW, or a GROUP BY on it."""
    match node:
        case logical.Project(items=items):
            return all(
                isinstance(item.expression, Now)
                or (isinstance(item.expression, ColumnReference) and "." not in item.expression.name)
                for item in items
                if item.name.lower() == "tick"
            )
        case _:
            return all(_is_the_tick(below) for below in node.inputs)


def bind_query(context: Context, query: ast.QueryNode, outer: Scope | None) -> Bound:
    """Binds a query that may stand inside another; only RSTREAM, ISTREAM and DSTREAM turn windows into a
    stream."""
    match query:
        case ast.Union(left=left, right=right):
            return bind_union(
                context, query, bind_query(context, left, outer), bind_query(context, right, outer)
            )
        case ast.SetOperation(left=left, right=right):
            return bind_bag_operation(
                context, query, bind_query(context, left, outer), bind_query(context, right, outer)
            )
        case ast.Select() if has_grouping_sets(query):
            return bind_query(context, union_of_sets(context, query), outer)
        case ast.Select():
            return SelectBinder(context, query, outer, bind_query).bind()
        case ast.Values():
            return bind_values(context, query)
        case ast.With(tables=tables, query=inner):
            return bind_query(with_tables(context, tables), inner, outer)
        case ast.Ordered(query=ast.Select() as select) if has_grouping_sets(select):
            return bind_query(context, ordered_sets(context, select, query), outer)
        case ast.Ordered(query=ast.Select() as select):
            return SelectBinder(context, select, outer, bind_query, ordering_of(context, query)).bind()
        case ast.Ordered(query=inner):
            return order_query(context, bind_query(context, inner, outer), ordering_of(context, query))
        case _:
            context.fail("this is not a query", query, hint="a query begins with SELECT")


def _deliver_within(context: Context, query: ast.QueryNode) -> int | None:
    match query:
        case ast.Union(left=left, right=right) | ast.SetOperation(left=left, right=right):
            both = [
                w for w in (_deliver_within(context, left), _deliver_within(context, right)) if w is not None
            ]
            return min(both) if both else None
        case ast.Ordered(query=inner) | ast.With(query=inner):
            return _deliver_within(context, inner)
        case ast.Select(deliver=amount) if amount is not None:
            return duration(context, amount, "DELIVER WITHIN")
        case _:
            return None
