"""`POST /api/v1/dead-letters/submit`: a dead letter that a person has mended goes through the stream's entrance again.

A stream that takes readings by HTTP gets them the usual way. For one with a source of its own, the payload is decoded
as the source's messages are, and joins them at the entrance. The letter stays where it is: the books have it.
"""

from __future__ import annotations

import asyncio
import time
from concurrent.futures import Future
from typing import TYPE_CHECKING

from fastapi import APIRouter
from fastapi.responses import JSONResponse
from pydantic import BaseModel, Field

from nilometer.catalog import Stream
from nilometer.errors import DataError, ResourceError
from nilometer.ingest.adapters.adapter import ReadResult, Status
from nilometer.ingest.payloads import Decoder, Format, Messages
from nilometer.server.desk import Desk, stream_of
from nilometer.server.problems import ConflictError
from nilometer.server.roles import WRITE
from nilometer.server.settings import DURABLE_SECONDS

if TYPE_CHECKING:
    from nilometer.live.station import Station

SOURCE = "submitted again"


class Mended(BaseModel):
    """A payload, as the stream's messages are: JSON, SenML, or a line of CSV."""

    stream: str = Field(max_length=100)
    payload: str = Field(
        max_length=1_000_000, examples=['{"id": 5, "time": "2026-03-01T06:00Z", "depth": 4}']
    )


def add(router: APIRouter, desk: Desk) -> None:
    """Add the route."""

    @router.post("/dead-letters/submit", dependencies=[WRITE], tags=["streams"])
    async def submit(mended: Mended) -> JSONResponse:
        """Send a mended payload through the stream's entrance. The reply comes once its readings are durable."""
        stream, has_file = await desk.with_database(
            lambda database: (
                found := stream_of(database, mended.stream),
                found.url is None and database.data.has(found),
            )
        )
        if has_file:
            raise ConflictError(
                f"the readings of '{stream.name}' are a file", hint="mend the file, and serve it again"
            )
        result = await desk.wait_for(lambda: _decoded(stream, mended.payload))
        done = await desk.station(lambda station: _taken(station, stream, result))
        try:
            kept = await asyncio.wait_for(asyncio.shield(asyncio.wrap_future(done)), DURABLE_SECONDS)
        except TimeoutError:
            raise ResourceError(
                f"the readings were not durable within {DURABLE_SECONDS:g} seconds",
                hint="look at the disk; a KEY of the stream recognizes doubles",
            ) from None
        if not kept:
            raise ResourceError("the readings were shed: the log takes no more now", hint="try again")
        return JSONResponse({"received": result.received, "rows": result.rows.height})


def _decoded(stream: Stream, payload: str) -> ReadResult:
    """The readings of a payload; raises, and keeps no second letter, if it is still garbled."""
    now = time.time_ns() // 1_000
    body = payload.strip().encode()
    found = Decoder(stream.arriving).decode(Messages([body], [now], [SOURCE]), Format.AUTO)
    if found.garbled or not found.rows.height:
        reasons = "; ".join(dict.fromkeys(letter.reason for letter in found.garbled)) or "no reading in it"
        raise DataError("the payload is still garbled", detail=reasons, hint="change it, and submit it again")
    return ReadResult(Status.NEW_VALUE, found.rows, (), arrived=now, fields=found.fields)


def _taken(station: Station, stream: Stream, result: ReadResult) -> Future[bool]:
    if stream.url is None:
        station.pushes.attend(station.database.catalog.stream(stream.name))
    return station.manager.take_in(stream.name, result)
