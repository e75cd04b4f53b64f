"""The entity types of SensorThings 1.1 (OGC 18-088, section 8.2): their properties, which are mandatory, and their links."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum


class Name(StrEnum):
    """The names of the entity sets."""

    THINGS = "Things"
    LOCATIONS = "Locations"
    HISTORICAL_LOCATIONS = "HistoricalLocations"
    DATASTREAMS = "Datastreams"
    SENSORS = "Sensors"
    OBSERVED_PROPERTIES = "ObservedProperties"
    OBSERVATIONS = "Observations"
    FEATURES_OF_INTEREST = "FeaturesOfInterest"


@dataclass(frozen=True)
class Link:
    """A navigation property: it leads to one entity of a set, or to `many`."""

    name: str
    to: Name
    many: bool


@dataclass(frozen=True)
class Kind:
    """An entity type. `mandatory` properties and links must be in a POST. `objects` are JSON objects, `times` are
    moments or intervals."""

    name: Name
    singular: str
    properties: tuple[str, ...]
    mandatory: tuple[str, ...]
    links: tuple[Link, ...]
    mandatory_links: tuple[str, ...] = ()
    objects: frozenset[str] = frozenset()
    times: frozenset[str] = frozenset()
    geometry: str | None = None
    by_name: dict[str, Link] = field(default_factory=dict, compare=False, repr=False)

    def __post_init__(self) -> None:
        self.by_name.update({link.name: link for link in self.links})

    def link(self, name: str) -> Link | None:
        """The navigation property of that name."""
        return self.by_name.get(name)


def _one(name: str, to: Name) -> Link:
    return Link(name, to, False)


def _many(to: Name) -> Link:
    return Link(to.value, to, True)


_DESCRIBED = ("name", "description")

KINDS: dict[str, Kind] = {
    kind.name.value: kind
    for kind in (
        Kind(
            Name.THINGS,
            "Thing",
            (*_DESCRIBED, "properties"),
            _DESCRIBED,
            (_many(Name.DATASTREAMS), _many(Name.LOCATIONS), _many(Name.HISTORICAL_LOCATIONS)),
            objects=frozenset({"properties"}),
        ),
        Kind(
            Name.LOCATIONS,
            "Location",
            (*_DESCRIBED, "encodingType", "location", "properties"),
            (*_DESCRIBED, "encodingType", "location"),
            (_many(Name.THINGS), _many(Name.HISTORICAL_LOCATIONS)),
            objects=frozenset({"properties"}),
            geometry="location",
        ),
        Kind(
            Name.HISTORICAL_LOCATIONS,
            "HistoricalLocation",
            ("time",),
            ("time",),
            (_one("Thing", Name.THINGS), _many(Name.LOCATIONS)),
            ("Thing", "Locations"),
            times=frozenset({"time"}),
        ),
        Kind(
            Name.DATASTREAMS,
            "Datastream",
            (
                *_DESCRIBED,
                "observationType",
                "unitOfMeasurement",
                "observedArea",
                "phenomenonTime",
                "resultTime",
                "properties",
            ),
            (*_DESCRIBED, "observationType", "unitOfMeasurement"),
            (
                _one("Thing", Name.THINGS),
                _one("Sensor", Name.SENSORS),
                _one("ObservedProperty", Name.OBSERVED_PROPERTIES),
                _many(Name.OBSERVATIONS),
            ),
            ("Thing", "Sensor", "ObservedProperty"),
            objects=frozenset({"properties", "unitOfMeasurement"}),
            times=frozenset({"phenomenonTime", "resultTime"}),
            geometry="observedArea",
        ),
        Kind(
            Name.SENSORS,
            "Sensor",
            (*_DESCRIBED, "encodingType", "metadata", "properties"),
            (*_DESCRIBED, "encodingType", "metadata"),
            (_many(Name.DATASTREAMS),),
            objects=frozenset({"properties"}),
        ),
        Kind(
            Name.OBSERVED_PROPERTIES,
            "ObservedProperty",
            ("name", "definition", "description", "properties"),
            ("name", "definition", "description"),
            (_many(Name.DATASTREAMS),),
            objects=frozenset({"properties"}),
        ),
        Kind(
            Name.OBSERVATIONS,
            "Observation",
            (
                "phenomenonTime",
                "result",
                "resultTime",
                "resultQuality",
                "validTime",
                "parameters",
            ),
            ("result",),
            (_one("Datastream", Name.DATASTREAMS), _one("FeatureOfInterest", Name.FEATURES_OF_INTEREST)),
            ("Datastream",),
            objects=frozenset({"parameters"}),
            times=frozenset({"phenomenonTime", "resultTime", "validTime"}),
        ),
        Kind(
            Name.FEATURES_OF_INTEREST,
            "FeatureOfInterest",
            (*_DESCRIBED, "encodingType", "feature", "properties"),
            (*_DESCRIBED, "encodingType", "feature"),
            (_many(Name.OBSERVATIONS),),
            objects=frozenset({"properties"}),
            geometry="feature",
        ),
    )
}

THINGS, LOCATIONS, HISTORICAL_LOCATIONS, DATASTREAMS = (
    KINDS[name] for name in (Name.THINGS, Name.LOCATIONS, Name.HISTORICAL_LOCATIONS, Name.DATASTREAMS)
)
SENSORS, OBSERVED_PROPERTIES, OBSERVATIONS, FEATURES = (
    KINDS[name]
    for name in (Name.SENSORS, Name.OBSERVED_PROPERTIES, Name.OBSERVATIONS, Name.FEATURES_OF_INTEREST)
)
