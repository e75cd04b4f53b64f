"""Acquire, buffer and ship only the columns that somebody reads."""

from __future__ import annotations

from collections.abc import Iterable, Set
from dataclasses import replace

from nilometer.algebra import Collection, JoinKind, Relation
from nilometer.algebra.table_function import FunctionCall
from nilometer.expressions import ColumnReference, Expression, columns_of
from nilometer.optimizer.context import OptimizerContext
from nilometer.plan import logical
from nilometer.plan.logical import Node
from nilometer.types import Column

Names = Set[str]


def push_projection_down(plan: Node, context: OptimizerContext) -> Node:
    """`Project(a, x(Acquire(s; a, b, c))) => Project(a, x(Acquire(s; a, b)))   when x reads b, and nobody c`, whatever
    x is made of: windows, joins, aggregates, subqueries.

    A table function with a cheaper form for the columns that are read takes it: members that nobody reads are counted,
    not listed. Some inputs keep all their columns: those of ISTREAM and DSTREAM, which compare all values; those of a
    union, which goes by position; and those of an operator that orders the tuples of a stream without positions, where
    the values break ties.
    """
    return _Pruning(context.profile.projects_below_joins).prune(plan, frozenset(plan.schema.names), False)


class _Pruning:
    """`below_joins` False (profile `snee-2010`): an extent that is joined keeps all that it senses, unless a select list
    or an aggregate stands between it and the join."""

    def __init__(self, below_joins: bool) -> None:
        self.below_joins = below_joins

    def prune(self, node: Node, needed: Names, joined: bool) -> Node:
        """The node without the columns, here and below, that are not needed; the same node if there are none."""
        match node:
            case logical.Acquire():
                return self._acquire(node, needed, joined)
            case logical.Stored():
                return _stored(node, needed)
            case logical.Project():
                return self._project(node, needed)
            case logical.Aggregate():
                return self._aggregate(node, needed)
            case logical.Lag():
                return self._lag(node, needed, joined)
            case logical.Analytic():
                return self._analytic(node, needed, joined)
            case logical.Unnest(expression=ColumnReference(name=list_)) if (
                list_ not in needed and not node.dropped
            ):
                return self.prune(replace(node, dropped=True), needed, joined)
            case logical.TableFunction(call=call) if (cheaper := _narrowed(call, needed)) != call:
                return self.prune(replace(node, call=cheaper), needed, joined)
            case _:
                wanted = self._wanted(node, needed)
                below = joined or isinstance(node, logical.Join | logical.WindowJoin | logical.AsofJoin)
                return self._over(node, wanted, below)

    def _over(self, node: Node, wanted: Iterable[Names], joined: bool) -> Node:
        inputs = tuple(
            self.prune(child, names, joined) for child, names in zip(node.inputs, wanted, strict=True)
        )
        same = all(new is old for new, old in zip(inputs, node.inputs, strict=True))
        return node if same else node.with_inputs(inputs)

    def _wanted(self, node: Node, needed: Names) -> list[Names]:
        """What a node that passes its columns on, or makes its own, needs of each input."""
        match node:
            case logical.Select(input, predicate):
                return [_of(input, needed, (predicate,))]
            case logical.Unnest(input, name, expression):
                return [_of(input, needed - {name}, (expression,))]
            case logical.Rename(input):
                pairs = zip(node.schema.names, input.schema.names, strict=True)
                return [frozenset(old for new, old in pairs if new in needed)]
            case logical.TableFunction(input, call) if call.function.windowed:
                passed = zip(node.schema.names, input.schema.names, strict=False)
                return [call.reads | {old for new, old in passed if new in needed}]
            case logical.TableFunction(input, call):
                whole = call.function.ordered and not _has_positions(input)
                beside = [] if node.beside is None else [_neighbours(node.beside)]
                return [_all(input) if whole else call.reads, *beside]
            case logical.Join(left, right, kind, predicate):
                if kind in (JoinKind.SEMI, JoinKind.ANTI):
                    return [_of(left, needed, (predicate,)), _of(right, (), (predicate,))]
                return [_of(side, needed, (predicate,)) for side in (left, right)]
            case logical.WindowJoin(streams, predicate=predicate):
                return [_of(stream, needed, (predicate,)) for stream in streams]
            case logical.AsofJoin(left, right, keys):
                sides = ((left, [key for key, _ in keys]), (right, [key for _, key in keys]))
                return [
                    _of(side, needed, expressions) if _has_positions(side) else _all(side)
                    for side, expressions in sides
                ]
            case logical.Sort(input, keys):
                return [_of(input, needed, [key.expression for key in keys])]
            case logical.RowWindow(input) | logical.Sample(input) | logical.Limit(input) if (
                not _has_positions(input)
            ):
                return [_all(input)]
            case logical.RowWindow(keys=keys):
                return [needed | set(keys)]
            case logical.ToStream(input, relation) if relation is not Relation.RSTREAM:
                return [_all(input)]
            case logical.Limit():
                return [needed]
            case logical.TimeWindow() | logical.RowWindow() | logical.Sample() | logical.ToStream():
                return [needed]
            case _:
                return [_all(child) for child in node.inputs]

    def _acquire(self, node: logical.Acquire, needed: Names, joined: bool) -> Node:
        read = columns_of(node.predicate) if node.predicate is not None else frozenset[str]()
        own = set(node.stream.columns) if joined and not self.below_joins else set[Column]()
        columns = tuple(c for c in node.columns if f"{node.alias}.{c.name}" in needed or c in own)
        reads = tuple(
            c for c in node.columns + node.reads if c not in columns and f"{node.alias}.{c.name}" in read
        )
        if (columns, reads) == (node.columns, node.reads):
            return node
        return replace(node, columns=columns, reads=reads)

    def _project(self, node: logical.Project, needed: Names) -> Node:
        items = tuple(item for item in node.items if item.name in needed)
        if not items and node.collection is Collection.TABLE:
            items = node.items[:1]  # a table's rows have nothing but their columns
        below = self.prune(node.input, _of(node.input, (), [item.expression for item in items]), False)
        if below is node.input and len(items) == len(node.items):
            return node
        return replace(node, input=below, items=items)

    def _aggregate(self, node: logical.Aggregate, needed: Names) -> Node:
        items = tuple(item for item in node.items if item.name in needed)
        if not (items or node.keys or node.completeness):
            items = node.items[:1]
        read = [key.expression for key in node.keys] + [item.aggregate for item in items]
        extra = () if node.completeness is None else (node.completeness.id_column,)
        below = self.prune(node.input, _of(node.input, extra, read), False)
        if below is node.input and len(items) == len(node.items):
            return node
        return replace(node, input=below, items=items)

    def _lag(self, node: logical.Lag, needed: Names, joined: bool) -> Node:
        items = tuple(item for item in node.items if item.name in needed)
        wanted = _of(node.input, needed, [item.expression for item in items])
        below = self.prune(node.input, wanted if _has_positions(node.input) else _all(node.input), joined)
        if not items:
            return below
        if below is node.input and len(items) == len(node.items):
            return node
        return replace(node, input=below, items=items)

    def _analytic(self, node: logical.Analytic, needed: Names, joined: bool) -> Node:
        items = tuple(item for item in node.items if item.name in needed)
        if not items:
            return self.prune(node.input, _of(node.input, needed, ()), joined)
        ties = node.ties if any(item.breaks_ties for item in items) else ()
        read = [*node.partition, *(item.expression for item in node.order)]
        read += [expression for item in items for expression in item.expressions]
        wanted = _of(node.input, {*needed, *ties}, read)
        if node.collection is Collection.STREAM and not _has_positions(node.input):
            wanted = _all(node.input)
        below = self.prune(node.input, wanted, joined)
        if below is node.input and (items, ties) == (node.items, node.ties):
            return node
        return replace(node, input=below, items=items, ties=ties)


def _narrowed(call: FunctionCall, needed: Names) -> FunctionCall:
    prefix = f"{call.alias}."
    own = frozenset(name.removeprefix(prefix) for name in needed if name.startswith(prefix))
    return call.function.narrowed(call, own)


def _stored(node: logical.Stored, needed: Names) -> Node:
    columns = tuple(c for c in node.columns if f"{node.alias}.{c.name}" in needed) or node.columns[:1]
    return node if len(columns) == len(node.columns) else replace(node, columns=columns)


def _all(node: Node) -> Names:
    return frozenset(node.schema.names)


def _neighbours(table: Node) -> Names:
    """The columns of a table of neighbours that are read."""
    return frozenset(name for name in table.schema.names if name.lower().endswith((".from_id", ".to_id")))


def _of(node: Node, needed: Iterable[str], read: Iterable[Expression | None]) -> Names:
    """The node's columns among those needed and those that the expressions read."""
    names = set(needed)
    for expression in read:
        if expression is not None:
            names |= columns_of(expression)
    return _all(node) & names


def _has_positions(node: Node) -> bool:
    """Whether a stream's tuples have each a position of their own, so that their order never depends on their values."""
    match node:
        case logical.Acquire():
            return True
        case logical.Select(input) | logical.Project(input) | logical.Rename(input):
            return _has_positions(input)
        case logical.Lag(input) | logical.Sample(input) | logical.Limit(input) | logical.Analytic(input):
            return _has_positions(input)
        case logical.AsofJoin(left):
            return _has_positions(left)
        case _:
            return False
