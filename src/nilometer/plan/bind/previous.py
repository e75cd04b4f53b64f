"""Binds LAG, DELTA and RATE over windowed results: they look at the rows of the same group at earlier evaluations.

    SELECT id, AVG(v), DELTA(AVG(v)) FROM s [RANGE 1 HOUR SLIDE 1 HOUR] GROUP BY id
    SELECT id, mean, DELTA(mean) FROM (SELECT id, AVG(v) AS mean FROM s [...] GROUP BY id) q

The rows become a stream at the ticks of their evaluations (RSTREAM), and the calls are calls with OVER
(PARTITION BY the keys ORDER BY tick).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from nilometer import algebra
from nilometer.algebra import SortKey
from nilometer.algebra.table_functions.session import SESSION, bare
from nilometer.expressions import ColumnReference, Expression, Now, type_of
from nilometer.language import ast
from nilometer.plan import logical
from nilometer.plan.bind.group_windows import of_window
from nilometer.plan.bind.over import OverCalls, Window
from nilometer.plan.event_time import WindowTime
from nilometer.types import Schema

if TYPE_CHECKING:
    pass


class PreviousCalls(OverCalls):
    """The calls of LAG, DELTA and RATE over the windowed results of one SELECT, and those with OVER whose order is
    that of the evaluations. `shows_tick`: a call without OVER is among them, so the rows show their tick."""

    shows_tick = False

    def of_groups(self, node: ast.FunctionCall) -> Expression:
        """A call beside GROUP BY: its groups are those of the query."""
        keys = [
            ColumnReference(key.name, type_of(key.expression).plain)
            for key in self._query.keys
            if not of_window(key.expression)
        ]
        return self._bind(node, tuple(keys))

    def of_subquery(self, node: ast.FunctionCall) -> Expression:
        """A call over a subquery with aggregates: its groups are those of the subquery."""
        name = node.name.upper()
        keys = _visible_keys(self._query.node)
        if keys is None:
            self._context.fail(
                f"{name}() is for streams without windows",
                node,
                hint="compute it in a subquery in FROM, and give that a window",
            )
        missing = [hidden for hidden, shown in keys if shown is None]
        if missing:
            self._context.fail(
                f"{name}() goes by group, and the subquery does not select the key {missing[0]}",
                node,
                hint="add it to the select list of the subquery",
            )
        return self._bind(node, tuple(shown for _, shown in keys if shown is not None))

    def of_order(self, node: ast.Over, window: Window) -> Expression:
        """A call with OVER whose ORDER BY is the time of the evaluations: `ORDER BY window_start`."""
        partition, order = window
        kind = self._window_time(order[0].expression)
        if kind is WindowTime.ANOTHER or (kind is WindowTime.SESSION and not self._by_session_key(partition)):
            self._context.fail(
                "window_start is not the order in which these windows end",
                node.order[0],
                hint="ORDER BY window_end"
                + ("" if kind is WindowTime.ANOTHER else ", or PARTITION BY the key of the sessions"),
            )
        if len(order) > 1 or order[0].descending or order[0].nulls_first:
            self._context.fail(
                "OVER the rows of several windows goes forward in time, and by nothing else",
                node.order[1 if len(order) > 1 else 0],
                hint="write ORDER BY window_end alone; for another order within each window, leave window_start and"
                " window_end out of ORDER BY",
            )
        return self._bind_over(node, partition)

    def _by_session_key(self, partition: tuple[Expression, ...]) -> bool:
        """Whether the keys of the sessions are among those of PARTITION BY: then the sessions of a partition begin
        in the order in which they end."""
        named = {bare(part.name).lower() for part in partition if isinstance(part, ColumnReference)}
        calls = [
            node.call
            for node in logical.walk_plan(self._query.node)
            if isinstance(node, logical.TableFunction) and node.call.function is SESSION
        ]
        return all(named >= {bare(name).lower() for name in call.columns or ("id",)} for call in calls)

    @property
    def _over_stream(self) -> bool:
        return True

    def _bind(self, node: ast.FunctionCall, keys: tuple[Expression, ...]) -> Expression:
        self.shows_tick = True
        return self._bind_over(ast.Over(node.name, node.arguments, node.distinct, span=node.span), keys)

    def _bind_over(self, node: ast.Over, keys: tuple[Expression, ...]) -> Expression:
        query = self._query
        if query.select.stream in ("ISTREAM", "DSTREAM"):
            self._context.fail(
                f"{node.name.upper()}() needs all rows of each evaluation, and {query.select.stream} has some",
                node,
                hint=f"leave {query.select.stream} out",
            )
        binder = query.binder(None, query._special_inside_over)
        return self.bind_in(node, (keys, (SortKey(Now()),)), binder)

    def over(self, node: logical.Node) -> logical.Node:
        """The rows as a stream, with the columns of all calls; the node itself if there are none."""
        if not self:
            return node
        return super().over(logical.ToStream(node, algebra.Relation.RSTREAM))

    def by_evaluation(self, stream: logical.Node) -> logical.Node:
        """The rows of the stream as evaluations again, for ORDER BY."""
        return logical.TimeWindow(stream, 0, 0, None, False)


Key = tuple[str, ColumnReference | None]
"""A grouping key and the column of the subquery that shows it."""


def _visible_keys(node: logical.Node) -> list[Key] | None:
    """The keys of the aggregate whose rows these are, as columns of the node; None if there is no such aggregate."""
    match node:
        case logical.Aggregate(keys=keys):
            return [
                (key.name, _column(node.schema, key.name)) for key in keys if not of_window(key.expression)
            ]
        case logical.Fill(method="LINEAR"):
            return None
        case logical.Select() | logical.Analytic() | logical.Sort() | logical.Fill():
            return _visible_keys(node.input)
        case logical.Rename():
            below = _visible_keys(node.input)
            names = dict(zip(node.input.schema.names, node.schema.names, strict=True))
            if below is None:
                return None
            return [(key, shown and _column(node.schema, names[shown.name])) for key, shown in below]
        case logical.Project(items=items):
            below = _visible_keys(node.input)
            if below is None:
                return None
            return [
                (
                    key,
                    next(
                        (_column(node.schema, item.name) for item in items if item.expression == shown), None
                    ),
                )
                for key, shown in below
            ]
        case _:
            return None


def _column(schema: Schema, name: str) -> ColumnReference:
    return ColumnReference(name, schema[name].type.plain)
