"""Binds JOIN ... ON and USING: inner joins become a product under a condition, outer joins a node of their own.

    a JOIN b ON p          the relations a and b, and the condition p, as in FROM a, b WHERE p
    a LEFT JOIN b ON p     Join(a, b, LEFT, p); a RIGHT join is the LEFT join of b with a
    a JOIN b USING (id)    ON a.id = b.id, and a bare `id` and `*` mean one column

The two sides of an outer join are bound first, each to one node, with the conditions of the inner joins inside it.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from nilometer import algebra
from nilometer.expressions import Call, ColumnReference, Expression, conjunction, type_of
from nilometer.language import ast
from nilometer.plan import logical
from nilometer.plan.bind.expressions import ExpressionBinder
from nilometer.plan.bind.scope import Context, Relation, Scope, nearest, quoted
from nilometer.plan.bind.unnest_source import join_with_elements
from nilometer.plan.bind.values import ONE_ROW
from nilometer.plan.bind.whole import check_all_or_none, with_whole_streams
from nilometer.plan.bind.window_joins import bounded_join, outer_window_join, window_join
from nilometer.types import Column

if TYPE_CHECKING:
    from nilometer.plan.bind.sources import SourceBinder

_COLLECTION = algebra.Collection


def bind_join(binder: SourceBinder, source: ast.JoinSource) -> list[Relation]:
    """The relations of both sides. An inner join adds its condition to the scope's; an outer join puts all
    relations over one node."""
    start = len(binder.scope.conditions)
    left = binder.relations(source.left)
    middle = len(binder.scope.conditions)
    if isinstance(source.right, ast.UnnestSource):
        return join_with_elements(binder, source, source.right, left)
    binder.last_extent = None  # a name that is not declared is a mistake here, not a further alias
    right = binder.relations(source.right)
    binder.last_extent = None
    _check_aliases(binder.context, left, right, source)
    merged = [_merged(binder.scope, name, left, right) for name in source.using]
    conditions = [equal for _, _, equal in merged]
    if source.condition is not None:
        names = Scope(binder.context, left + right, merged=binder.scope.merged)
        on = ExpressionBinder(names, binder.refuse_in_on, "ON looks at one pair of rows at a time")
        conditions.append(on.condition(source.condition))
        binder.scope.places |= names.places
    if source.kind == "INNER":
        binder.scope.conditions += conditions
        _remember(binder, source, [(one, other, one) for one, other, _ in merged])
        return left + right
    own = binder.scope.conditions[start:]
    del binder.scope.conditions[start:]
    one = product(binder.scope, binder.select, left, own[: middle - start])
    other = product(binder.scope, binder.select, right, own[middle - start :])
    node = _outer(binder, source, (one, left), (other, right), conjunction(conditions))
    pairs = [(mine, theirs) for mine, theirs, _ in merged]
    node, shown = _with_merged(binder.context, source, node, pairs)
    _remember(binder, source, shown)
    return [replace(relation, node=node) for relation in (*left, *right)]


def one_node(binder: SourceBinder, source: ast.Source) -> list[Relation]:
    """The relations of a source over one node, for a join that takes its side as a whole."""
    start = len(binder.scope.conditions)
    relations = binder.relations(source)
    own = binder.scope.conditions[start:]
    if len(relations) == 1 or (not own and all(one.node is relations[0].node for one in relations)):
        return relations
    del binder.scope.conditions[start:]
    node = product(binder.scope, binder.select, relations, own)
    return [replace(relation, node=node) for relation in relations]


def combine(scope: Scope, select: ast.Select) -> logical.Node:
    """The join of all relations of FROM, under the conditions of its inner joins; one row without FROM."""
    if not scope.relations:
        return ONE_ROW
    node = product(scope, select, scope.relations, scope.conditions)
    if select.bounds and not scope.time_is_tick:
        _check_window_clause(scope.context, scope.relations)
        scope.context.fail(
            "a WINDOW clause needs at least two streams", select.bounds[0], hint="use [RANGE ...] for one"
        )
    return node


def product(
    scope: Scope, select: ast.Select, relations: list[Relation], conditions: list[Expression]
) -> logical.Node:
    """The product of relations, of which several may share a node, under conditions; several streams without
    windows are joined within a WINDOW. An error if they cannot be joined."""
    context = scope.context
    nodes: list[tuple[logical.Node, Relation]] = []
    for relation in relations:
        if not any(node is relation.node for node, _ in nodes):
            nodes.append((relation.node, relation))
    streams = [(n, r) for n, r in nodes if n.collection is _COLLECTION.STREAM]
    windows = [(n, r) for n, r in nodes if n.collection is _COLLECTION.WINDOWS]
    if select.bounds and not scope.time_is_tick and len(streams) + len(windows) > 1:
        _check_window_clause(context, relations)
    if len(streams) > 1 and not windows:
        near = [relation for _, relation in streams]
        within = (
            window_join(scope, select, near)
            if select.bounds
            else bounded_join(scope, select, near, conditions)
        )
        if within is not None:
            tables = [each for each in nodes if each not in streams]
            nodes, streams = [(within, near[0]), *tables], []
    if streams and (len(streams) > 1 or windows):
        taken = with_whole_streams(context, [node for node, _ in nodes])
        if taken is not None:
            nodes = [(node, relation) for node, (_, relation) in zip(taken, nodes, strict=True)]
            streams = []
    if streams and (len(streams) > 1 or windows):
        lonely = streams[-1] if len(streams) > 1 else streams[0]
        other = next(r for n, r in nodes if n is not lonely[0] and n.collection is not _COLLECTION.TABLE)
        refuse_endless(context, lonely[1], other)
    check_all_or_none(context, [node for node, _ in windows], select)
    if len(windows) > 1:
        # Windows are joined at the union of their ticks. A table is read as it is at that tick, so it comes
        # last.
        nodes.sort(key=lambda each: each[0].collection is _COLLECTION.TABLE and logical.refreshes(each[0]))
    node = nodes[0][0]
    for right, _ in nodes[1:]:
        node = logical.Join(node, right, algebra.JoinKind.INNER)
    predicate = conjunction(conditions)
    return node if predicate is None else logical.Select(node, predicate)


def _check_window_clause(context: Context, relations: list[Relation]) -> None:
    """Refuse a relation that a WINDOW clause cannot join: one with a window, or one that is joined already."""
    for relation in relations:
        shared = sum(other.node is relation.node for other in relations) > 1
        windowed = relation.node.collection is _COLLECTION.WINDOWS
        if windowed or (shared and relation.node.collection is _COLLECTION.STREAM):
            context.fail(
                f"'{relation.alias}' cannot take part in a WINDOW clause",
                relation.place,
                detail="a WINDOW clause joins streams that have no window of their own",
                hint="leave out its [window]" if windowed else None,
            )


def refuse_endless(context: Context, lonely: Relation, other: Relation) -> None:
    """Refuse to join a stream without a window with another stream."""
    context.fail(
        f"'{lonely.alias}' has no window, so it cannot be joined with '{other.alias}'",
        lonely.place,
        detail="a product of endless streams never ends",
        hint=f"write {lonely.alias} [NOW] or {lonely.alias} [RANGE 10 MINUTES], or add a WINDOW clause",
    )


def _check_aliases(
    context: Context, left: list[Relation], right: list[Relation], source: ast.JoinSource
) -> None:
    for relation in right:
        if any(other.alias.lower() == relation.alias.lower() for other in left):
            context.fail(
                f"'{relation.alias}' stands on both sides",
                source.right,
                hint=f"give one of them an alias: ... {relation.alias} AS {relation.alias}2",
            )


# ---- outer joins -----------------------------------------------------------------------------------------------------

Side = tuple[logical.Node, list[Relation]]


def _outer(
    binder: SourceBinder, source: ast.JoinSource, left: Side, right: Side, predicate: Expression | None
) -> logical.Node:
    """The node of an outer join. The sides of a RIGHT join are exchanged."""
    kind = algebra.JoinKind.FULL if source.kind == "FULL" else algebra.JoinKind.LEFT
    if source.kind == "RIGHT":
        left, right = right, left
    kinds = (left[0].collection, right[0].collection)
    if kinds.count(_COLLECTION.STREAM) == 2:
        within = outer_window_join(binder.scope, binder.select, kind, (left, right), predicate)
        if within is not None:
            return within
    keeps_table = kind is algebra.JoinKind.FULL or kinds[0] is _COLLECTION.TABLE
    if _COLLECTION.STREAM in kinds and (_COLLECTION.TABLE not in kinds or keeps_table):
        taken = with_whole_streams(binder.context, [left[0], right[0]])
        if taken is not None:
            left, right = (taken[0], left[1]), (taken[1], right[1])
            kinds = (left[0].collection, right[0].collection)
    if kinds.count(_COLLECTION.STREAM) == 2 or set(kinds) == {_COLLECTION.STREAM, _COLLECTION.WINDOWS}:
        lonely, other = (left, right) if kinds[0] is _COLLECTION.STREAM else (right, left)
        refuse_endless(binder.context, lonely[1][0], other[1][0])
    if _COLLECTION.STREAM in kinds and (kind is algebra.JoinKind.FULL or kinds[0] is _COLLECTION.TABLE):
        stream, table = (left, right) if kinds[0] is _COLLECTION.STREAM else (right, left)
        alias = stream[1][0].alias
        binder.context.fail(
            f"the rows of '{table[1][0].alias}' without a partner are never known",
            source,
            detail=f"'{alias}' has no window, and a partner may always come",
            hint=f"write {alias} [NOW] or {alias} [RANGE 10 MINUTES], or keep the stream's rows: "
            f"{alias} LEFT JOIN {table[1][0].alias} ON ...",
        )
    return logical.Join(left[0], right[0], kind, predicate)


# ---- USING -----------------------------------------------------------------------------------------------------------


def _merged(
    scope: Scope, name: ast.Name, left: list[Relation], right: list[Relation]
) -> tuple[Column, Column, Expression]:
    """The two columns that a name of USING merges, and their equality."""
    one, other = _column_of(scope, name, left, "left"), _column_of(scope, name, right, "right")
    binder = ExpressionBinder(scope, lambda node: ColumnReference(str(node), one.type))
    mine, theirs = (ColumnReference(column.name, column.type.plain) for column in (one, other))
    return one, other, binder._binary(name, "=", mine, theirs)


def _column_of(scope: Scope, name: ast.Name, relations: list[Relation], side: str) -> Column:
    bare = name.parts[0]
    merged = scope.merged.get(bare.lower())
    if merged is not None and any(merged.name in relation.node.schema for relation in relations):
        return merged
    found = [(r, c) for r in relations if (c := r.find(bare)) is not None]
    if not found:
        known = [column for relation in relations for column, _ in relation.columns()]
        scope.context.fail(
            f"no column '{bare}' on the {side} side of the join",
            name,
            detail=f"it has {quoted(known)}",
            hint=nearest(bare, known) or "USING names columns that both sides have; use ON for others",
        )
    if len(found) > 1:
        choices = [f"{relation.alias}.{bare}" for relation, _ in found]
        scope.context.fail(f"'{bare}' could be any of {quoted(choices)}", name, hint="use ON")
    return found[0][1]


def _with_merged(
    context: Context, source: ast.JoinSource, node: logical.Node, pairs: list[tuple[Column, Column]]
) -> tuple[logical.Node, list[tuple[Column, Column, Column]]]:
    """The column that each pair of USING is shown as: that of the side whose rows are all there; after a FULL
    join a column of its own, with whichever of the two is not NULL."""
    if source.kind != "FULL" or not pairs:
        return node, [(one, other, other if source.kind == "RIGHT" else one) for one, other in pairs]
    kept = [logical.Projection(c.name, ColumnReference(c.name, c.type.plain), c.unit) for c in node.schema]
    alias = context.fresh("using")
    added, shown = [], []
    for number, (one, other) in enumerate(pairs):
        references = [ColumnReference(column.name, column.type.plain) for column in (one, other)]
        values = ExpressionBinder(Scope(context), _refused).unify(
            list(references), [source.using[number], source.using[number]]
        )
        value = Call("coalesce", tuple(values), type_of(values[0]))
        name = f"{alias}.{source.using[number].parts[0]}"
        added.append(logical.Projection(name, value, one.unit))
        shown.append((one, other, Column(name, type_of(value), one.unit)))
    return logical.Project(node, (*kept, *added)), shown


def _remember(
    binder: SourceBinder, source: ast.JoinSource, shown: list[tuple[Column, Column, Column]]
) -> None:
    """Let a bare name mean the merged column, and `*` show it once."""
    scope = binder.scope
    for name, (one, other, column) in zip(source.using, shown, strict=True):
        bare = name.parts[0].lower()
        before = scope.merged.get(bare)
        if before is not None and before.name not in (one.name, other.name):
            scope.context.fail(f"'{name.parts[0]}' was merged by another USING", name, hint="use ON here")
        scope.merged[bare] = column
        scope.hidden |= {one.name: bare, other.name: bare}


def _refused(node: ast.Expression) -> Expression:
    raise AssertionError(f"a column needs no binding: {node}")
