"""The answers of a standing query as a sequence of events, for every form in which they are sent.

Begun (schema, units, version, position) · Chunk of rows · Begun again when the columns change · Quiet now and then
· Ended when all streams of the query have ended · Failed when it goes no further
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from nilometer.errors import NilometerError
from nilometer.log.results.numbers import first_number
from nilometer.server.problems import GoneError
from nilometer.server.tails import Chunk, Position, Subscription, total_rows
from nilometer.types import Schema

if TYPE_CHECKING:
    from nilometer.server.desk import Desk

QUIET = 10.0
"""Seconds after which something is sent, so that both sides notice when the other is gone."""


@dataclass(frozen=True)
class Begun:
    """What the rows that follow are."""

    name: str
    version: str
    schema: Schema
    position: Position


@dataclass(frozen=True)
class Quiet:
    """Nothing has come for a while. `trouble`: why, if that is known and new."""

    trouble: str | None = None


@dataclass(frozen=True)
class Ended:
    """All streams of the query have ended, and this was all."""

    position: Position


@dataclass(frozen=True)
class Failed:
    """It goes no further."""

    error: NilometerError


Event = Begun | Chunk | Quiet | Ended | Failed


async def follow(desk: Desk, begun: Begun, *, on: bool, limit: int | None = None) -> AsyncIterator[Event]:
    """The events from a position on; with `on`, also those that are still to come."""
    name, schema, version = begun.name, begun.schema, begun.version
    end = None if on else await desk.wait_for(lambda: total_rows(desk.directory, name))
    with desk.tails.subscribed(name) as tail:
        reading = Subscription(desk.directory, name, tail, begun.position)
        yield begun
        given, told = 0, None
        while not desk.tails.closed:
            if end is not None and reading.position.rows >= end:
                return
            before = reading.position
            try:
                chunk = await reading.ready()
            except NilometerError as error:
                yield Failed(error)
                return
            if chunk is not None:
                if chunk.version != version or not alike(chunk.schema, schema):
                    schema, version = _with_units(chunk.schema, begun.schema), chunk.version
                    yield Begun(name, version, schema, before)
                if limit is not None and given + chunk.rows.height > limit:
                    chunk = _cut(chunk, limit - given)
                given += chunk.rows.height
                if chunk.rows.height:
                    yield chunk
                if limit is not None and given >= limit:
                    return
                continue
            if end is not None:
                return
            if reading.over:
                yield Ended(reading.position)
                return
            if not tail.state.running and await desk.wait_for(
                lambda: first_number(desk.directory, name) != begun.position.first
            ):
                yield Failed(GoneError(f"'{name}' was dropped or replayed"))
                return
            seen = tail.state
            await reading.wait(QUIET)
            if reading.trouble != told:
                told = reading.trouble
                yield Quiet(told)
            elif tail.state == seen:
                yield Quiet()


def _cut(chunk: Chunk, rows: int) -> Chunk:
    """The first rows of a chunk. Its place is that of its beginning."""
    return Chunk(chunk.schema, chunk.version, chunk.rows[:rows], chunk.position, chunk.before, chunk.before)


def alike(one: Schema, other: Schema) -> bool:
    """Whether two schemas differ in nothing but units, which the log does not keep."""
    return [(c.name, c.type) for c in one] == [(c.name, c.type) for c in other]


def _with_units(schema: Schema, declared: Schema) -> Schema:
    units = {(c.name, c.type): c.unit for c in declared}
    return Schema(tuple(replace(c, unit=c.unit or units.get((c.name, c.type))) for c in schema))
