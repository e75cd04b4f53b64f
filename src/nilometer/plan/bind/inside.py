"""Binds INSIDE(smoke): whether a reading's sensor was a member at the last evaluation before the reading's tick.

It becomes a join, below the reading's window, with the stream of who came to the phenomenon and who left:

    ASOF_JOIN [KEYS air.id = inside_1.id; BEFORE]        INSIDE(smoke) is inside_1.inside, or else false
        ACQUIRE [air]
        MEMBERSHIP(smoke) AS inside_1

INSIDE(smoke, a.id) names the column with the sensor; without it, it is the id of the one stream in FROM.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from nilometer import algebra
from nilometer.algebra.table_functions import phenomena as words
from nilometer.catalog.extents import Table
from nilometer.expressions import Call, ColumnReference, Expression, Literal
from nilometer.language import ast
from nilometer.plan import logical
from nilometer.plan.bind.scope import Scope, quoted, walk_outside_subqueries
from nilometer.types import BOOLEAN

if TYPE_CHECKING:
    from nilometer.plan.bind.sources import SourceBinder


class InsideCalls:
    """The calls of INSIDE in one SELECT, and the joins that answer them."""

    def __init__(self, binder: SourceBinder, clauses: tuple[ast.Node, ...]) -> None:
        self._binder = binder
        select = binder.select
        self._calls: dict[tuple[str, str], ast.FunctionCall] = {}
        own = (*select.items, select.where, select.having, select.qualify, *select.group_by, *clauses[1:])
        for clause in own:
            for node in walk_outside_subqueries(clause):
                if isinstance(node, ast.FunctionCall) and node.name.lower() == "inside":
                    self._calls.setdefault(_key(binder.scope, node), node)

    def beside(self, alias: str, node: logical.Node, source: ast.Source) -> logical.Node:
        """A stream of FROM, joined with the membership of the phenomena that its INSIDE calls name; with GUIDED BY,
        only the readings of sensors at its phenomenon."""
        scope = self._binder.scope
        for key, call in self._calls.items():
            if key not in scope.inside and self._meant(key[1], call, source):
                name = call.arguments[0]
                assert isinstance(name, ast.Name)
                told = self._told(name.text, call)
                node, scope.inside[key] = self._joined(alias, node, told, key[1].split(".")[-1], call)
        guided = self._binder.select.guided
        if guided is not None and self._meant("id", guided, source):
            node = self._guided(alias, node, guided)
        return node

    def _guided(self, alias: str, node: logical.Node, guided: ast.Guided) -> logical.Node:
        """The readings of sensors at a phenomenon, and REACH steps around; as many as its GUIDE says, or one."""
        context, reach = self._binder.context, 1
        own = self._told(guided.phenomenon, guided).call[words.GUIDE.word]
        if guided.reach is not None:
            assert isinstance(guided.reach.count, int)
            reach = guided.reach.count
        elif isinstance(own, tuple):
            assert isinstance(own[3], int)
            reach = own[3]
        told = self._told(guided.phenomenon, guided, reach)
        streams = [each.stream for each in logical.walk_plan(told) if isinstance(each, logical.Acquire)]
        below = node.input if isinstance(node, logical.Sample) else node
        if not isinstance(below, logical.Acquire) or below.stream.name != streams[0].name:
            context.fail(
                f"GUIDED BY {guided.phenomenon} reads '{streams[0].name}', and '{alias}' is something else",
                guided,
                hint=f"INSIDE({guided.phenomenon}) chooses rows of other streams by their sensors",
            )
        node, condition = self._joined(alias, node, told, "id", guided)
        self._binder.scope.guided = alias, told
        return logical.Select(node, condition)

    def _meant(self, column: str, call: ast.FunctionCall | ast.Guided, source: ast.Source) -> bool:
        """Whether a call, or GUIDED BY, looks at the readings of this source."""
        if "." in column:
            return column.split(".")[0] == _alias_of(source).lower()
        streams = [each for each in _leaves(self._binder.select.sources) if not self._is_table(each)]
        if len(streams) > 1:
            names = [_alias_of(each) for each in streams]
            if isinstance(call, ast.Guided):
                self._binder.context.fail(
                    f"GUIDED BY reads one stream, and FROM has {quoted(names)}",
                    call,
                    hint="put the stream with its GUIDED BY into a subquery in FROM",
                )
            self._binder.context.fail(
                f"whose readings are to be INSIDE? FROM has {quoted(names)}",
                call,
                hint=f"name the column with the sensor: INSIDE(..., {names[0]}.id)",
            )
        return source in streams

    def _is_table(self, source: ast.Source) -> bool:
        if not isinstance(source, ast.ExtentSource):
            return False
        return isinstance(self._binder.context.catalog.extent(source.name), Table)

    def _told(self, name: str, place: ast.Node, hops: int = 0) -> logical.TableFunction:
        """The stream of who came to a phenomenon and who left."""
        setting = ast.Setting(words.HOPS.word, (ast.Amount(hops, span=place.span),), span=place.span)
        function = ast.FunctionSource(
            "MEMBERSHIP",
            ast.ExtentSource(name, span=place.span),
            settings=(setting,) if hops else (),
            alias=self._binder.context.fresh("inside"),
            span=place.span,
        )
        told = self._binder.of_phenomenon(function).node
        assert isinstance(told, logical.TableFunction)
        return told

    def _joined(
        self, alias: str, node: logical.Node, told: logical.TableFunction, column: str, place: ast.Node
    ) -> tuple[logical.Node, Expression]:
        """The stream beside that of who came and who left, and the condition that a reading's sensor is there."""
        context = self._binder.context
        if node.collection is not algebra.Collection.STREAM:
            kind = "a stored table" if node.collection is algebra.Collection.TABLE else "windowed"
            context.fail(f"INSIDE looks at the readings of a stream, and '{alias}' is {kind}", place)
        own = next((c for c in node.schema if c.name.lower() == f"{alias}.{column}".lower()), None)
        if own is None:
            context.fail(
                f"'{alias}' has no column '{column}' that names a sensor",
                place,
                hint=f"write the column: INSIDE({told.call['NAMED']}, {alias}.station)",
            )
        if own.type.plain != told.call.id_type.plain:
            context.fail(
                f"'{told.call['NAMED']}' is of sensors with ids of type {told.call.id_type}, and '{column}' is "
                f"{own.type}",
                place,
                hint=f"name a column with the id of a sensor: INSIDE({told.call['NAMED']}, {alias}.station)",
            )
        there, inside = (f"{told.call.alias}.{name}" for name in ("id", "inside"))
        keys = ((ColumnReference(own.name, own.type.plain), ColumnReference(there, own.type.plain)),)
        condition = Call("coalesce", (ColumnReference(inside, BOOLEAN), Literal(False, BOOLEAN)), BOOLEAN)
        return logical.AsofJoin(node, told, keys, None, before=True), condition


def inside_of(scope: Scope, node: ast.FunctionCall) -> Expression:
    """The condition that a call of INSIDE means here."""
    found = scope.inside.get(_key(scope, node))
    if found is None:
        scope.context.fail(
            "INSIDE() cannot stand here",
            node,
            hint="it looks at readings of a stream: put it into WHERE of the query that reads the stream",
        )
    return found


def _key(scope: Scope, node: ast.FunctionCall) -> tuple[str, str]:
    """The phenomenon and the column of the sensor, in lower case."""
    names = [each for each in node.arguments if isinstance(each, ast.Name)]
    if not 1 <= len(node.arguments) <= 2 or len(names) < len(node.arguments) or len(names[0].parts) > 1:
        scope.context.fail("INSIDE takes the name of a phenomenon", node, hint="such as INSIDE(smoke)")
    return names[0].text.lower(), names[1].text.lower() if len(names) > 1 else "id"


def _leaves(sources: tuple[ast.Source, ...]) -> Iterator[ast.Source]:
    for source in sources:
        match source:
            case ast.AsofSource(left=left, right=right) | ast.JoinSource(left=left, right=right):
                yield from _leaves((left, right))
            case ast.GroupWindowSource(source=inner):
                yield from _leaves((inner,))
            case ast.FunctionSource() | ast.UnnestSource():
                pass
            case _:
                yield source


def _alias_of(source: ast.Source) -> str:
    return getattr(source, "alias", None) or getattr(source, "name", "") or ""
