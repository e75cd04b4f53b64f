"""Binds FROM to relations: extents, subqueries, ASOF joins and table functions, each with its window."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from nilometer import algebra
from nilometer.catalog import functions
from nilometer.catalog.extents import Table
from nilometer.expressions import Call, Expression, columns_of, conjuncts
from nilometer.language import ast
from nilometer.language.walk import walk
from nilometer.plan import logical
from nilometer.plan.bind.expressions import ExpressionBinder
from nilometer.plan.bind.memory import bind_memory
from nilometer.plan.bind.scope import (
    Bound,
    Context,
    Relation,
    Scope,
    nearest,
    quoted,
    walk_outside_subqueries,
)
from nilometer.plan.bind.table_functions import bind_call, names_of_windows
from nilometer.plan.bind.windows import duration, window_over

BindQuery = Callable[[Context, ast.QueryNode, Scope | None], Bound]
"""Binds a subquery in FROM; passed as an argument, because queries and their sources contain each other."""


class SourceBinder:
    """Binds the FROM clause of one SELECT into a scope."""

    def __init__(self, select: ast.Select, scope: Scope, bind_query: BindQuery) -> None:
        self.select = select
        self.scope = scope
        self.context = scope.context
        self.bind_query = bind_query
        # A stream's static attributes are columns too (STEAM section 3.3); only those the query names are
        # looked up.
        self.named = {node.parts[-1].lower() for node in walk(select) if isinstance(node, ast.Name)}
        self.named |= set(names_of_windows(select))
        self.windows = self._windows_of_aggregates()
        self.sample = None if select.sample is None else duration(self.context, select.sample, "SAMPLE EVERY")
        self._last_extent: ast.ExtentSource | None = None

    def bind(self) -> None:
        """Fill the scope's relations, in the order of FROM."""
        if not self.select.sources:
            self.context.fail(
                "nothing to select from", self.select, hint="name a stream: SELECT * FROM river"
            )
        for source in self.select.sources:
            for relation in self.relations(source):
                clash = self.scope.relation(relation.alias)
                if clash is not None:
                    self.context.fail(
                        f"'{relation.alias}' stands twice in FROM",
                        source,
                        hint=f"give one of them an alias: ... {relation.alias} AS {relation.alias}2",
                    )
                self.scope.relations.append(relation)

    def relations(self, source: ast.Source) -> list[Relation]:
        """The relations of one entry of FROM (an ASOF join has two or more, over one node)."""
        match source:
            case ast.ExtentSource():
                return [self._extent(source)]
            case ast.QuerySource():
                return [self._subquery(source)]
            case ast.FunctionSource():
                return [self._function(source)]
            case ast.AsofSource():
                return self._asof(source)
            case _:
                raise AssertionError(source)

    # ---- extents -----------------------------------------------------------------------------------------------------

    def _extent(self, source: ast.ExtentSource, *, sampled: bool = True) -> Relation:
        extent = self.context.catalog.extent(source.name)
        alias = source.alias or source.name
        if extent is None and self._last_extent is not None and source.alias is None:
            # FROM SensorTables A, B, C (STEAM section 6.2): B and C are further aliases of the extent before
            # them.
            source = replace(source, name=self._last_extent.name, alias=source.name)
            return self._extent(source, sampled=sampled)
        if extent is None:
            known = [entry.name for entry in self.context.catalog.extents()]
            self.context.fail(
                f"no stream or table '{source.name}'",
                source,
                detail=f"declared are {quoted(known)}" if known else "nothing has been declared yet",
                hint=nearest(source.name, known) or "declare it with CREATE STREAM or CREATE TABLE",
            )
        if source.alias is not None:
            self._last_extent = source
        if isinstance(extent, Table):
            return self._table(extent, alias, source)
        attributes = tuple(
            column
            for column in self.context.catalog.static_columns(extent.name)
            if column.name.lower() in self.named and extent.column(column.name) is None
        )
        node: logical.Node = logical.Acquire(extent, alias, extent.columns + attributes)
        if self.sample is not None and sampled:
            node = logical.Sample(node, self.sample)
        window = self.windows.get(alias.lower())
        if window is not None and source.window is not None:
            self.context.fail(
                f"'{alias}' has a window here and another in an aggregate",
                source.window,
                hint="leave one of them out",
            )
        chosen = source.window or window
        if chosen is not None:
            node = window_over(self.context, chosen, node)
        visible = tuple(f"{alias}.{column.name}" for column in extent.columns)
        return Relation(alias, node, visible, source)

    def _table(self, table: Table, alias: str, source: ast.ExtentSource) -> Relation:
        if source.window is not None:
            self.context.fail(
                f"'{table.name}' is a stored table and has no window",
                source.window,
                hint="leave the window out: a table is joined as it is",
            )
        node = logical.Stored(table, alias, table.columns)
        return Relation(alias, node, node.schema.names, source)

    def _windows_of_aggregates(self) -> dict[str, ast.Window]:
        """AVG(s.speed, w) sets the window of s to RANGE w (Fjords section 4.1)."""
        found: dict[str, ast.Window] = {}
        clauses = (*(item.expression for item in self.select.items), self.select.having)
        for node in (node for clause in clauses for node in walk_outside_subqueries(clause)):
            if not isinstance(node, ast.FunctionCall) or len(node.arguments) != 2:
                continue
            signature = functions.resolve(node.name)
            if signature is None or signature.kind != "aggregate":
                continue
            alias = self._alias_of_argument(node)
            window = ast.RangeWindow(self._window_amount(node.arguments[1]), span=node.arguments[1].span)
            if alias in found and found[alias] != window:
                self.context.fail(
                    f"two different windows for '{alias}'", node.arguments[1], hint="use one and the same"
                )
            found[alias] = window
        return found

    def _alias_of_argument(self, node: ast.FunctionCall) -> str:
        names = [
            n
            for n in walk_outside_subqueries(node.arguments[0])
            if isinstance(n, ast.Name) and len(n.parts) > 1
        ]
        if names:
            return names[0].parts[0].lower()
        extents = [source for source in self.select.sources if isinstance(source, ast.ExtentSource)]
        if len(extents) == 1:
            return (extents[0].alias or extents[0].name).lower()
        self.context.fail(
            "this window names no stream",
            node,
            hint="qualify the column with its stream: AVG(s.speed, 10 MINUTES)",
        )

    def _window_amount(self, argument: ast.Expression) -> ast.Amount:
        match argument:
            case ast.Name(parts=(name,)):
                return ast.Amount(name, span=argument.span)
            case ast.DurationConstant(count=count, unit=unit):
                return ast.Amount(count, unit, span=argument.span)
            case _:
                self.context.fail(
                    "the second argument of an aggregate is its window",
                    argument,
                    hint="give a length, such as AVG(s.speed, 10 MINUTES), or a parameter's name",
                )

    # ---- subqueries --------------------------------------------------------------------------------------------------

    def _subquery(self, source: ast.QuerySource) -> Relation:
        bound = self.bind_query(self.context, source.query, None)
        alias = source.alias or f"query{len(self.scope.relations) + 1}"
        node: logical.Node = logical.Rename(bound.node, alias)
        if self.sample is not None and node.collection is algebra.Collection.STREAM:
            node = logical.Sample(node, self.sample)
        node = self._windowed(source.window, node)
        return Relation(alias, node, node.schema.names, source, generated=source.alias is None)

    def _windowed(self, window: ast.Window | None, node: logical.Node) -> logical.Node:
        if window is None:
            return node
        match node.collection:
            case algebra.Collection.WINDOWS:
                self.context.fail(
                    "a window over windows",
                    window,
                    detail="the query inside already has a window",
                    hint="leave this window out, or make the inner query a stream with ISTREAM, DSTREAM or RSTREAM",
                )
            case algebra.Collection.TABLE:
                self.context.fail("a window over a stored table", window, hint="leave the window out")
            case _:
                return window_over(self.context, window, node)

    # ---- stream operators --------------------------------------------------------------------------------------------

    def _stream(self, source: ast.Source, what: str) -> Relation:
        """A source that must be one unwindowed stream."""
        relation = self._extent(source) if isinstance(source, ast.ExtentSource) else self.relations(source)[0]
        if relation.node.collection is not algebra.Collection.STREAM:
            kind = "a stored table" if relation.node.collection is algebra.Collection.TABLE else "windowed"
            self.context.fail(f"{what} takes a stream, and '{relation.alias}' is {kind}", source)
        return relation

    def _function(self, source: ast.FunctionSource) -> Relation:
        inner = self._stream(source.source, source.name)
        call = bind_call(self.context, source, inner)
        node: logical.Node = logical.TableFunction(inner.node, call)
        if not call.function.needs_window:
            node = self._windowed(source.window, node)
        return Relation(call.alias, node, node.schema.names, source)

    def _asof(self, source: ast.AsofSource) -> list[Relation]:
        left = self.relations(source.left)
        right = self.relations(source.right)
        for relation in (*left, *right):
            if relation.node.collection is not algebra.Collection.STREAM:
                table = relation.node.collection is algebra.Collection.TABLE
                self.context.fail(
                    "ASOF JOIN is between two streams without windows",
                    relation.place,
                    detail=f"'{relation.alias}' is {'a stored table' if table else 'windowed'}",
                    hint="join a table by listing it in FROM" if table else "use WITHIN to bound the age",
                )
        both = Scope(self.context, left + right)
        binder = ExpressionBinder(both, self._refuse, "ON compares columns of the two streams")
        lefts = {name for relation in left for name in relation.node.schema.names}
        rights = {name for relation in right for name in relation.node.schema.names}
        keys: list[tuple[Expression, Expression]] = []
        for part in conjuncts(binder.condition(source.condition)):
            if isinstance(part, Call) and part.function == "=" and len(part.arguments) == 2:
                one, other = part.arguments
                if (
                    columns_of(one)
                    and columns_of(one) <= lefts
                    and columns_of(other)
                    and columns_of(other) <= rights
                ):
                    keys.append((one, other))
                    continue
                if (
                    columns_of(one)
                    and columns_of(one) <= rights
                    and columns_of(other)
                    and columns_of(other) <= lefts
                ):
                    keys.append((other, one))
                    continue
            self.context.fail(
                "ON of an ASOF JOIN takes equalities between the two streams, joined by AND",
                source.condition,
                detail=f"found {part}",
                hint="put any other condition into WHERE",
            )
        within = (
            None if source.within is None else duration(self.context, source.within, "WITHIN", positive=False)
        )
        for relation in right:
            if self._shares_alias(left, relation):
                self.context.fail(
                    f"'{relation.alias}' stands on both sides", source, hint="give one an alias"
                )
        node = logical.AsofJoin(left[0].node, right[0].node, tuple(keys), within)
        if self.scope.preferred is None:
            self.scope.preferred = left[0].alias
        return [replace(relation, node=node) for relation in (*left, *right)]

    def _shares_alias(self, left: list[Relation], relation: Relation) -> bool:
        return any(other.alias.lower() == relation.alias.lower() for other in left)

    def _refuse(self, node: ast.Expression) -> Expression:
        self.context.fail("this cannot stand in ON", node)


def combine(scope: Scope, select: ast.Select) -> logical.Node:
    """The product of all relations, or STEAM's WINDOW join; an error if they cannot be joined."""
    nodes: list[tuple[logical.Node, Relation]] = []
    for relation in scope.relations:
        if not any(node is relation.node for node, _ in nodes):
            nodes.append((relation.node, relation))
    if select.bounds:
        return _window_join(scope, select)
    context = scope.context
    streams = [(n, r) for n, r in nodes if n.collection is algebra.Collection.STREAM]
    windows = [(n, r) for n, r in nodes if n.collection is algebra.Collection.WINDOWS]
    if streams and (len(streams) > 1 or windows):
        lonely = streams[-1] if len(streams) > 1 else streams[0]
        other = next(
            r.alias for n, r in nodes if n is not lonely[0] and n.collection is not algebra.Collection.TABLE
        )
        context.fail(
            f"'{lonely[1].alias}' has no window, so it cannot be joined with '{other}'",
            lonely[1].place,
            detail="a product of endless streams never ends",
            hint=f"write {lonely[1].alias} [NOW] or {lonely[1].alias} [RANGE 10 MINUTES], or add a WINDOW clause",
        )
    if len(windows) > 1:
        # Windows are joined at the union of their ticks. A table is read as it is at that tick, so it comes
        # last.
        nodes.sort(
            key=lambda each: each[0].collection is algebra.Collection.TABLE and logical.refreshes(each[0])
        )
    node = nodes[0][0]
    for right, _ in nodes[1:]:
        node = logical.Join(node, right, algebra.JoinKind.INNER)
    return node


def _window_join(scope: Scope, select: ast.Select) -> logical.Node:
    context = scope.context
    for relation in scope.relations:
        joined = isinstance(relation.node, logical.AsofJoin)
        if relation.node.collection is not algebra.Collection.STREAM or joined:
            context.fail(
                f"'{relation.alias}' cannot take part in a WINDOW clause",
                relation.place,
                detail="a WINDOW clause joins streams that have no window of their own",
                hint="leave out its [window]"
                if relation.node.collection is algebra.Collection.WINDOWS
                else None,
            )
    if len(scope.relations) < 2:
        context.fail(
            "a WINDOW clause needs at least two streams", select.bounds[0], hint="use [RANGE ...] for one"
        )
    bounds: list[logical.WindowBound] = []
    for bound in select.bounds:
        width = duration(context, bound.width, "a WINDOW", positive=False)
        if bound.left is None or bound.right is None:
            count = len(scope.relations)
            bounds += [logical.WindowBound(i, j, width) for i in range(count) for j in range(i + 1, count)]
            continue
        ends: list[int] = []
        for name in (bound.left, bound.right):
            relation_or_none = scope.relation(name)
            if relation_or_none is None:
                aliases = [relation.alias for relation in scope.relations]
                context.fail(
                    f"no stream '{name}' in FROM",
                    bound,
                    detail=f"FROM has {quoted(aliases)}",
                    hint=nearest(name, aliases),
                )
            ends.append(scope.relations.index(relation_or_none))
        if ends[0] == ends[1]:
            context.fail("a WINDOW is between two different streams", bound)
        bounds.append(logical.WindowBound(min(ends), max(ends), width))
    groups = _groups(len(scope.relations), bounds)
    if len(groups) > 1:
        named = [[scope.relations[port].alias for port in group] for group in groups]
        context.fail(
            f"no WINDOW connects {quoted(named[1])} with {quoted(named[0])}"
            + (f", nor with {', nor with '.join(map(quoted, named[2:]))}" if named[2:] else ""),
            select.bounds[0],
            detail="streams that no window ties together would have to be kept for ever",
            hint="add " + " ".join(f"AND WINDOW({named[0][0]}, {group[0]}) = ..." for group in named[1:]),
        )
    scope.time_is_tick = True
    streams = tuple(relation.node for relation in scope.relations)
    return logical.WindowJoin(streams, tuple(bounds), memory=bind_memory(scope, select))


def _groups(count: int, bounds: list[logical.WindowBound]) -> list[list[int]]:
    """Groups the streams that windows connect, directly or through others; the first stream's group is
    first."""
    group = list(range(count))
    for bound in bounds:
        one, other = group[bound.left], group[bound.right]
        group = [min(one, other) if number in (one, other) else number for number in group]
    return [[port for port in range(count) if group[port] == number] for number in sorted(set(group))]
