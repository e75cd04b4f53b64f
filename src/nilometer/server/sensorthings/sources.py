"""The streams as SensorThings sees them: their columns, and the sensors that are declared or were heard.

A column of INT, FLOAT, BOOLEAN or STRING is observed; others are no result that SensorThings knows. The stream
`observations` is different: it has the observations of the Datastreams that clients make (own.py).
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from nilometer.catalog import Stream
from nilometer.catalog.answer_streams import is_answers
from nilometer.catalog.peer_streams import is_inner
from nilometer.log import LogDirectory
from nilometer.server.sensorthings import own
from nilometer.server.sensorthings.latest import Latest, Measure
from nilometer.server.sensorthings.names import join
from nilometer.types import Column, Kind

if TYPE_CHECKING:
    from pathlib import Path

    from nilometer.catalog.extents import Sensor
    from nilometer.engine import Database

OBSERVED = (Kind.INT, Kind.FLOAT, Kind.BOOLEAN, Kind.STRING)


@dataclass(frozen=True)
class Source:
    """A stream: `sensors` by the id as text, the declared ones first; None: it was only heard."""

    stream: Stream
    latest: Latest
    sensors: Mapping[str, Sensor | None]
    ids: Mapping[str, Any] = field(repr=False)
    """By the id as text, the id as it is in the log."""

    @cached_property
    def columns(self) -> dict[str, Column]:
        """The observed columns by name."""
        return observed(self.stream)

    @cached_property
    def things(self) -> list[str]:
        """The ids of its Things."""
        return [join(self.stream.name, identity) for identity in self.sensors]

    @cached_property
    def placed(self) -> list[str]:
        """The ids of its Locations and FeaturesOfInterest."""
        return [
            join(self.stream.name, identity)
            for identity, sensor in self.sensors.items()
            if sensor is not None and sensor.location is not None
        ]

    @cached_property
    def datastreams(self) -> list[str]:
        """The ids of its Datastreams."""
        return [
            join(self.stream.name, column, identity) for identity in self.sensors for column in self.columns
        ]


def observed(stream: Stream) -> dict[str, Column]:
    """The columns of a stream that are observed, by name."""
    return {
        column.name: column
        for column in stream.columns
        if column.name.lower() not in ("time", "id") and column.type.kind in OBSERVED
    }


Declared = list[tuple[Stream, "tuple[Sensor, ...]"]]


def declared_in(database: Database) -> Declared:
    """The streams and their sensors, as they are declared."""
    return [
        (stream, database.catalog.sensors(stream.name))
        for stream in database.catalog.streams()
        if not is_answers(stream)
        and not is_inner(stream)
        and stream.column("id") is not None
        and stream.column("time") is not None
    ]


class Sources:
    """All streams of a directory. Results are kept until a stream or its sensors change."""

    def __init__(self, directory: Path) -> None:
        self._logs = LogDirectory(directory)
        self._turn = threading.Lock()
        self._known: dict[str, tuple[tuple[Sensor, ...], int, Source]] = {}
        self._latest: dict[str, Latest] = {}

    def now(self, declared: Declared, *, as_known: bool = False) -> dict[str, Source]:
        """The streams by lower-case name, with all that is in their logs now; `as_known`: without a look at the logs."""
        with self._turn:
            names = {stream.name.lower() for stream, _ in declared}
            for gone in self._latest.keys() - names:
                del self._latest[gone]
                self._known.pop(gone, None)
            return dict(self._each(declared, as_known=as_known))

    def _each(self, declared: Declared, *, as_known: bool) -> Iterator[tuple[str, Source]]:
        for stream, sensors in declared:
            key = stream.name.lower()
            latest = self._latest.get(key)
            if latest is None or latest.stream != stream:
                latest = self._latest[key] = Latest(stream, self._logs.log(stream), _measures(stream))
            if not as_known:
                latest.refresh()
            known = self._known.get(key)
            heard = len(latest.ids)
            if known is None or known[0] is not sensors or known[1] != heard or known[2].latest is not latest:
                ids: dict[str, Any] = {str(sensor.id): sensor.id for sensor in sensors}
                ids |= {str(identity): identity for identity in latest.ids}
                by_id = {str(sensor.id): sensor for sensor in sensors}
                source = Source(stream, latest, {text: by_id.get(text) for text in ids}, ids)
                known = self._known[key] = (sensors, heard, source)
            yield key, known[2]


def _measures(stream: Stream) -> list[Measure]:
    if own.is_own(stream):
        return [Measure(own.RESULT, None, tuple(column.name for column in own.COLUMNS))]
    return [Measure(name, name, (name,)) for name in observed(stream)]
