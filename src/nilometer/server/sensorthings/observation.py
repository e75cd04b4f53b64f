"""A row of a log as an Observation, and an Observation's id as a place in a log."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from typing import Any

from nilometer.server.sensorthings import own
from nilometer.server.sensorthings.derived import COUNT
from nilometer.server.sensorthings.kinds import DATASTREAMS, OBSERVATIONS
from nilometer.server.sensorthings.model import Entity, Model
from nilometer.server.sensorthings.names import Id, join, split
from nilometer.server.sensorthings.selection import Part
from nilometer.server.sensorthings.times import Span
from nilometer.types import format_time

EXTRA = ("resultQuality", "validTime", "parameters")
"""The properties that are in the JSON of `extra`."""


@dataclass(frozen=True)
class Row:
    """A row: its part, sensor, time, position, and the values of the kept columns."""

    part: Part
    sensor: Any
    time: int
    position: int
    values: dict[str, Any]


def datastream_of(part: Part, sensor: Any) -> Id:
    """The Datastream of a sensor."""
    if part.column is None:
        return int(sensor)
    return join(part.source.stream.name, part.column, sensor)


def entity_of(model: Model, row: Row) -> Entity:
    """The Observation of a row."""
    part = row.part
    datastream = datastream_of(part, row.sensor)
    if part.column is not None:
        when = format_time(row.time)
        result = row.values[part.column]
        properties = {
            "phenomenonTime": when,
            "result": None if isinstance(result, float) and not math.isfinite(result) else result,
            "resultTime": when,
        }
        identity = join(part.source.stream.name, part.column, row.position)
        return Entity(
            OBSERVATIONS, identity, properties, (datastream, model.feature_of(part.source, str(row.sensor)))
        )
    values = row.values
    extra = json.loads(values["extra"]) if values["extra"] else {}
    until = values["until"]
    properties = {
        "phenomenonTime": str(Span(row.time, row.time if until is None else until)),
        "result": _counted(model, datastream, own.result_of(values)),
        "resultTime": None if values["result_time"] is None else format_time(values["result_time"]),
        **{name: extra[name] for name in EXTRA if name in extra},
    }
    return Entity(OBSERVATIONS, row.position + 1, properties, (datastream, values["feature"]))


def _counted(model: Model, datastream: Id, result: Any) -> Any:
    """Counts are whole numbers."""
    stored = model.store.get(DATASTREAMS.name, datastream)
    whole = stored is not None and stored.properties.get("observationType") == COUNT
    exact = isinstance(result, float) and result.is_integer() and abs(result) <= own.EXACT
    return int(result) if whole and exact else result


def place_of(model: Model, identity: Id) -> tuple[Part, int] | None:
    """The part and position of an Observation's id; None if it can be none."""
    if isinstance(identity, int):
        if model.own is None or identity < 1:
            return None
        return Part(model.own, None, tuple(model.store.numbers(DATASTREAMS.name))), identity - 1
    parts = split(identity, 3)
    source = None if parts is None else model.sources.get(parts[0].lower())
    if source is None or parts is None or parts[0] != source.stream.name:
        return None
    if parts[1] not in source.columns or not parts[2].isdecimal() or len(parts[2]) > 18:
        return None
    return Part(source, parts[1], None), int(parts[2])
