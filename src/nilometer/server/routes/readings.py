"""`POST /api/v1/streams/NAME/readings`: readings in, acknowledged once they are durable.

    application/json                       one reading, an array of them, or a SenML pack (told apart by its names)
    application/x-ndjson                   a reading in each line
    application/senml+json                 SenML (RFC 8428)
    text/csv                               with or without a header
    application/vnd.influx.line-protocol   Influx lines
    application/vnd.apache.arrow.stream    an Arrow IPC stream with the stream's columns

They go through the same entrance as the readings of any other source: garbled ones become dead letters, doubles and
readings from the future are counted.
"""

from __future__ import annotations

import time
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse
from starlette.requests import ClientDisconnect
from starlette.responses import Response
from starlette.types import Receive, Scope

from nilometer.catalog import Stream
from nilometer.engine import Database
from nilometer.errors import DataError, ResourceError
from nilometer.ingest.adapters.push import SMALL, Offer, PushAdapter, Receipt, size_of
from nilometer.ingest.payloads import Decoded, Format
from nilometer.ingest.payloads.arrow_bodies import read_arrow
from nilometer.live.station import Station
from nilometer.server.desk import Desk, stream_of
from nilometer.server.encoding import ARROW
from nilometer.server.problems import ConflictError, MediaTypeError, problem_of
from nilometer.server.receipts import Slip
from nilometer.server.roles import WRITE
from nilometer.server.settings import DURABLE_SECONDS

FORMATS = {
    "application/json": Format.AUTO,
    "application/x-ndjson": Format.JSON,
    "application/ndjson": Format.JSON,
    "application/jsonl": Format.JSON,
    "application/senml+json": Format.SENML,
    "application/sensml+json": Format.SENML,
    "text/csv": Format.CSV,
    "application/vnd.influx.line-protocol": Format.INFLUX,
    "text/vnd.influx.line-protocol": Format.INFLUX,
}
LINES = ("application/x-ndjson", "application/ndjson", "application/jsonl")


def add(router: APIRouter, desk: Desk) -> None:
    """Add the route."""

    @router.post(
        "/streams/{name}/readings",
        dependencies=[WRITE],
        tags=["streams"],
        responses={
            200: {
                "description": "All readings are durable, those that were garbled as dead letters.",
                "content": {
                    "application/json": {
                        "schema": {
                            "type": "object",
                            "properties": {
                                "received": {"type": "integer"},
                                "garbled": {"type": "integer"},
                                "reasons": {"type": "array", "items": {"type": "string"}},
                            },
                        }
                    }
                },
            }
        },
        openapi_extra={
            "requestBody": {
                "required": True,
                "content": {
                    "application/json": {
                        "schema": {
                            "anyOf": [
                                {"type": "object"},
                                {"type": "array", "items": {"type": "object"}},
                            ]
                        },
                        "example": {"id": "a1", "time": "2026-03-01T06:00:00Z", "pm25": 12.5},
                    },
                    **{
                        kind: {"schema": {"type": "string"}}
                        for kind in (*FORMATS, ARROW)
                        if kind != "application/json"
                    },
                },
            }
        },
    )
    async def readings(request: Request, name: str) -> Response:
        """Add readings to a stream that is declared without an address. The reply comes once they are durable. 429: too
        many wait, send them again after Retry-After. 422: all of them were garbled, and are dead letters now."""
        return reply(await take(desk, request.scope, request.receive, name))


async def take(desk: Desk, scope: Scope, receive: Receive, name: str) -> Receipt:
    """Take the readings of a request, and return once they are durable."""
    kind = kind_of(scope)
    if kind not in FORMATS and kind != ARROW:
        raise MediaTypeError(
            f"'{kind[:80]}' is no form of readings", hint=f"send one of {', '.join((*FORMATS, ARROW))}"
        )
    token = scope.get("state", {}).get("token")
    bucket = None if token is None else desk.limits.rows_of(token)
    body = await body_of(receive)
    adapter = desk.pushes.find(name)
    if adapter is None:
        adapter = await desk.wait_for(lambda: open_source(desk, name))
    if not body.strip():
        return Receipt(0)
    client = scope.get("client")
    slip = desk.receipts.slip()
    offer = _offer(body, kind, "http" if client is None else f"http {client[0]}", slip)
    if offer.size > SMALL or kind == ARROW:
        offer.decoded = await desk.wait_for(lambda: _decoded(adapter, offer, kind))
        adapter.put(offer)
        receipt = await _durable(desk, adapter, offer, slip)
    else:
        desk.gathering.put(adapter, offer)
        try:
            receipt = await _durable(desk, adapter, offer, slip)
        finally:
            desk.gathering.over(adapter)
    if bucket is not None:
        bucket.take(receipt.received)
    return receipt


def kind_of(scope: Scope) -> str:
    """The Content-Type of a request, without its parameters."""
    for name, value in scope["headers"]:
        if name == b"content-type":
            return str(value.decode("latin-1")).partition(";")[0].strip().lower()
    return ""


async def body_of(receive: Receive) -> bytes:
    """The whole body of a request. Most come in one part."""
    parts: list[bytes] = []
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ClientDisconnect
        part: bytes = message.get("body", b"")
        if not message.get("more_body", False):
            return b"".join((*parts, part)) if parts else part
        parts.append(part)


def open_source(desk: Desk, name: str) -> PushAdapter:
    """The source of a stream, opened if it is not."""
    with desk.database() as database:
        known = _pushed(database, stream_of(database, name))

    def attend(station: Station) -> None:
        station.pushes.attend(station.database.catalog.stream(known))

    desk.owner.submit(lambda: attend(desk.owner.station))
    found = desk.pushes.find(known)
    if found is None:
        state, trouble = desk.owner.submit(lambda: desk.owner.station.manager.state(known))
        raise ResourceError(
            f"the stream '{known}' does not take readings now",
            detail=trouble or state.value,
            hint="try again",
        )
    return found


def _pushed(database: Database, stream: Stream) -> str:
    if stream.url is not None or database.data.has(stream):
        raise ConflictError(
            f"the readings of '{stream.name}' come from its own source",
            hint="readings are posted to a stream that is declared without FROM, and has no file",
        )
    return stream.name


def _offer(body: bytes, kind: str, peer: str, slip: Slip) -> Offer:
    if kind in LINES:
        payloads = [line for line in body.splitlines() if line.strip()]
    else:
        payloads = [body if kind == ARROW else body.strip()]
    arrived, form = time.time_ns() // 1_000, FORMATS.get(kind, Format.AUTO)
    return Offer(payloads, form, peer, arrived, size_of(payloads), done=slip)


def _decoded(adapter: PushAdapter, offer: Offer, kind: str) -> Decoded:
    if kind != ARROW:
        return adapter.decode(offer)
    return read_arrow(offer.payloads[0], adapter.stream, adapter.nothing().rows, offer.source)


async def _durable(desk: Desk, adapter: PushAdapter, offer: Offer, slip: Slip) -> Receipt:
    if await desk.receipts.wait(slip):
        return slip.result()
    withdrawn = adapter.withdraw(offer)
    raise ResourceError(
        f"the readings were not durable within {DURABLE_SECONDS:g} seconds",
        detail="none of them was kept" if withdrawn else "they may still become durable",
        hint="send them again: a KEY of the stream recognizes doubles",
    )


def reply(receipt: Receipt) -> Response:
    """The response."""
    body: dict[str, Any] = {
        "received": receipt.received,
        "garbled": receipt.garbled,
        "reasons": list(receipt.reasons),
    }
    if receipt.garbled and receipt.garbled == receipt.received:
        error = DataError(
            f"all {receipt.received} readings were garbled"
            if receipt.received > 1
            else "the reading was garbled",
            detail="; ".join(receipt.reasons),
            hint="they are dead letters of the stream now: GET /api/v1/dead-letters",
        )
        return JSONResponse(problem_of(error) | body, 422, media_type="application/problem+json")
    return JSONResponse(body)
