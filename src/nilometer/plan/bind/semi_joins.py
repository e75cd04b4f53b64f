"""Binds SEMI and ANTI joins as EXISTS: `a SEMI JOIN b ON c` is `FROM a WHERE EXISTS (SELECT * FROM b WHERE c)`."""

from __future__ import annotations

from dataclasses import replace

from nilometer.language import ast
from nilometer.language.parse_joins import HALF_KINDS
from nilometer.language.parse_rows import exists_in
from nilometer.plan.bind.scope import Context


def without_semi_joins(context: Context, select: ast.Select) -> ast.Select:
    """The query with the conditions of its SEMI and ANTI joins in WHERE."""
    conditions: list[ast.Expression] = []
    sources = tuple(_without(context, source, conditions) for source in select.sources)
    if not conditions:
        return select
    where = select.where
    for condition in conditions:
        where = condition if where is None else ast.Binary("AND", where, condition, span=condition.span)
    return replace(select, sources=sources, where=where)


def _without(context: Context, source: ast.Source, conditions: list[ast.Expression]) -> ast.Source:
    """The source without its SEMI and ANTI joins, whose conditions are added. They filter the left side, so they may
    stand behind joins that keep its rows as they are."""
    if not isinstance(source, ast.JoinSource):
        return source
    inside: list[ast.Expression] = []
    left = _without(context, source.left, inside)
    if inside and source.kind in ("RIGHT", "FULL"):
        context.fail(
            f"a {source.kind} JOIN behind a SEMI or ANTI join",
            source,
            hint="put the SEMI join into a subquery: FROM (SELECT * FROM a SEMI JOIN b ON ...) q",
        )
    conditions += inside
    if source.kind not in HALF_KINDS:
        return source if left is source.left else replace(source, left=left)
    found = _exists(source)
    conditions.append(ast.Unary("NOT", found, span=source.span) if source.kind == "ANTI" else found)
    return left


def _exists(join: ast.JoinSource) -> ast.Expression:
    star = ast.SelectItem(ast.Star(span=join.span), span=join.span)
    if join.condition is None:
        items = tuple(ast.SelectItem(name, span=name.span) for name in join.using)
        return exists_in(ast.Select(items, (join.right,), span=join.span), join.using)
    return ast.Exists(
        ast.Select((star,), (join.right,), where=join.condition, span=join.span), span=join.span
    )
