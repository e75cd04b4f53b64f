"""Binds FROM to relations: extents, subqueries, ASOF joins and table functions, each with its window."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from nilometer import algebra
from nilometer.algebra.table_functions import LATEST, TABLE_FUNCTIONS
from nilometer.algebra.table_functions.phenomena import BY
from nilometer.catalog import functions
from nilometer.catalog.extents import Table
from nilometer.expressions import Call, ColumnReference, Expression, columns_of, conjuncts
from nilometer.language import ast, parse
from nilometer.language.walk import walk
from nilometer.plan import logical
from nilometer.plan.bind.expressions import ExpressionBinder
from nilometer.plan.bind.group_windows import check_time, group_window
from nilometer.plan.bind.inside import InsideCalls
from nilometer.plan.bind.joins import bind_join, one_node
from nilometer.plan.bind.named import NamedQuery, find_named, named_columns
from nilometer.plan.bind.phenomena import bind_phenomena
from nilometer.plan.bind.scope import (
    Bound,
    Context,
    Relation,
    Scope,
    fields_of,
    nearest,
    quoted,
    walk_outside_subqueries,
)
from nilometer.plan.bind.table_functions import bind_call, expected_interval, names_of_windows
from nilometer.plan.bind.unnest_source import unnest_source
from nilometer.plan.bind.whole import can_be_whole, is_whole
from nilometer.plan.bind.windows import check_rescan, duration, window_over
from nilometer.plan.event_time import is_event_time
from nilometer.types import BOOLEAN

BindQuery = Callable[[Context, ast.QueryNode, Scope | None], Bound]
"""Binds a subquery in FROM; passed as an argument, because queries and their sources contain each other."""


class SourceBinder:
    """Binds the FROM clause of one SELECT into a scope."""

    def __init__(
        self, select: ast.Select, scope: Scope, bind_query: BindQuery, ordered: Sequence[ast.Node] = ()
    ) -> None:
        self.select = select
        self.scope = scope
        self.context = scope.context
        self.bind_query = bind_query
        # A stream's static attributes are columns too (STEAM section 3.3); only those the query names are
        # looked up.
        self.named = {
            node.parts[-1].lower()
            for clause in (select, *ordered)
            for node in walk(clause)
            if isinstance(node, ast.Name)
        }
        self.named |= set(names_of_windows(select))
        self.windows = self._windows_of_aggregates()
        self.sample = None if select.sample is None else duration(self.context, select.sample, "SAMPLE EVERY")
        self.inside = InsideCalls(self, (select, *ordered))
        self.last_extent: ast.ExtentSource | None = None

    def bind(self) -> None:
        """Fill the scope's relations, in the order of FROM."""
        for source in self.select.sources:
            if isinstance(source, ast.UnnestSource):
                self.scope.relations[:] = unnest_source(self, source, self.scope.relations)
                continue
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
            case ast.GroupWindowSource():
                return [group_window(self, source)]
            case ast.AsofSource():
                return self._asof(source)
            case ast.JoinSource():
                return bind_join(self, source)
            case ast.UnnestSource():
                self.context.fail(
                    "UNNEST takes a list of a source before it in FROM",
                    source,
                    hint="write FROM q, UNNEST(q.members) AS member",
                )
            case _:
                raise AssertionError(source)

    # ---- extents -----------------------------------------------------------------------------------------------------

    def _extent(self, source: ast.ExtentSource, *, sampled: bool = True) -> Relation:
        named = find_named(self.context, source.name)
        if named is not None:
            return self._named(source, named)
        extent = self.context.catalog.extent(source.name)
        alias = source.alias or source.name
        if extent is None and self.last_extent is not None and source.alias is None:
            # FROM SensorTables A, B, C (STEAM section 6.2): B and C are further aliases of the extent before
            # them.
            source = replace(source, name=self.last_extent.name, alias=source.name)
            return self._extent(source, sampled=sampled)
        if extent is None:
            known = [entry.name for entry in self.context.catalog.extents()]
            known += [entry.name for entry in self.context.catalog.views()]
            self.context.fail(
                f"no stream or table '{source.name}'",
                source,
                detail=f"declared are {quoted(known)}" if known else "nothing has been declared yet",
                hint=nearest(source.name, known) or "declare it with CREATE STREAM or CREATE TABLE",
            )
        if source.alias is not None:
            self.last_extent = source
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
        node = self.inside.beside(alias, node, source)
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
        return Relation(alias, node, visible, source, fields=fields_of(extent))

    def _named(self, source: ast.ExtentSource, named: NamedQuery) -> Relation:
        """A query of WITH, or a view, under its name or an alias, perhaps with a window."""
        alias = source.alias or source.name
        bound = named.bound(lambda context, query: self.bind_query(context, query, None))
        node: logical.Node = logical.Rename(bound.node, alias)
        if self.sample is not None and node.collection is algebra.Collection.STREAM:
            node = logical.Sample(node, self.sample)
        shown = node.schema.names
        node = self.inside.beside(alias, node, source)
        node = self._windowed(source.window or self.windows.get(alias.lower()), node)
        return Relation(alias, node, shown, source)

    def _table(self, table: Table, alias: str, source: ast.ExtentSource) -> Relation:
        if isinstance(source.window, ast.RescanWindow):
            check_rescan(self.context, source.window, table)
        elif source.window is not None:
            self.context.fail(
                f"'{table.name}' is a stored table and has no window",
                source.window,
                hint="leave the window out: a table is joined as it is",
            )
        node = logical.Stored(table, alias, table.columns)
        return Relation(alias, node, node.schema.names, source, fields=fields_of(table))

    def _windows_of_aggregates(self) -> dict[str, ast.Window]:
        """AVG(s.speed, w) sets the window of s to RANGE w (Fjords section 4.1)."""
        found: dict[str, ast.Window] = {}
        clauses = (*(item.expression for item in self.select.items), self.select.having)
        for node in (node for clause in clauses for node in walk_outside_subqueries(clause)):
            if not isinstance(node, ast.FunctionCall) or len(node.arguments) != 2:
                continue
            signature = functions.resolve(node.name)
            if signature is None or signature.kind != "aggregate" or signature.most > 1:
                continue
            if node.distinct and isinstance(node.arguments[1], ast.Name):
                self.context.fail(
                    f"{node.name.upper()}(DISTINCT ...) takes one value",
                    node.arguments[1],
                    hint="make one of both: COUNT(DISTINCT a || '/' || b)",
                )
            if node.name.upper() in ("FIRST", "LAST") and _is_time_name(node.arguments[1]):
                self.context.fail(
                    f"{node.name.upper()} goes by time already, and takes one value",
                    node.arguments[1],
                    hint=f"write {node.name.upper()}(x), or {node.name.upper()}(x ORDER BY y)",
                )
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
        columns = named_columns(self.context, bound.node, source.columns, source)
        node: logical.Node = logical.Rename(columns, alias)
        if self.sample is not None and node.collection is algebra.Collection.STREAM:
            node = logical.Sample(node, self.sample)
        shown = node.schema.names
        node = self.inside.beside(alias, node, source)
        node = self._windowed(source.window, node)
        fields = {} if source.columns else bound.fields
        return Relation(alias, node, shown, source, generated=source.alias is None, fields=fields)

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
                if is_whole(node):
                    self.context.fail(
                        "a window over rows that come once, at the end of the data",
                        window,
                        hint="leave this window out, or give the streams inside a window",
                    )
                return window_over(self.context, window, node)

    # ---- stream operators --------------------------------------------------------------------------------------------

    def _stream(self, source: ast.Source, what: str) -> Relation:
        """A source that must be one unwindowed stream."""
        relation = self._extent(source) if isinstance(source, ast.ExtentSource) else self.relations(source)[0]
        if relation.node.collection is not algebra.Collection.STREAM:
            kind = "a stored table" if relation.node.collection is algebra.Collection.TABLE else "windowed"
            self.context.fail(f"{what} takes a stream, and '{relation.alias}' is {kind}", source)
        return relation

    def of_phenomenon(self, source: ast.FunctionSource, *, sampled: bool = False) -> Relation:
        """A function of a phenomenon. Where the query samples, it samples the function's rows, not the readings."""

        def extent(context: Context, extent: ast.ExtentSource, named: set[str]) -> Relation:
            query = ast.Select((ast.SelectItem(ast.Star()),), (extent,), span=source.span)
            binder = SourceBinder(query, Scope(context), self.bind_query)
            binder.named |= named
            return binder._extent(extent)

        call, inner = bind_phenomena(self.context, source, extent)
        beside = call[BY]
        table: logical.Node | None = None
        if isinstance(beside, str):
            stored = self.context.catalog.extent(beside)
            assert isinstance(stored, Table)
            table = logical.Stored(stored, stored.name, stored.columns)
        found: logical.Node = logical.TableFunction(inner.node, call, table)
        if sampled and self.sample is not None:
            if source.name not in ("PHENOMENA", "MEMBERSHIP"):
                self.context.fail(
                    f"SAMPLE EVERY keeps one row of each phenomenon, and {source.name} gives several at a time",
                    source,
                    hint="choose rows in WHERE",
                )
            found = logical.Sample(found, self.sample)
        node = self._windowed(source.window, found)
        return Relation(call.alias, node, node.schema.names, source)

    def _function(self, source: ast.FunctionSource) -> Relation:
        if TABLE_FUNCTIONS[source.name].defined is not None:
            return self.of_phenomenon(source, sampled=True)
        inner = self._stream(source.source, source.name)
        if source.time is not None:
            check_time(self.context, inner, source.time)
        if source.name == LATEST.name and source.window is None and expected_interval(inner) is None:
            at_the_end = self._latest_of_all(source, inner)
            if at_the_end is not None:
                return at_the_end
        call = bind_call(self.context, source, inner)
        node: logical.Node = logical.TableFunction(inner.node, call)
        if not call.function.needs_window:
            window = source.window
            if call.function.windowed and window is None:
                window = ast.NowWindow(span=source.span)
            node = self._windowed(window, node)
        return Relation(call.alias, node, node.schema.names, source, fields=inner.fields)

    def _latest_of_all(self, source: ast.FunctionSource, inner: Relation) -> Relation | None:
        """The last tuple of each sensor of a stream whose data is at hand, once, at its end. Of several at one time, the
        first by its columns."""
        if not can_be_whole(self.context, inner.node):
            return None
        query = parse("SELECT * FROM s QUALIFY ROW_NUMBER() OVER (PARTITION BY id ORDER BY time DESC) = 1")
        assert isinstance(query, ast.Select)
        names = (*(ast.Name((name,), span=source.span) for name in ("time", "id")), *source.columns)
        items = tuple(ast.SelectItem(name, span=source.span) for name in names)
        query = replace(query, sources=(source.source,), items=items if source.columns else query.items)
        alias = source.alias or source.name.lower()
        relation = self._subquery(ast.QuerySource(query, alias=alias, span=source.span))
        return replace(relation, fields=inner.fields)

    def _asof(self, source: ast.AsofSource) -> list[Relation]:
        left = one_node(self, source.left)
        right = one_node(self, source.right)
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
        binder = ExpressionBinder(both, self.refuse_in_on, "ON compares columns of the two streams")
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
            if _is_asof_order(part, left[0].node, right[0].node):
                continue  # DuckDB's and Snowflake's spelling of what ASOF means here
            self.context.fail(
                "ON of an ASOF JOIN takes equalities between the two streams, joined by AND",
                source.condition,
                detail=f"found {part}",
                hint="put any other condition into WHERE; a.time >= b.time may be written, too",
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
        if source.inner:
            self.scope.conditions.append(self._has_match(right[0]))
        if self.scope.preferred is None:
            self.scope.preferred = left[0].alias
        return [replace(relation, node=node) for relation in (*left, *right)]

    def _has_match(self, right: Relation) -> Expression:
        """Whether an ASOF join has found a tuple: its time is not NULL."""
        time = right.find("time")
        if time is None:
            self.context.fail(
                f"ASOF INNER JOIN needs a column 'time' in '{right.alias}'",
                right.place,
                hint="select it in the subquery, or use ASOF JOIN and filter in WHERE",
            )
        missing = Call("is_null", (ColumnReference(time.name, time.type.plain),), BOOLEAN)
        return Call("not", (missing,), BOOLEAN)

    def _shares_alias(self, left: list[Relation], relation: Relation) -> bool:
        return any(other.alias.lower() == relation.alias.lower() for other in left)

    def refuse_in_on(self, node: ast.Expression) -> Expression:
        """Refuses subqueries and functions over earlier tuples."""
        self.context.fail(
            "this cannot stand in ON", node, hint="put it into WHERE, or into a subquery in FROM"
        )


def _is_asof_order(condition: Expression, left: logical.Node, right: logical.Node) -> bool:
    """Whether it says that the right tuple is not later than the left one: `a.time >= b.time`."""
    match condition:
        case Call(">=", (one, other)) | Call("<=", (other, one)):
            return is_event_time(left, one) and is_event_time(right, other)
        case _:
            return False


def _is_time_name(node: ast.Expression) -> bool:
    return isinstance(node, ast.Name) and node.parts[-1].lower() in ("time", "ts", "timestamp")
