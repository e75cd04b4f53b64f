"""Resolves names: the relations of FROM, their columns, the outer query and the parameters."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import count
from typing import Any, NoReturn, Protocol

from nilometer.catalog.catalog import FunctionDefinition, PhenomenonDefinition, ViewDefinition
from nilometer.catalog.extents import Extent, Sensor
from nilometer.catalog.json_path import is_path
from nilometer.errors import NOWHERE, BindError, Span
from nilometer.expressions import ColumnReference, Expression
from nilometer.language import ast
from nilometer.language.walk import children
from nilometer.plan import logical
from nilometer.types import Column


class CatalogView(Protocol):
    """The part of the catalog that the binder reads."""

    def extent(self, name: str) -> Extent | None:
        """The extent of that name; case does not matter."""

    def extents(self) -> tuple[Extent, ...]:
        """All extents."""

    def sensors(self, stream_name: str) -> tuple[Sensor, ...]:
        """The declared sensors of a stream."""

    def static_columns(self, stream_name: str) -> tuple[Column, ...]:
        """Location and static attributes of the stream's sensors."""

    def view(self, name: str) -> ViewDefinition | None:
        """The view of that name; case does not matter."""

    def views(self) -> tuple[ViewDefinition, ...]:
        """All views."""

    def phenomenon(self, name: str) -> PhenomenonDefinition | None:
        """The phenomenon of that name; case does not matter."""

    def phenomena(self) -> tuple[PhenomenonDefinition, ...]:
        """All phenomena."""

    def function(self, name: str) -> FunctionDefinition | None:
        """The declared function of that name; case does not matter."""

    def functions(self) -> tuple[FunctionDefinition, ...]:
        """All declared functions."""


NamedQueries = Mapping[str, object]
"""Named queries (named.py) by their lower-case names."""


@dataclass(frozen=True)
class Context:
    """The values that stay the same while one query is bound. `named` are the queries of WITH that it sees, `views`
    the views that it has read so far."""

    catalog: CatalogView
    parameters: Mapping[str, Any]
    text: str | None
    at_hand: frozenset[str] = frozenset()
    """The streams, in lower case, whose data is all there: without a window they are finite tables."""
    numbers: Iterator[int] = field(default_factory=lambda: count(1))
    named: NamedQueries = field(default_factory=dict)
    views: dict[str, object] = field(default_factory=dict)
    units: dict[Expression, str] = field(default_factory=dict)
    """The units of values that `convert` has made."""

    def fresh(self, stem: str) -> str:
        """A name for a column that the binder adds; it cannot clash, for the query's own columns are
        qualified."""
        return f"{stem}_{next(self.numbers)}"

    def fail(
        self, message: str, node: ast.Node | None, *, detail: str | None = None, hint: str | None = None
    ) -> NoReturn:
        """Raise a BindError that points at the node."""
        span: Span = NOWHERE if node is None else node.span
        raise BindError(message, detail=detail, hint=hint).at(self.text, span)

    def parameter(self, name: str) -> tuple[bool, Any]:
        """Whether the parameter exists, and its value; case does not matter."""
        for key, value in self.parameters.items():
            if key.lower() == name.lower():
                return True, value
        return False, None


@dataclass
class Relation:
    """One entry of FROM: its alias, the plan below it, and the columns that `*` shows; others must be
    named. `fields` are the names that columns have in the data (`ts` for `time`), in lower case: a query may use
    them, too."""

    alias: str
    node: logical.Node
    visible: tuple[str, ...]
    place: ast.Node
    generated: bool = False
    fields: Mapping[str, str] = field(default_factory=dict)

    def columns(self) -> list[tuple[str, Column]]:
        """(bare name, column) of the columns under its own alias: both sides of an ASOF join share one
        node."""
        prefix = self.alias + "."
        return [(c.name[len(prefix) :], c) for c in self.node.schema if c.name.startswith(prefix)]

    def find(self, name: str) -> Column | None:
        """The column of that bare name; case does not matter."""
        columns = {bare.lower(): column for bare, column in self.columns()}
        return columns.get(name.lower()) or columns.get(self.fields.get(name.lower(), ""))


def fields_of(extent: Extent) -> dict[str, str]:
    """The fields of an extent's data that have other names than their columns -> the columns, in lower case."""
    return {origin.lower(): name.lower() for name, origin in extent.form.origins if not is_path(origin)}


@dataclass
class Scope:
    """The relations of one SELECT, and the scope of the surrounding query.

    `time_is_tick` is set for a WINDOW join, where a bare `time` is the latest member's time. `preferred` is
    the left side of an ASOF join: a bare `time` or `id` means its column. `conditions` are those of ON and
    USING of inner joins, which WHERE could have, too. `merged` gives the column that a bare name means
    because USING made two columns one; `hidden` are the columns that `*` shows as that one.
    """

    context: Context
    relations: list[Relation] = field(default_factory=list)
    outer: Scope | None = None
    time_is_tick: bool = False
    preferred: str | None = None
    conditions: list[Expression] = field(default_factory=list)
    merged: dict[str, Column] = field(default_factory=dict)
    hidden: dict[str, str] = field(default_factory=dict)
    places: dict[str, ast.Node] = field(default_factory=dict)
    inside: dict[tuple[str, str], Expression] = field(default_factory=dict)
    """For INSIDE(phenomenon, column), in lower case, the condition that it means."""
    answered: frozenset[str] = frozenset()
    """The aliases of the select list, in lower case: they name columns of the answer, which FROM and WHERE do not see."""
    guided: tuple[str, logical.TableFunction] | None = None
    """The alias of the readings that GUIDED BY is about, and who is read."""

    def relation(self, alias: str) -> Relation | None:
        """The relation of that alias; case does not matter."""
        return next((r for r in self.relations if r.alias.lower() == alias.lower()), None)

    def resolve(self, name: ast.Name) -> ColumnReference | None:
        """The column that a name means here. None if there is no such column; an error if several fit."""
        column = self._resolve_qualified(name) if len(name.parts) > 1 else self._resolve_bare(name)
        if column is None:
            return None
        reference = ColumnReference(column.name, column.type.plain)
        self.places.setdefault(column.name, name)
        return reference

    def _resolve_qualified(self, name: ast.Name) -> Column | None:
        # In a three-part name (STEAM section 4: S.SensorValue.temperature) the middle part is the
        # stream-typed attribute.
        relation = self.relation(name.parts[0])
        if relation is None:
            return None
        column = relation.find(name.parts[-1])
        if column is None:
            known = [bare for bare, _ in relation.columns()]
            self.context.fail(
                f"no column '{name.parts[-1]}' in '{relation.alias}'",
                name,
                detail=f"'{relation.alias}' has {quoted(known)}",
                hint=nearest(name.parts[-1], known),
            )
        return column

    def _resolve_bare(self, name: ast.Name) -> Column | None:
        if name.parts[0].lower() in self.merged:
            return self.merged[name.parts[0].lower()]
        found = [(r, c) for r in self.relations if (c := r.find(name.parts[0])) is not None]
        if found and not any(self._is_column(r, name.parts[0]) for r, _ in found):
            if self.context.parameter(name.parts[0])[0]:
                return None  # a parameter wins over the name of a field
        elif len(found) > 1:
            found = [(r, c) for r, c in found if self._is_column(r, name.parts[0])]
        if len(found) > 1 and self.preferred is not None and name.parts[0].lower() in ("time", "id"):
            found = [(r, c) for r, c in found if r.alias == self.preferred] or found
        if len(found) > 1:
            choices = [f"{relation.alias}.{name.parts[0]}" for relation, _ in found]
            self.context.fail(
                f"'{name.parts[0]}' could be any of {quoted(choices)}",
                name,
                hint=f"write {choices[0]} or {choices[1]}",
            )
        return found[0][1] if found else None

    def _is_column(self, relation: Relation, name: str) -> bool:
        """Whether the relation has a column of that name, and not only a field of the data."""
        return any(bare.lower() == name.lower() for bare, _ in relation.columns())

    def starred(self) -> list[str]:
        """The columns of `*`: of each relation those it shows, the columns that USING has merged once and
        first."""
        shown: list[str] = []
        for relation in self.relations:
            merged = [self.merged[self.hidden[name]].name for name in relation.visible if name in self.hidden]
            rest = [name for name in relation.visible if name not in self.hidden]
            shown += [name for name in (*merged, *rest) if name not in shown]
        return shown

    def known_names(self) -> list[str]:
        """All names that are valid here, for hints."""
        names: list[str] = []
        for relation in self.relations:
            names.append(relation.alias)
            for bare, _ in relation.columns():
                names += [bare, f"{relation.alias}.{bare}"]
        return names + list(self.context.parameters)


@dataclass(frozen=True)
class Bound:
    """A bound query: its plan without Deliver, and whether its rows come from windows and so have a tick. `fields`
    are the names that the columns of its `*` have in the data."""

    node: logical.Node
    windowed: bool
    fields: Mapping[str, str] = field(default_factory=dict)


def quoted(names: list[str] | tuple[str, ...], limit: int = 12) -> str:
    """'a', 'b', 'c' and 4 more."""
    shown = ", ".join(f"'{name}'" for name in names[:limit])
    return shown + (f" and {len(names) - limit} more" if len(names) > limit else "")


def nearest(name: str, known: list[str] | tuple[str, ...]) -> str | None:
    """A hint that names the closest known name."""
    by_lower = {candidate.lower(): candidate for candidate in known}
    close = difflib.get_close_matches(name.lower(), list(by_lower), n=1, cutoff=0.6)
    return f"did you mean '{by_lower[close[0]]}'?" if close else None


def walk_outside_subqueries(node: ast.Node | None) -> Iterator[ast.Node]:
    """Every syntax node of an expression, parents first, without descending into subqueries."""
    if node is None or isinstance(node, ast.QueryNode):
        return
    yield node
    for child in children(node):
        yield from walk_outside_subqueries(child)
