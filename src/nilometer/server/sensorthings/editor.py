"""Create, update and delete entities (OGC 18-088, section 10): a deep insert is one change of the store.

Observations that come with an entity go in after it is durable. The law: a request changes all of it or nothing.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from nilometer.errors import ConfigurationError
from nilometer.server.problems import NotAllowedError
from nilometer.server.sensorthings.bodies import properties_of, reference
from nilometer.server.sensorthings.json_patch import patched
from nilometer.server.sensorthings.kinds import (
    DATASTREAMS,
    HISTORICAL_LOCATIONS,
    KINDS,
    LOCATIONS,
    OBSERVATIONS,
    THINGS,
    Kind,
    Link,
)
from nilometer.server.sensorthings.model import Entity, Model
from nilometer.server.sensorthings.names import Id, literal
from nilometer.server.sensorthings.store import Change, Stored, check_size
from nilometer.types import format_time

DEEPEST = 8
"""How deeply entities may be nested in a request."""
HERE: dict[str, tuple[str, ...]] = {
    "Things": ("Locations",),
    "HistoricalLocations": ("Thing", "Locations"),
    "Datastreams": ("Thing", "Sensor", "ObservedProperty"),
}
"""Which links are kept with an entity; the others are found from the other end."""
CHANGEABLE = {
    "Things": ("name", "description", "properties"),
    "Locations": ("name", "description", "properties"),
    "FeaturesOfInterest": ("name", "description", "properties"),
    "Sensors": ("name", "description", "encodingType", "metadata", "properties"),
    "ObservedProperties": ("name", "definition", "description", "properties"),
    "Datastreams": ("name", "description", "properties"),
}
"""What a client may say of an entity that comes from a stream."""


class Editor:
    """Builds one change."""

    def __init__(self, model: Model, change: Change) -> None:
        self.model = model
        self.change = change
        self.observations: list[tuple[Id, dict[str, Any]]] = []
        """Observations that are to go in afterwards, with their Datastream."""
        self.touched: dict[int, None] = {}
        """Datastreams whose names may have changed."""

    # ---- looking -----------------------------------------------------------------------------------------------------

    def _stored(self, kind: Kind, identity: Id) -> Stored:
        return (
            self.change.put.get((kind.name, identity))
            or self.model.store.get(kind.name, identity)
            or Stored()
        )

    def _exists(self, kind: Kind, identity: Id) -> bool:
        if (kind.name, identity) in self.change.delete:
            return False
        return (kind.name, identity) in self.change.put or self.model.find(kind, identity) is not None

    def _linked(self, kind: Kind, identity: Id, link: str) -> list[Id]:
        ends = self._stored(kind, identity).links.get(link)
        if ends is None:
            return self.model.linked(kind, identity, link)
        return list(ends) if isinstance(ends, list) else [ends]

    # ---- creating ----------------------------------------------------------------------------------------------------

    def create(self, kind: Kind, body: Any, parent: Entity | None = None, link: str | None = None) -> Id:
        """Make an entity, in the set or below a parent. Returns its id."""
        given: dict[str, list[Id]] = {}
        back = None if parent is None else self._back(parent.kind, link)
        if parent is not None and back is not None:
            given[back.name] = [parent.id]
        identity = self._insert(kind, body, given, 0)
        if parent is not None and parent.kind is THINGS and kind is LOCATIONS:
            self._move(parent.id, [identity])
        return identity

    def _back(self, kind: Kind, link: str | None) -> Link | None:
        """The link in the other direction."""
        assert link is not None
        forth = kind.link(link)
        assert forth is not None
        to = KINDS[forth.to]
        for back in to.links:
            if back.to == kind.name and back.name in HERE.get(to.name, ()):
                return back
        return None

    def _insert(self, kind: Kind, body: Any, given: Mapping[str, list[Id]], depth: int) -> Id:
        if depth > DEEPEST:
            raise ConfigurationError(f"entities are nested at most {DEEPEST} deep")
        if kind is OBSERVATIONS:
            raise ConfigurationError("Observations are made with their Datastream")
        properties = {name: value for name, value in properties_of(kind, body).items() if value is not None}
        identity = self.change.number()
        links: dict[str, Any] = {}
        for link in kind.links:
            if link.name in HERE.get(kind.name, ()):
                ends = [*given.get(link.name, ()), *self._ends(link, body.get(link.name), depth)]
                if not ends and link.name in kind.mandatory_links:
                    raise ConfigurationError(
                        f"a {kind.singular} needs '{link.name}'", hint='give it, or link it: {"@iot.id": 1}'
                    )
                if ends:
                    links[link.name] = ends if link.many else ends[-1]
        self._put(kind, identity, Stored(properties, links))
        for link in kind.links:
            if link.name not in HERE.get(kind.name, ()) and body.get(link.name) is not None:
                self._attach(kind, identity, link, body[link.name], depth)
        if kind is THINGS and "Locations" in links:
            self._history(identity, links["Locations"])
        return identity

    def _ends(self, link: Link, value: Any, depth: int) -> list[Id]:
        """The entities that a link in a body leads to: those that exist, or new ones."""
        if value is None:
            return []
        if link.many != isinstance(value, list):
            raise ConfigurationError(f"'{link.name}' is {'a list' if link.many else 'one entity'}")
        to = KINDS[link.to]
        found = []
        for one in value if link.many else [value]:
            known = reference(one)
            if known is None:
                found.append(self._insert(to, one, {}, depth + 1))
            elif not self._exists(to, known):
                raise ConfigurationError(
                    f"there is no {to.name}({literal(known)[:80]})", hint="link one that exists"
                )
            else:
                found.append(known)
        return found

    def _attach(self, kind: Kind, identity: Id, link: Link, value: Any, depth: int) -> None:
        """Entities in a body whose link leads to the new one."""
        if not isinstance(value, list):
            raise ConfigurationError(f"'{link.name}' is a list")
        to = KINDS[link.to]
        for one in value:
            if to is OBSERVATIONS:
                if kind is not DATASTREAMS or not isinstance(one, dict):
                    raise ConfigurationError("Observations are made with their Datastream")
                self.observations.append((identity, one))
                continue
            known = reference(one)
            if known is None:
                back = self._back(kind, link.name)
                self._insert(to, one, {} if back is None else {back.name: [identity]}, depth + 1)
            elif not self._exists(to, known):
                raise ConfigurationError(f"there is no {to.name}({literal(known)[:80]})")
            else:
                self._link(to, known, kind, identity)

    def _link(self, kind: Kind, identity: Id, to: Kind, end: Id) -> None:
        """Let an existing entity lead to a new one."""
        if kind is THINGS and to is LOCATIONS:
            self._move(identity, [end])
            return
        if not isinstance(identity, int):
            raise NotAllowedError(f"{kind.name}({literal(identity)}) comes from a stream and keeps its links")
        stored = self._stored(kind, identity)
        link = next(link for link in kind.links if link.to == to.name)
        ends: Any = [*self._linked(kind, identity, link.name), end] if link.many else end
        self._put(kind, identity, replace(stored, links={**stored.links, link.name: ends}))

    def _move(self, thing: Id, locations: list[Id]) -> None:
        """A Thing is at other Locations from now on."""
        stored = self._stored(THINGS, thing)
        self._put(THINGS, thing, replace(stored, links={**stored.links, "Locations": locations}))
        self._history(thing, locations)

    def _history(self, thing: Id, locations: list[Id]) -> None:
        now = format_time(time.time_ns() // 1_000)
        self._put(
            HISTORICAL_LOCATIONS,
            self.change.number(),
            Stored({"time": now}, {"Thing": thing, "Locations": locations}),
        )

    def _put(self, kind: Kind, identity: Id, stored: Stored) -> None:
        check_size(kind.name, [stored])
        self.change.put[kind.name, identity] = stored
        if kind is DATASTREAMS and isinstance(identity, int):
            self.touched[identity] = None
        elif kind.link("Datastreams") is not None:
            for each in self.model.store.linking(DATASTREAMS.name, kind.singular, identity):
                if isinstance(each, int):
                    self.touched[each] = None

    # ---- updating ----------------------------------------------------------------------------------------------------

    def update(self, entity: Entity, body: Any, *, whole: bool = False, patch: bool = False) -> None:
        """Change an entity: what the body says (`whole`: and nothing else stays), or a JSON Patch."""
        kind = entity.kind
        if kind is OBSERVATIONS:
            raise NotAllowedError(
                "an Observation is a reading in a log, and readings do not change",
                hint="add a corrected one; CREATE QUERY can choose the last",
            )
        stored = self._stored(kind, entity.id)
        if patch:
            body = patched(
                {name: entity.properties.get(name) for name in kind.properties if name in entity.properties},
                body,
            )
            whole = True
        said = properties_of(kind, body, partial=not whole)
        if kind is DATASTREAMS:
            said.pop("phenomenonTime", None)  # it follows from the Observations
        if isinstance(entity.id, str):
            said = {name: value for name, value in said.items() if value != entity.properties.get(name)}
            strange = [name for name in said if name not in CHANGEABLE[kind.name]]
            if strange:
                raise NotAllowedError(
                    f"'{strange[0]}' of {kind.name}({literal(entity.id)}) comes from its stream",
                    hint=f"these can be changed: {', '.join(CHANGEABLE[kind.name])}",
                )
        before = {} if whole and isinstance(entity.id, int) else dict(stored.properties)
        merged = {name: value for name, value in {**before, **said}.items() if value is not None}
        if isinstance(entity.id, int):
            properties_of(kind, merged)  # still has what is mandatory
        links, moved = dict(stored.links), False
        for link in kind.links:
            if isinstance(body, dict) and body.get(link.name) is not None:
                if link.name not in HERE.get(kind.name, ()):
                    raise ConfigurationError(
                        f"'{link.name}' cannot be given in an update", hint="POST them to their set"
                    )
                links[link.name] = self._relinked(entity, link, body[link.name])
                moved = moved or (kind is THINGS and link.name == "Locations")
        self._put(kind, entity.id, Stored(merged, links))
        if moved:
            self._history(entity.id, links["Locations"])

    def _relinked(self, entity: Entity, link: Link, value: Any) -> Any:
        if isinstance(entity.id, str) and entity.kind is not THINGS:
            raise NotAllowedError(
                f"{entity.kind.name}({literal(entity.id)}) comes from a stream and keeps its links"
            )
        ends = []
        for one in value if isinstance(value, list) else [value]:
            known = reference(one)
            if known is None:
                raise ConfigurationError(
                    f"an update links '{link.name}' that exist", hint='write {"@iot.id": 1}'
                )
            if not self._exists(KINDS[link.to], known):
                raise ConfigurationError(f"there is no {link.to}({literal(known)[:80]})")
            ends.append(known)
        if not ends or (len(ends) > 1 and not link.many):
            raise ConfigurationError(f"'{link.name}' is {'a list' if link.many else 'one entity'}")
        return ends if link.many else ends[0]

    # ---- deleting ----------------------------------------------------------------------------------------------------

    def delete(self, entity: Entity) -> None:
        """Delete an entity, and what cannot be without it."""
        if entity.kind is OBSERVATIONS:
            raise NotAllowedError(
                "an Observation is a reading in a log, and is not deleted alone",
                hint="nilometer log trim deletes old readings; or delete the Datastream",
            )
        if isinstance(entity.id, str):
            raise NotAllowedError(
                f"{entity.kind.name}({literal(entity.id)}) comes from a stream",
                hint="DROP SENSOR or DROP STREAM takes it away: POST /api/v1/statements",
            )
        self._delete(entity.kind, entity.id)

    def _delete(self, kind: Kind, identity: Id) -> None:
        if (kind.name, identity) in self.change.delete:
            return
        self.change.put.pop((kind.name, identity), None)
        self.change.delete[kind.name, identity] = None
        store = self.model.store
        if kind is DATASTREAMS and isinstance(identity, int):
            self.touched[identity] = None
        if kind.link("Datastreams") is not None:
            for each in store.linking(DATASTREAMS.name, kind.singular, identity):
                self._delete(DATASTREAMS, each)
        if kind is THINGS:
            for each in store.linking(HISTORICAL_LOCATIONS.name, "Thing", identity):
                self._delete(HISTORICAL_LOCATIONS, each)
        if kind is LOCATIONS:
            for holder in (THINGS, HISTORICAL_LOCATIONS):
                for each in store.linking(holder.name, "Locations", identity):
                    self._leave(holder, each, identity)

    def _leave(self, holder: Kind, identity: Id, location: Id) -> None:
        stored = self._stored(holder, identity)
        left = [end for end in stored.links["Locations"] if end != location]
        if not left and holder is HISTORICAL_LOCATIONS:
            self._delete(holder, identity)
            return
        links = {**stored.links, "Locations": left}
        if not left:
            del links["Locations"]
        self._put(holder, identity, replace(stored, links=links))
