"""The value of a path such as `Datastream/Thing/name` for an entity, and paths replaced by their values.

A path through a link to many entities holds if it holds for one of them. The law: all paths of one expression through
the same link mean the same linked entity.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from nilometer.errors import BindError, UnsupportedError
from nilometer.server.problems import NotImplementedYetError
from nilometer.server.sensorthings import expressions as ex
from nilometer.server.sensorthings.evaluate import Look, evaluate
from nilometer.server.sensorthings.functions import as_time
from nilometer.server.sensorthings.kinds import DATASTREAMS, KINDS, OBSERVATIONS, Kind
from nilometer.server.sensorthings.model import Entity, Model
from nilometer.server.sensorthings.names import Id

IDS = ("id", "@iot.id")
PAIRS = 100_000
"""How many combinations of linked entities one expression may try for one entity."""

Prefix = tuple[str, ...]


def check(expression: ex.Expression, kind: Kind, text: str) -> None:
    """Refuse paths that lead nowhere."""
    for path in ex.paths_of(expression):
        at = kind
        for place, part in enumerate(path.parts):
            link = at.link(part)
            if link is not None:
                at = KINDS[link.to]
                if link.many and at is OBSERVATIONS:
                    raise NotImplementedYetError(
                        "a filter through Observations would read all readings",
                        hint="filter Observations, or use $expand=Observations($filter=...)",
                    ).at(text, path.span)
                if place + 1 == len(path.parts):
                    raise BindError(
                        f"'{part}' is a link, not a value", hint=f"name a property of it: {part}/id"
                    ).at(text, path.span)
                continue
            if part in IDS or part in at.properties or part == "@iot.selfLink":
                break
            known = ", ".join((*at.properties, "id", *(link.name for link in at.links)))
            raise BindError(f"{at.singular} has no '{part}'", hint=f"it has {known}").at(text, path.span)


def look_of(model: Model, entity: Entity, bound: Mapping[Prefix, Entity] | None = None) -> Look:
    """Finds the values of paths, for one entity. `bound` are the entities that links to many lead to."""

    def look(parts: tuple[str, ...]) -> Any:
        at: Entity | None = entity
        for place, part in enumerate(parts):
            assert at is not None
            link = at.kind.link(part)
            if link is None:
                return value_of(at, parts[place:])
            if bound is not None and parts[: place + 1] in bound:
                at = bound[parts[: place + 1]]
                continue
            ends = model.link_of(at, part)
            at = model.find(KINDS[link.to], ends[0]) if ends else None
            if at is None:
                return None
        return None

    return look


def value_of(entity: Entity, parts: tuple[str, ...]) -> Any:
    """A property, or a part of it; times as spans."""
    if parts[0] in IDS:
        return entity.id
    value = entity.properties.get(parts[0])
    if parts[0] in entity.kind.times and isinstance(value, str):
        return as_time(value)
    for part in parts[1:]:
        if isinstance(value, list) and part.isdecimal() and int(part) < len(value):
            value = value[int(part)]
        else:
            value = value.get(part) if isinstance(value, dict) else None
    return value


def holds(model: Model, entity: Entity, expression: ex.Expression) -> bool:
    """Whether an expression holds for an entity, for some choice of the entities that its links to many lead to."""
    return _holds(model, entity, expression, _prefixes(entity.kind, expression), {}, [PAIRS])


def _holds(
    model: Model,
    entity: Entity,
    expression: ex.Expression,
    prefixes: list[Prefix],
    bound: dict[Prefix, Entity],
    left: list[int],
) -> bool:
    if not prefixes:
        left[0] -= 1
        if left[0] < 0:
            raise UnsupportedError(
                "the filter has too many combinations of linked entities", hint="filter in steps"
            )
        return evaluate(expression, look_of(model, entity, bound)) is True
    prefix, *rest = prefixes
    at: Entity | None = entity
    for place, part in enumerate(prefix):
        if prefix[: place + 1] in bound:
            at = bound[prefix[: place + 1]]
            continue
        assert at is not None
        link = at.kind.link(part)
        assert link is not None
        ends = model.link_of(at, part)
        if link.many:
            for end in ends:
                found = model.find(KINDS[link.to], end)
                if found is not None and _holds(
                    model, entity, expression, rest, {**bound, prefix: found}, left
                ):
                    return True
            return False
        at = model.find(KINDS[link.to], ends[0]) if ends else None
        if at is None:
            return False
    return False


def _prefixes(kind: Kind, expression: ex.Expression) -> list[Prefix]:
    """The links to many that an expression goes through, the shorter first."""
    found: dict[Prefix, None] = {}
    for path in ex.paths_of(expression):
        at = kind
        for place, part in enumerate(path.parts):
            link = at.link(part)
            if link is None:
                break
            if link.many:
                found[path.parts[: place + 1]] = None
            at = KINDS[link.to]
    return sorted(found, key=len)


def substituted(model: Model, datastream: Id, expression: ex.Expression) -> ex.Expression:
    """The condition on Observations of one Datastream: what depends on the Datastream alone is a constant."""
    found = model.find(DATASTREAMS, datastream)
    if found is None:
        return ex.Literal(False)
    look = look_of(model, found)
    parts = model.column_of(datastream)
    feature = None if parts is None else model.feature_of(parts[0], parts[2])
    feature_entity = None if feature is None else model.find(KINDS["FeaturesOfInterest"], feature)

    def replace(node: ex.Expression) -> ex.Expression:
        match node:
            case ex.Path(parts=("Datastream", *rest)) if not _many(rest):
                return ex.Literal(look(tuple(rest)))
            case ex.Path(parts=("FeatureOfInterest", *rest)) if parts is not None and not _many(rest):
                return ex.Literal(None if feature_entity is None else value_of(feature_entity, tuple(rest)))
            case ex.Call(name=name, arguments=arguments, span=span):
                return _folded(ex.Call(name, tuple(map(replace, arguments)), span))
            case ex.Binary(name=name, left=left, right=right, span=span):
                return _folded(ex.Binary(name, replace(left), replace(right), span))
            case ex.Unary(name=name, operand=operand, span=span):
                return _folded(ex.Unary(name, replace(operand), span))
        return node

    return replace(expression)


def _many(rest: list[str]) -> bool:
    at: Kind | None = DATASTREAMS
    for part in rest:
        link = None if at is None else at.link(part)
        if link is None:
            return False
        if link.many:
            return True
        at = KINDS[link.to]
    return False


def _folded(node: ex.Expression) -> ex.Expression:
    """Constants evaluated. A NULL was a property that is missing, not the word null, so `eq` with it stays unknown."""
    match node:
        case ex.Binary(name="and" | "or" as name, left=left, right=right):
            deciding = name == "or"
            for one, other in ((left, right), (right, left)):
                if isinstance(one, ex.Literal) and isinstance(one.value, bool):
                    return ex.Literal(deciding) if one.value is deciding else other
    if not ex.paths_of(node):
        return ex.Literal(evaluate(node, lambda _: None))
    return node
