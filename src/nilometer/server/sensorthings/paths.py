"""Resource paths: `Things(1)/Datastreams('air:pm25:a1')/Observations`, properties, `$value`, `$ref`.

>>> divided("Things('it''s/1')/name/$value")
[Segment(name='Things', key="it's/1"), Segment(name='name', key=None), Segment(name='$value', key=None)]
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from nilometer.errors import ConfigurationError
from nilometer.server.problems import NotFoundError
from nilometer.server.sensorthings.kinds import KINDS, OBSERVATIONS, Kind
from nilometer.server.sensorthings.model import Entity, Model
from nilometer.server.sensorthings.names import Id, literal
from nilometer.server.sensorthings.observation import datastream_of, place_of
from nilometer.server.sensorthings.observations import Reader
from nilometer.server.sensorthings.segments import Order
from nilometer.server.sensorthings.selection import Selection

_SEGMENT = re.compile(r"(?P<name>[^()/']+)(?:\((?P<key>-?\d+|'(?:[^']|'')*')\))?(?:/|$)")
DEEPEST = 20
"""The most segments of a path."""


@dataclass(frozen=True)
class Segment:
    """A name, perhaps with an id."""

    name: str
    key: Id | None


@dataclass(frozen=True)
class Target:
    """What a path means: an entity, or a set (`ids`, or a `selection` of observations); of an entity perhaps a
    property, `raw` as it is. `ref`: only the links. `parent` and `link` are where the set was come to."""

    kind: Kind
    path: str
    entity: Entity | None = None
    ids: Sequence[Id] | None = None
    selection: Selection | None = None
    property: tuple[str, ...] = ()
    raw: bool = False
    ref: bool = False
    parent: Entity | None = None
    link: str | None = None


def divided(path: str) -> list[Segment]:
    """The segments of a path."""
    found = []
    at = 0
    while at < len(path):
        match = _SEGMENT.match(path, at)
        if match is None:
            raise NotFoundError(
                f"'{path[at : at + 60]}' is no part of a path", hint="write Things(1) or Things('air:a1')"
            )
        key = match["key"]
        if key is not None and len(key) > 18 and not key.startswith("'"):
            raise NotFoundError("there is no such id")
        identity: Id | None = None
        if key is not None:
            identity = key[1:-1].replace("''", "'") if key.startswith("'") else int(key)
        found.append(Segment(match["name"], identity))
        at = match.end()
        if len(found) > DEEPEST:
            raise ConfigurationError(f"a path has at most {DEEPEST} parts")
    return found


def find(model: Model, reader: Reader, kind: Kind, identity: Id) -> Entity | None:
    """An entity, also an Observation."""
    if kind is not OBSERVATIONS:
        return model.find(kind, identity)
    place = place_of(model, identity)
    if place is None:
        return None
    part, position = place
    rows = reader.rows(part, None, Order(), 1, start=position)
    return reader.entity(rows[0]) if rows and rows[0].position == position else None


def resolve(model: Model, reader: Reader, path: str) -> Target:
    """What a path means. Raises NotFoundError."""
    segments = divided(path)
    if not segments or segments[0].name not in KINDS:
        known = ", ".join(KINDS)
        raise NotFoundError(f"there is no '{path[:60]}'", hint=f"there are {known}")
    first = segments[0]
    kind = KINDS[first.name]
    whole = Target(kind, first.name, selection=model.everything()) if kind is OBSERVATIONS else None
    at = whole or Target(kind, first.name, ids=model.keys(kind))
    if first.key is not None:
        at = _chosen(model, reader, at, first.key, member=False)
    for segment in segments[1:]:
        at = _further(model, reader, at, segment)
    return at


def _further(model: Model, reader: Reader, at: Target, segment: Segment) -> Target:
    name = segment.name
    path = f"{at.path}/{name}"
    if at.raw or at.ref:
        raise NotFoundError(f"nothing comes after '{at.path[-40:]}'")
    if name == "$ref":
        if at.property:
            raise NotFoundError("$ref is of entities")
        return replace(at, path=path, ref=True)
    if at.entity is None:
        raise NotFoundError(
            f"'{at.path[-60:]}' is a set, and has no '{name[:40]}'", hint="choose one by its id"
        )
    entity = at.entity
    if at.property:
        if name == "$value":
            return replace(at, path=path, raw=True)
        if at.property[0] not in entity.kind.objects and at.property[0] != entity.kind.geometry:
            raise NotFoundError(f"'{at.property[0]}' has no parts")
        return replace(at, path=path, property=(*at.property, name))
    link = entity.kind.link(name)
    if link is None:
        if name not in entity.kind.properties and name not in ("id", "@iot.id"):
            raise NotFoundError(f"{entity.kind.singular} has no '{name[:40]}'")
        return replace(at, path=path, property=(name,))
    to = KINDS[link.to]
    if not link.many:
        ends = model.link_of(entity, name)
        found = find(model, reader, to, ends[0]) if ends else None
        if found is None:
            raise NotFoundError(f"this {entity.kind.singular} has no {name}")
        return Target(to, path, entity=found, parent=entity, link=name)
    if to is OBSERVATIONS:
        chosen = model.observations_of(entity.kind, entity.id)
        following = Target(to, path, selection=chosen, parent=entity, link=name)
    else:
        following = Target(to, path, ids=model.link_of(entity, name), parent=entity, link=name)
    return following if segment.key is None else _chosen(model, reader, following, segment.key, member=True)


def _chosen(model: Model, reader: Reader, at: Target, key: Id, *, member: bool) -> Target:
    found = find(model, reader, at.kind, key)
    if found is not None and member:
        outside = at.ids is not None and key not in at.ids
        if outside or (at.selection is not None and not _selected(at.selection, found)):
            found = None
    if found is None:
        raise NotFoundError(f"there is no {at.kind.name}({literal(key)[:80]})")
    return Target(at.kind, f"{at.path}({literal(key)})", entity=found, parent=at.parent, link=at.link)


def _selected(selection: Selection, observation: Entity) -> bool:
    assert observation.origin is not None
    datastream, feature = observation.origin
    return any(
        (part.sensors is None or datastream in {datastream_of(part, sensor) for sensor in part.sensors})
        and (part.feature is None or part.feature == feature)
        for part in selection.parts
    )
