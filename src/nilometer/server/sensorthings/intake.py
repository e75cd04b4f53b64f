"""Observations in: checked, given to the entrance of their stream, acknowledged once they are durable.

An Observation of a Datastream that comes from a stream is a reading with one column; those of one sensor and time that
come together are one reading. Its id is its position in the log, which the offer says once it is durable. If some of
the readings were refused at the entrance, they are looked for there. One that is not found was from the future, or a
double by the stream's KEY. A double with the same result is the one that is there: a client may send again what was not
acknowledged.
"""

from __future__ import annotations

import time
from concurrent.futures import TimeoutError as NotDoneError
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import polars as pl

from nilometer.errors import ConfigurationError, DataError, NilometerError, ResourceError
from nilometer.ingest.adapters.push import Offer
from nilometer.ingest.payloads import Decoded, Format
from nilometer.operators.logic import POSITION
from nilometer.server.problems import ConflictError, NotFoundError
from nilometer.server.routes.readings import open_source
from nilometer.server.sensorthings import own, times
from nilometer.server.sensorthings.bodies import properties_of, reference
from nilometer.server.sensorthings.features import feature_for
from nilometer.server.sensorthings.kinds import DATASTREAMS, OBSERVATIONS
from nilometer.server.sensorthings.model import Model
from nilometer.server.sensorthings.names import Id, join, literal
from nilometer.server.sensorthings.observation import EXTRA
from nilometer.server.sensorthings.sources import Source
from nilometer.server.settings import DURABLE_SECONDS
from nilometer.types import Kind, format_time

if TYPE_CHECKING:
    from nilometer.server.desk import Desk

ROW_BYTES = 200
"""About how much memory a reading takes while it waits."""
_TYPES: dict[Kind, tuple[type, ...]] = {
    Kind.INT: (int,),
    Kind.FLOAT: (int, float),
    Kind.BOOLEAN: (bool,),
    Kind.STRING: (str,),
}


@dataclass
class _Reading:
    """A reading, and which observations are in it."""

    values: dict[str, Any]
    asked: list[int] = field(default_factory=list)
    columns: list[str | None] = field(default_factory=list)


Outcome = Id | NilometerError


class Intake:
    """Takes observations in; for threads that may wait."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk

    def one(self, model: Model, datastream: Id, body: Any, peer: str) -> Id:
        """Add an observation. Returns its id."""
        found = self.take(model, [(datastream, body)], peer)[0]
        if isinstance(found, NilometerError):
            raise found
        return found

    def take(
        self, model: Model, observations: list[tuple[Id, Any]], peer: str, *, alone: bool = False
    ) -> list[Outcome]:
        """Add observations. Returns the id of each, or why it was refused. `alone`: they only travel together, and each
        is a reading of its own."""
        outcomes: list[Outcome | None] = [None] * len(observations)
        streams: dict[str, tuple[Source, dict[Any, _Reading]]] = {}
        now = time.time_ns() // 1_000
        for number, (datastream, body) in enumerate(observations):
            try:
                source, key, column, values = self._reading(model, datastream, body, now, number)
            except NilometerError as error:
                outcomes[number] = error
                continue
            readings = streams.setdefault(source.stream.name, (source, {}))[1]
            if alone:
                key = (*key, number)
            while key in readings and column in readings[key].columns:
                key = (*key, number)  # a second value of one column and time is a reading of its own
            reading = readings.setdefault(key, _Reading({}))
            reading.values |= values
            reading.asked.append(number)
            reading.columns.append(column)
        for source, readings in streams.values():
            found: dict[int, Outcome]
            try:
                found = self._send(source, list(readings.values()), now, peer)
            except NilometerError as error:
                found = {number: error for reading in readings.values() for number in reading.asked}
            for number, outcome in found.items():
                outcomes[number] = outcome
        assert None not in outcomes
        return [outcome for outcome in outcomes if outcome is not None]

    # ---- one observation as a reading --------------------------------------------------------------------------------

    def _reading(
        self, model: Model, datastream: Id, body: Any, now: int, number: int
    ) -> tuple[Source, tuple[Any, ...], str | None, dict[str, Any]]:
        said = properties_of(OBSERVATIONS, body)
        when = (
            times.moment(now) if said.get("phenomenonTime") is None else times.parse(said["phenomenonTime"])
        )
        generated = None if said.get("resultTime") is None else times.parse(said["resultTime"])
        if generated is not None and not generated.moment:
            raise ConfigurationError("resultTime is a moment, not an interval")
        if isinstance(datastream, int):
            if model.store.get(DATASTREAMS.name, datastream) is None or model.own is None:
                raise NotFoundError(f"there is no Datastreams({datastream})")
            feature = feature_for(model, datastream, body.get("FeatureOfInterest"))
            extra = {name: said[name] for name in EXTRA if said.get(name) is not None}
            values = own.reading(
                datastream,
                when.start,
                None if when.moment else when.end,
                said["result"],
                None if generated is None else generated.start,
                feature,
                extra,
            )
            return model.own, (datastream, when.start, number), None, values
        found = model.column_of(datastream)
        if found is None:
            raise NotFoundError(f"there is no Datastreams({literal(datastream)[:80]})")
        source, column, sensor = found
        self._refuse_more(source, said, body, when, generated)
        kind = source.columns[column].type.kind
        result: Any = said["result"]
        fits = isinstance(result, _TYPES[kind]) and (kind is Kind.BOOLEAN or not isinstance(result, bool))
        if not fits:
            raise ConfigurationError(
                f"the result of {source.stream.name}.{column} is {source.columns[column].type}",
                detail=f"found {str(result)[:80]}",
            )
        if kind is Kind.INT and abs(result) >= 2**63:
            raise ConfigurationError("a result of INT has 64 bits")
        latest = source.latest
        identity = source.ids[sensor]
        values = {
            latest.time: when.start,
            latest.id: identity,
            column: float(result) if kind is Kind.FLOAT else result,
        }
        return source, (identity, when.start), column, values

    def _refuse_more(
        self, source: Source, said: dict[str, Any], body: Any, when: times.Span, generated: times.Span | None
    ) -> None:
        """A stream's row has its columns, and no more: nothing that a client says is dropped silently."""
        strange = [name for name in EXTRA if said.get(name) is not None]
        if not when.moment:
            strange.append("a phenomenonTime that is an interval")
        if generated is not None and generated != when:
            strange.append("a resultTime that is not the phenomenonTime")
        if body.get("FeatureOfInterest") is not None:
            strange.append("a FeatureOfInterest")
        if strange:
            raise ConfigurationError(
                f"the stream {source.stream.name} has no column for {strange[0]}",
                hint="leave it out, or make a Datastream of your own",
            )

    # ---- a stream's readings -----------------------------------------------------------------------------------------

    def _send(self, source: Source, readings: list[_Reading], now: int, peer: str) -> dict[int, Outcome]:
        adapter = self._desk.pushes.find(source.stream.name) or open_source(self._desk, source.stream.name)
        schema = adapter.nothing().rows.schema
        rows = pl.DataFrame([reading.values for reading in readings], schema=schema, infer_schema_length=None)
        offer = Offer([], Format.JSON, peer, now, ROW_BYTES * rows.height, Decoded(rows))
        adapter.put(offer)
        try:
            offer.done.result(DURABLE_SECONDS)
        except NotDoneError:
            withdrawn = adapter.withdraw(offer)
            raise ResourceError(
                f"the observations were not durable within {DURABLE_SECONDS:g} seconds",
                detail="none of them was kept" if withdrawn else "they may still become durable",
                hint="send them again",
            ) from None
        assert offer.place is not None, "durable readings without a place"
        if offer.place.exact:
            found: dict[int, Outcome] = {}
            for position, reading in enumerate(readings, offer.place.position):
                found |= _named(source, reading, position)
            return found
        return self._found(source, readings, offer.place.position, now)

    def _found(self, source: Source, readings: list[_Reading], first: int, now: int) -> dict[int, Outcome]:
        """The ids of readings that are durable now, some of which were refused."""
        latest = source.latest
        latest.refresh()
        rows = latest.since(first)
        known: dict[tuple[Any, int], list[dict[str, Any]]] = {}
        if rows.height:
            wanted = [reading.values[latest.id] for reading in readings]
            chosen = rows.filter(
                pl.col(latest.id).is_in(pl.Series(wanted, dtype=rows.schema[latest.id]).implode())
            )
            for row in chosen.iter_rows(named=True):
                known.setdefault((row[latest.id], row[latest.time]), []).append(row)
        found: dict[int, Outcome] = {}
        for reading in readings:
            there = known.get((reading.values[latest.id], reading.values[latest.time]), [])
            own_row = [row for row in there if _same(row, reading)][:1]
            outcome: int | NilometerError
            if own_row:
                there.remove(own_row[0])
                outcome = int(own_row[0][POSITION])
            else:
                outcome = self._refused(source, reading, now)
            found |= _named(source, reading, outcome)
        return found

    def _refused(self, source: Source, reading: _Reading, now: int) -> int | NilometerError:
        """Why a reading is not in the log after its offer was acknowledged; or where it was before."""
        latest, stream = source.latest, source.stream
        when = int(reading.values[latest.time])
        if when > now + stream.future:
            return DataError(
                f"{format_time(when)} is in the future",
                hint=f"the stream {stream.name} refuses it: FUTURE says how far",
            )
        span = (when, when + 1)
        names = [
            POSITION,
            latest.time,
            latest.id,
            *(name for name in reading.values if name in source.columns),
        ]
        for rows in latest.log.scan(0, names, span, on_damage=lambda _: None):
            for row in rows.filter(pl.col(latest.id) == reading.values[latest.id]).iter_rows(named=True):
                if _same(row, reading):
                    return int(row[POSITION])
                return ConflictError(
                    f"there is an observation of this sensor at {format_time(when)} already",
                    detail=f"the stream {stream.name} has KEY ({', '.join(stream.key)})",
                    hint="send the columns of one time together, in one data array",
                )
        return ResourceError(
            "the observation was refused at the entrance", hint="GET /api/v1/dead-letters says why"
        )


def _named(source: Source, reading: _Reading, outcome: int | NilometerError) -> dict[int, Outcome]:
    """The ids of the observations in a reading at this position; or why it was refused."""
    if isinstance(outcome, NilometerError):
        return dict.fromkeys(reading.asked, outcome)
    return {
        number: outcome + 1 if column is None else join(source.stream.name, column, outcome)
        for number, column in zip(reading.asked, reading.columns, strict=True)
    }


def _same(row: dict[str, Any], reading: _Reading) -> bool:
    return all(row.get(name) == value for name, value in reading.values.items())


def datastream_in(body: Any) -> Id:
    """The Datastream that an observation names."""
    if not isinstance(body, dict):
        raise ConfigurationError("an Observation is a JSON object")
    named = reference(body.get("Datastream"))
    if named is None:
        raise ConfigurationError(
            "an Observation needs its Datastream", hint='link it: "Datastream": {"@iot.id": 1}'
        )
    return named
