"""One view of all entities: those that come from streams (texts as ids) and those that clients have made (numbers).

What a client says of an entity that comes from a stream (a better name, a Location) is laid over it. The law: an
entity is there if and only if `find` finds it, and links lead both ways.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

from nilometer.server.sensorthings import derived, own
from nilometer.server.sensorthings.kinds import (
    DATASTREAMS,
    FEATURES,
    KINDS,
    LOCATIONS,
    OBSERVATIONS,
    OBSERVED_PROPERTIES,
    SENSORS,
    THINGS,
    Kind,
)
from nilometer.server.sensorthings.names import Id, join, split
from nilometer.server.sensorthings.selection import Part, Selection
from nilometer.server.sensorthings.sources import Source
from nilometer.server.sensorthings.store import EntityStore


@dataclass(frozen=True)
class Entity:
    """An entity with its own properties, in JSON's types. `origin` says which Datastream an Observation is of, and
    what was its feature."""

    kind: Kind
    id: Id
    properties: dict[str, Any]
    origin: tuple[Id, Id | None] | None = None


class Model:
    """The entities as they are now, for one request."""

    def __init__(self, sources: dict[str, Source], store: EntityStore) -> None:
        self.own = next((source for source in sources.values() if own.is_own(source.stream)), None)
        self.sources = {key: source for key, source in sources.items() if source is not self.own}
        self.store = store
        self._keys: dict[str, Sequence[Id]] = {}

    # ---- which there are ---------------------------------------------------------------------------------------------

    def keys(self, kind: Kind) -> Sequence[Id]:
        """The ids of all entities of a set, those of clients first."""
        found = self._keys.get(kind.name)
        if found is None:
            made: list[Id] = list(self.store.numbers(kind.name))
            found = self._keys[kind.name] = [
                *made,
                *chain.from_iterable(map(self._derived(kind), self.sources.values())),
            ]
        return found

    @staticmethod
    def _derived(kind: Kind) -> Any:
        match kind.singular:
            case "Thing":
                return lambda source: source.things
            case "Location" | "FeatureOfInterest":
                return lambda source: source.placed
            case "Sensor":
                return lambda source: [join(source.stream.name)]
            case "ObservedProperty":
                return lambda source: [join(source.stream.name, column) for column in source.columns]
            case "Datastream":
                return lambda source: source.datastreams
        return lambda _: ()

    def find(self, kind: Kind, identity: Id) -> Entity | None:
        """An entity; None if there is none. (Observations are found in observations.py.)"""
        said = self.store.get(kind.name, identity)
        if isinstance(identity, int):
            if said is None:
                return None
            return Entity(kind, identity, self._made(kind, identity, dict(said.properties)))
        base = self._base(kind, identity)
        if base is None:
            return None
        return Entity(kind, identity, base if said is None else {**base, **said.properties})

    def _made(self, kind: Kind, identity: int, properties: dict[str, Any]) -> dict[str, Any]:
        if kind is DATASTREAMS:
            when = None if self.own is None else derived.observed_time(self.own, own.RESULT, identity)
            properties = {"observedArea": None, **properties, "phenomenonTime": when}
            properties.setdefault("resultTime", None)
        return properties

    def _base(self, kind: Kind, identity: str) -> dict[str, Any] | None:
        match kind.singular:
            case "Sensor":
                source = self._source(split(identity, 1))
                return None if source is None else derived.sensor(source.stream)
            case "ObservedProperty":
                parts = split(identity, 2)
                source = self._source(parts)
                column = None if source is None or parts is None else source.columns.get(parts[1])
                return (
                    None
                    if source is None or column is None
                    else derived.observed_property(source.stream, column)
                )
            case "Datastream":
                found = self.column_of(identity)
                return (
                    None
                    if found is None
                    else derived.datastream(found[0], found[0].columns[found[1]], found[2])
                )
            case "Thing" | "Location" | "FeatureOfInterest":
                parts = split(identity, 2)
                source = self._source(parts)
                if source is None or parts is None or parts[1] not in source.sensors:
                    return None
                make = {"Thing": derived.thing, "Location": derived.location}.get(
                    kind.singular, derived.feature
                )
                return make(source, parts[1])
        return None

    def _source(self, parts: tuple[str, ...] | None) -> Source | None:
        source = None if parts is None else self.sources.get(parts[0].lower())
        return source if source is not None and parts is not None and source.stream.name == parts[0] else None

    def column_of(self, identity: Id) -> tuple[Source, str, str] | None:
        """The stream, column and sensor of a Datastream that comes from a stream."""
        parts = split(identity, 3)
        source = self._source(parts)
        if (
            source is None
            or parts is None
            or parts[1] not in source.columns
            or parts[2] not in source.sensors
        ):
            return None
        return source, parts[1], parts[2]

    # ---- how they are linked -----------------------------------------------------------------------------------------

    def linked(self, kind: Kind, identity: Id, link: str) -> list[Id]:
        """The ids of the entities that a link leads to; of a link to one entity, none or one."""
        stored = self.store.get(kind.name, identity)
        if stored is not None and link in stored.links:
            ends = stored.links[link]
            return list(ends) if isinstance(ends, list) else [ends]
        match kind.singular, link:
            case "Thing", "Locations":
                return [identity] if self._base_place(identity) else []
            case "Thing" | "Sensor" | "ObservedProperty", "Datastreams":
                return [
                    *self.store.linking(DATASTREAMS.name, kind.singular, identity),
                    *self._datastreams(kind, identity),
                ]
            case "Thing", "HistoricalLocations":
                return self.store.linking("HistoricalLocations", "Thing", identity)
            case "Location", "HistoricalLocations":
                return self.store.linking("HistoricalLocations", "Locations", identity)
            case "Location", "Things":
                found = self.store.linking(THINGS.name, "Locations", identity)
                overridden = self.store.get(THINGS.name, identity)
                own_thing = self._base_place(identity) and (
                    overridden is None or "Locations" not in overridden.links
                )
                return [*found, identity] if own_thing else found
            case "Datastream", _:
                parts = split(identity, 3)
                if parts is None:
                    return []
                stream, column, sensor = parts
                match link:
                    case "Thing":
                        return [join(stream, sensor)]
                    case "Sensor":
                        return [join(stream)]
                    case "ObservedProperty":
                        return [join(stream, column)]
        return []

    def _base_place(self, identity: Id) -> bool:
        return isinstance(identity, str) and self._base(LOCATIONS, identity) is not None

    def _datastreams(self, kind: Kind, identity: Id) -> list[Id]:
        if not isinstance(identity, str):
            return []
        if kind is SENSORS:
            source = self._source(split(identity, 1))
            return [] if source is None else list(source.datastreams)
        parts = split(identity, 2)
        source = self._source(parts)
        if source is None or parts is None:
            return []
        if kind is OBSERVED_PROPERTIES:
            return [join(*parts, sensor) for sensor in source.sensors]
        return [join(parts[0], column, parts[1]) for column in source.columns]

    # ---- observations ------------------------------------------------------------------------------------------------

    def everything(self) -> Selection:
        """All observations."""
        parts = [Part(source, column, None) for source in self.sources.values() for column in source.columns]
        made = self.store.numbers(DATASTREAMS.name)
        if self.own is not None and made:
            parts.append(Part(self.own, None, tuple(made)))
        return Selection(tuple(parts))

    def of_datastream(self, identity: Id) -> Selection:
        """The observations of a Datastream."""
        if isinstance(identity, int):
            if self.own is None:
                return Selection(())
            return Selection((Part(self.own, None, (identity,)),))
        found = self.column_of(identity)
        if found is None:
            return Selection(())
        source, column, sensor = found
        return Selection((Part(source, column, (source.ids[sensor],)),))

    def of_feature(self, identity: Id) -> Selection:
        """The observations of a FeatureOfInterest."""
        if isinstance(identity, int):
            made = tuple(self.store.numbers(DATASTREAMS.name))
            return Selection(() if self.own is None else (Part(self.own, None, made, feature=identity),))
        parts = split(identity, 2)
        source = self._source(parts)
        if source is None or parts is None or parts[1] not in source.ids:
            return Selection(())
        return Selection(tuple(Part(source, column, (source.ids[parts[1]],)) for column in source.columns))

    def observations_of(self, kind: Kind, identity: Id) -> Selection:
        """The observations that an entity is linked to."""
        return self.of_datastream(identity) if kind is DATASTREAMS else self.of_feature(identity)

    def link_of(self, entity: Entity, link: str) -> list[Id]:
        """Where a link of an entity leads, also of an Observation."""
        if entity.kind is not OBSERVATIONS:
            return self.linked(entity.kind, entity.id, link)
        assert entity.origin is not None
        found = entity.origin[0] if link == "Datastream" else entity.origin[1]
        return [] if found is None else [found]

    def feature_of(self, source: Source, sensor: str) -> Id | None:
        """The FeatureOfInterest of a sensor of a stream, if it has a place."""
        identity = join(source.stream.name, sensor)
        return identity if self._base(FEATURES, identity) is not None else None


__all__ = ["KINDS", "Entity", "Model"]
