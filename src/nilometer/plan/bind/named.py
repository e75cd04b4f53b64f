"""Named queries: those of WITH, and the views of the catalog. A name in FROM stands for the query's rows.

A named query is bound once, in the names that were known where it was written. All that refer to it share its
plan, so a host runs it once.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from nilometer.expressions import ColumnReference
from nilometer.language import ast, parse
from nilometer.plan import logical
from nilometer.plan.bind.scope import Bound, Context, NamedQueries

Bind = Callable[[Context, ast.QueryNode], Bound]


@dataclass
class NamedQuery:
    """A query, the names for its columns, and the context in which it is bound."""

    name: str
    columns: tuple[str, ...]
    query: ast.QueryNode
    context: Context
    place: ast.Node
    _bound: list[Bound] = field(default_factory=list)

    def bound(self, bind: Bind) -> Bound:
        """The query's plan, which is the same for all that refer to it."""
        if not self._bound:
            found = bind(self.context, self.query)
            self._bound.append(
                Bound(named_columns(self.context, found.node, self.columns, self.place), found.windowed)
            )
        return self._bound[0]


def with_tables(context: Context, tables: tuple[ast.CommonTable, ...]) -> Context:
    """The context of the query behind WITH. Each query of WITH sees those before it."""
    own: set[str] = set()
    for table in tables:
        key = table.name.lower()
        if key in own:
            context.fail(
                f"WITH names two queries '{table.name}'", table, hint="give one of them another name"
            )
        own.add(key)
        named = NamedQuery(table.name, table.columns, table.query, context, table)
        context = replace(context, named={**context.named, key: named})
    return context


def find_named(context: Context, name: str) -> NamedQuery | None:
    """The query that a name in FROM means: of WITH first, then a view."""
    found = context.named.get(name.lower())
    if isinstance(found, NamedQuery):
        return found
    if context.catalog.extent(name) is not None:
        return None
    view = context.catalog.view(name)
    if view is None:
        return None
    if name.lower() not in context.views:
        query = parse(view.text)
        assert isinstance(query, ast.QueryNode)
        own = replace(context, named={}, text=view.text)
        context.views[name.lower()] = NamedQuery(view.name, view.columns, query, own, query)
    known = context.views[name.lower()]
    assert isinstance(known, NamedQuery)
    return known


def named_columns(
    context: Context, node: logical.Node, columns: tuple[str, ...], place: ast.Node
) -> logical.Node:
    """The node with these names for its columns; without names, the node itself."""
    if not columns:
        return node
    if len(columns) != len(node.schema):
        context.fail(
            f"{_counted(len(columns), 'name')} for {_counted(len(node.schema), 'column')}",
            place,
            detail=f"the query gives {', '.join(node.schema.names)}",
        )
    seen: set[str] = set()
    for name in columns:
        if name.lower() in seen:
            context.fail(f"two columns are named '{name}'", place, hint="give one of them another name")
        seen.add(name.lower())
    if columns == node.schema.names:
        return node
    items = tuple(
        logical.Projection(name, ColumnReference(column.name, column.type.plain), column.unit)
        for name, column in zip(columns, node.schema, strict=True)
    )
    return logical.Project(node, items)


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"


__all__ = ["NamedQueries", "NamedQuery", "find_named", "named_columns", "with_tables"]
