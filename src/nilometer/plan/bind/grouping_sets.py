"""Binds GROUPING SETS, ROLLUP and CUBE: a query for each set of keys, and UNION ALL between them.

    SELECT site, id, COUNT(*) FROM s GROUP BY ROLLUP(site, id)
    SELECT site, id, COUNT(*) FROM s GROUP BY site, id
    UNION ALL SELECT site, NULL, COUNT(*) FROM s GROUP BY site
    UNION ALL SELECT NULL, NULL, COUNT(*) FROM s

A key that is not in the set is NULL in the select list and in HAVING, but not inside an aggregate. Equal parts of
the queries, such as the window, are computed once (dataflow).
"""

from __future__ import annotations

from dataclasses import replace
from functools import reduce

from nilometer.language import ast
from nilometer.plan.bind.aggregate_calls import is_aggregate_call
from nilometer.plan.bind.group_windows import changed
from nilometer.plan.bind.scope import Context, walk_outside_subqueries

Keys = tuple[ast.Expression, ...]

_ROWS = "groups"


def has_grouping_sets(query: ast.QueryNode) -> bool:
    """Whether a SELECT is grouped by several sets of keys."""
    return isinstance(query, ast.Select) and any(isinstance(key, ast.GroupingSets) for key in query.group_by)


def union_of_sets(context: Context, select: ast.Select) -> ast.QueryNode:
    """The SELECT as a union of queries with one set of keys each."""
    (grouping,) = select.group_by
    assert isinstance(grouping, ast.GroupingSets)
    _refuse_over(context, select)
    every = tuple({key: None for keys in grouping.sets for key in keys})
    plain = replace(select, stream=None)
    queries: list[ast.QueryNode] = [_of_set(context, plain, keys, every) for keys in grouping.sets]
    united = reduce(
        lambda left, right: ast.Union(left, right, select.distinct, span=select.span), queries[1:], queries[0]
    )
    if select.stream is None:
        return united
    rows = ast.QuerySource(united, None, _ROWS, span=select.span)
    star = ast.SelectItem(ast.Star(span=select.span), span=select.span)
    return ast.Select((star,), (rows,), select.stream, span=select.span)


def ordered_sets(context: Context, select: ast.Select, ordered: ast.Ordered) -> ast.Ordered:
    """The union with ORDER BY, where a key that is an item of the select list is the number of that column."""

    def numbered(key: ast.SortKey) -> ast.SortKey:
        for number, item in enumerate(select.items, start=1):
            if _is_same(item.expression, key.expression):
                return replace(key, expression=ast.Constant(number, span=key.span))
        return key

    keys = tuple(numbered(key) for key in ordered.order_by)
    return replace(ordered, query=union_of_sets(context, select), order_by=keys)


def _refuse_over(context: Context, select: ast.Select) -> None:
    clauses = (*(item.expression for item in select.items), select.qualify)
    for clause in clauses:
        for node in walk_outside_subqueries(clause):
            if isinstance(node, ast.Over):
                context.fail(
                    "OVER beside several sets of groups",
                    node,
                    hint="put the groups into a subquery in FROM, and OVER around it",
                )


def _of_set(context: Context, select: ast.Select, keys: Keys, every: Keys) -> ast.Select:
    """The query grouped by `keys` alone."""
    absent = [key for key in every if not any(_is_same(key, other) for other in keys)]
    missing = [_meant(select, key) for key in absent]
    present = [_meant(select, key) for key in keys]

    def change(node: ast.Node) -> ast.Node:
        if isinstance(node, ast.FunctionCall) and node.name.lower() in ("grouping", "grouping_id"):
            return _number_of(context, node, select, every, missing)
        if not isinstance(node, ast.Expression) or any(_is_same(node, key) for key in present):
            return node
        if any(_is_same(node, key) for key in missing):
            return ast.Constant(None, span=node.span)
        return node

    def stops(node: ast.Node) -> bool:
        return is_aggregate_call(node) or any(_is_same(node, key) for key in present)

    names = [_own_name(item) for item in select.items]
    items = []
    for number, item in enumerate(select.items):
        whole = item.alias is not None and any(_names(key, item.alias) for key in absent)
        expression = ast.Constant(None, span=item.span) if whole else changed(item.expression, change, stops)
        alias = item.alias
        if alias is None and expression is not item.expression and names.count(names[number]) == 1:
            alias = names[number]
        items.append(replace(item, expression=expression, alias=alias))
    having = None if select.having is None else changed(select.having, change, stops)
    # An ordinal stays one; a set without keys is one group.
    found = replace(select, items=tuple(items), group_by=keys, having=having)
    if not keys and not any(_aggregates(item.expression) for item in items) and not _aggregates(having):
        context.fail(
            "the empty set of groups needs an aggregate in the select list",
            select.group_by[0],
            hint="such as COUNT(*)",
        )
    return found


def _aggregates(clause: ast.Expression | None) -> bool:
    return any(is_aggregate_call(node) for node in walk_outside_subqueries(clause))


def _meant(select: ast.Select, key: ast.Expression) -> ast.Expression:
    """The expression that a key stands for: the item of that number, or of that alias."""
    match key:
        case ast.Constant(value=int(number)) if 0 < number <= len(select.items):
            return select.items[number - 1].expression
        case ast.Name(parts=(name,)):
            for item in select.items:
                if item.alias is not None and item.alias.lower() == name.lower():
                    return item.expression
    return key


def _names(key: ast.Expression, alias: str) -> bool:
    return isinstance(key, ast.Name) and len(key.parts) == 1 and key.parts[0].lower() == alias.lower()


def _own_name(item: ast.SelectItem) -> str | None:
    """The name of a column of the select list that is a plain column."""
    return item.expression.parts[-1] if isinstance(item.expression, ast.Name) else item.alias


def _number_of(
    context: Context, call: ast.FunctionCall, select: ast.Select, every: Keys, missing: list[ast.Expression]
) -> ast.Expression:
    """GROUPING(a, b): a bit for each argument, 1 if it is not in the set; without arguments for all keys."""
    number = 0
    known = [_meant(select, key) for key in every]
    for argument in call.arguments or tuple(every):
        meant = _meant(select, argument)
        if not any(_is_same(meant, key) for key in known):
            context.fail(f"{call.name.upper()}() takes keys of GROUP BY", argument)
        number = 2 * number + any(_is_same(meant, key) for key in missing)
    return ast.Constant(number, span=call.span)


def _is_same(one: ast.Node, other: ast.Node) -> bool:
    """Whether two expressions mean the same: `id` and `s.id` do."""
    match one, other:
        case ast.Name(parts=mine), ast.Name(parts=theirs):
            shorter = min(len(mine), len(theirs))
            return _folded(mine[-shorter:]) == _folded(theirs[-shorter:])
        case _:
            return one == other


def _folded(parts: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(part.lower() for part in parts)
