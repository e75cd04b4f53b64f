"""Binds joins of streams within a window of time: STEAM's WINDOW clause, or times that are compared.

    FROM a, b WINDOW = 30 SECONDS WHERE a.id = b.id
    FROM a, b WINDOW(a) = 5 MINUTES AND WINDOW(b) = 1 MINUTE WHERE a.id = b.id
    FROM a LEFT JOIN b ON a.id = b.id WINDOW = 30 SECONDS
    FROM a JOIN b ON a.id = b.id AND a.time BETWEEN b.time - 30 SECONDS AND b.time + 10 SECONDS

Conditions that bound the difference of two streams' times on both sides are a WINDOW of the wider bound; they stay
conditions, too. `WINDOW(a) = w`, of one stream, is such a condition with every other: none is more than w later than
the tuple of a.
"""

from __future__ import annotations

from collections.abc import Sequence

from nilometer import algebra
from nilometer.errors import BindError
from nilometer.expressions import Call, ColumnReference, Expression, Literal, conjunction, conjuncts
from nilometer.language import ast
from nilometer.operators.bands import bands_of
from nilometer.plan import logical
from nilometer.plan.bind.expressions import ExpressionBinder
from nilometer.plan.bind.memory import bind_memory
from nilometer.plan.bind.scope import Relation, Scope, nearest, quoted
from nilometer.plan.bind.windows import duration
from nilometer.plan.window_join_parts import WindowBound
from nilometer.types import BOOLEAN, DURATION, Kind

_COLLECTION = algebra.Collection


def window_join(scope: Scope, select: ast.Select, streams: list[Relation]) -> logical.Node:
    """The join of streams by the query's WINDOW clause."""
    context = scope.context
    bounds: list[WindowBound] = []
    own: dict[int, int] = {}
    count = len(streams)
    for bound in select.bounds:
        width = duration(context, bound.width, "a WINDOW", positive=False)
        if bound.left is None:
            bounds += [WindowBound(i, j, width) for i in range(count) for j in range(i + 1, count)]
            continue
        if bound.right is None:
            port = _port(scope, streams, bound.left, bound)
            own[port] = min(width, own.get(port, width))
            continue
        ends = [_port(scope, streams, name, bound) for name in (bound.left, bound.right)]
        if ends[0] == ends[1]:
            context.fail("a WINDOW is between two different streams", bound)
        bounds.append(WindowBound(min(ends), max(ends), width))
    conditions: tuple[Expression, ...] = ()
    if own:
        _check_own(scope, select, streams, own)
        bounds += [WindowBound(i, j, max(own[i], own[j])) for i in range(count) for j in range(i + 1, count)]
        conditions = tuple(
            _at_most_later(streams[early], streams[late], own[early])
            for early in range(count)
            for late in range(count)
            if own[early] < own[late]
        )
    groups = _groups(count, bounds)
    if len(groups) > 1:
        named = [[streams[port].alias for port in group] for group in groups]
        context.fail(
            f"no WINDOW connects {quoted(named[1])} with {quoted(named[0])}"
            + (f", nor with {', nor with '.join(map(quoted, named[2:]))}" if named[2:] else ""),
            select.bounds[0],
            detail="streams that no window ties together would have to be kept for ever",
            hint="add " + " ".join(f"AND WINDOW({named[0][0]}, {group[0]}) = ..." for group in named[1:]),
        )
    scope.time_is_tick = True
    memory = bind_memory(Scope(context, streams), select)
    nodes = tuple(relation.node for relation in streams)
    return logical.WindowJoin(nodes, tuple(bounds), conjunction(conditions), memory=memory)


def _check_own(scope: Scope, select: ast.Select, streams: list[Relation], own: dict[int, int]) -> None:
    """Checks that windows of one stream each are given for all streams, and that these have times of their own."""
    first = next(bound for bound in select.bounds if bound.left is not None and bound.right is None)
    missing = [relation.alias for port, relation in enumerate(streams) if port not in own]
    if missing:
        scope.context.fail(
            f"{quoted(missing)} {'has' if len(missing) == 1 else 'have'} no WINDOW",
            first,
            detail=f"WINDOW({first.left}) says how much later the others may be, but not how much earlier",
            hint="add " + " ".join(f"AND WINDOW({alias}) = ..." for alias in missing),
        )
    for relation in streams:
        if _own_time(relation) is None:
            scope.context.fail(
                f"the tuples of '{relation.alias}' show no time of their own, which WINDOW({relation.alias}) compares",
                first,
                hint="select time in its subquery, or use WINDOW = w for all or WINDOW(a, b) = w for a pair",
            )


def _own_time(relation: Relation) -> ColumnReference | None:
    """The column that is the time of each tuple of a stream in FROM."""
    column = relation.find("time")
    if column is None or column.type.kind is not Kind.TIME or not _is_time(relation.node, column.name):
        return None
    return ColumnReference(column.name, column.type)


def _is_time(node: logical.Node, name: str) -> bool:
    """Whether a column is the time of each tuple, and no other value under that name."""
    match node:
        case logical.Acquire():
            return name == f"{node.alias}.time"
        case logical.Select():
            return _is_time(node.input, name)
        case logical.Rename():
            return _is_time(node.input, name.removeprefix(f"{node.alias}."))
        case logical.Project():
            made = next(item.expression for item in node.items if item.name == name)
            return isinstance(made, ColumnReference) and _is_time(node.input, made.name)
        case logical.Union():
            other = node.right.schema.names[node.left.schema.names.index(name)]
            return _is_time(node.left, name) and _is_time(node.right, other)
        case _:
            return False


def _at_most_later(early: Relation, late: Relation, width: int) -> Expression:
    """late.time - early.time <= width."""
    ends = tuple(time for time in (_own_time(late), _own_time(early)) if time is not None)
    return Call("<=", (Call("-", ends, DURATION), Literal(width, DURATION)), BOOLEAN)


def outer_window_join(
    scope: Scope,
    select: ast.Select,
    kind: algebra.JoinKind,
    sides: tuple[tuple[logical.Node, list[Relation]], tuple[logical.Node, list[Relation]]],
    predicate: Expression | None,
) -> logical.Node | None:
    """The LEFT or FULL join of two streams; None if nothing says how far apart their times may be."""
    (left, lefts), (right, rights) = sides
    if select.bounds:
        width = _width(scope, select, lefts, rights)
    else:
        found = times_bound([*lefts, *rights], conjuncts(predicate))
        widths = [bound.width for bound in found if (bound.left < len(lefts)) != (bound.right < len(lefts))]
        if not widths:
            return None
        width = min(widths)
    if select.memory:
        scope.context.fail(
            "MEMORY is for inner joins",
            select.memory[0],
            detail="an outer join that drops tuples would call joined tuples unmatched",
            hint="leave MEMORY out, or use a smaller WINDOW",
        )
    scope.time_is_tick = True
    bounds = (WindowBound(0, 1, width),)
    return logical.WindowJoin((left, right), bounds, predicate, kind=kind)


def _width(scope: Scope, select: ast.Select, lefts: list[Relation], rights: list[Relation]) -> int:
    """The narrowest WINDOW between the two sides."""
    one, other = ({relation.alias.lower() for relation in side} for side in (lefts, rights))
    widths = []
    for bound in select.bounds:
        if bound.left is not None and bound.right is None:
            scope.context.fail(
                "WINDOW of one stream is for inner joins",
                bound,
                hint=f"compare the times in ON: {rights[0].alias}.time BETWEEN {lefts[0].alias}.time - 1 MINUTE AND "
                f"{lefts[0].alias}.time + 5 MINUTES",
            )
        ends = {name.lower() for name in (bound.left, bound.right) if name is not None}
        if not ends or (ends & one and ends & other):
            widths.append(duration(scope.context, bound.width, "a WINDOW", positive=False))
    if not widths:
        scope.context.fail(
            f"no WINDOW connects '{lefts[0].alias}' with '{rights[0].alias}'",
            select.bounds[0],
            hint=f"add AND WINDOW({lefts[0].alias}, {rights[0].alias}) = ...",
        )
    return min(widths)


def _port(scope: Scope, streams: list[Relation], name: str, bound: ast.WindowBound) -> int:
    for port, relation in enumerate(streams):
        if relation.alias.lower() == name.lower():
            return port
    aliases = [relation.alias for relation in streams]
    scope.context.fail(
        f"no stream '{name}' in FROM",
        bound,
        detail=f"FROM has {quoted(aliases)}",
        hint=nearest(name, aliases),
    )


def _groups(count: int, bounds: list[WindowBound]) -> list[list[int]]:
    """Groups the streams that windows connect, directly or through others; the first stream's group is
    first."""
    group = list(range(count))
    for bound in bounds:
        one, other = group[bound.left], group[bound.right]
        group = [min(one, other) if number in (one, other) else number for number in group]
    return [[port for port in range(count) if group[port] == number] for number in sorted(set(group))]


# ---- times that are compared -----------------------------------------------------------------------------------------


def times_bound(relations: list[Relation], conditions: Sequence[Expression]) -> list[WindowBound]:
    """The windows that conditions on two streams' own times imply: those bounded on both sides."""
    times = {
        time.name: port
        for port, relation in enumerate(relations)
        if (time := _own_time(relation)) is not None
    }
    found = []
    for band in bands_of(conditions):
        if band.low is None or band.high is None or not {band.plus, band.minus} <= times.keys():
            continue
        ends = sorted((times[band.plus], times[band.minus]))
        width = int(max(abs(band.low), abs(band.high)))
        if ends[0] != ends[1]:
            found.append(WindowBound(ends[0], ends[1], width))
    return found


def bounded_join(
    scope: Scope, select: ast.Select, streams: list[Relation], conditions: Sequence[Expression]
) -> logical.Node | None:
    """The join of streams whose times ON or WHERE bound; None if they do not connect all of them."""
    own = [part for condition in conditions for part in conjuncts(condition)]
    bounds = times_bound(streams, [*own, *_plain_conditions(scope, select, streams)])
    if len(_groups(len(streams), bounds)) > 1:
        return None
    scope.time_is_tick = True
    return logical.WindowJoin(tuple(relation.node for relation in streams), tuple(bounds))


def _plain_conditions(scope: Scope, select: ast.Select, streams: list[Relation]) -> list[Expression]:
    """The comparisons between streams in WHERE. WHERE as a whole is bound later."""
    found: list[Expression] = []
    names = Scope(scope.context, streams)

    def refuse(node: ast.Expression) -> Expression:
        scope.context.fail("not now", node)

    binder = ExpressionBinder(names, refuse, "not now")
    for part in _conjuncts(select.where):
        if isinstance(part, ast.Binary | ast.Between):
            try:
                found += conjuncts(binder.condition(part))
            except BindError:
                continue
    return found


def _conjuncts(node: ast.Expression | None) -> list[ast.Expression]:
    match node:
        case None:
            return []
        case ast.Binary("AND", left, right):
            return _conjuncts(left) + _conjuncts(right)
        case _:
            return [node]
