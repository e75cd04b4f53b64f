"""`/api/v1/queries/NAME/results`: the answers of a standing query, by server-sent events, WebSocket, JSON lines, CSV,
Arrow or JSON pages."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any

from fastapi import APIRouter, Header, Query, Request, WebSocket, WebSocketDisconnect
from fastapi.responses import StreamingResponse
from starlette.responses import Response

from nilometer.errors import NilometerError
from nilometer.live.kept_answers import kept_answers
from nilometer.live.standing import result_log
from nilometer.server import encoding
from nilometer.server.confinement import check_name
from nilometer.server.desk import Desk
from nilometer.server.encoding import ARROW, CSV, JSON, NDJSON, SSE, ArrowStream
from nilometer.server.following import Begun, Ended, Event, Failed, Quiet, alike, follow
from nilometer.server.problems import NotAcceptableError, NotFoundError, problem_of
from nilometer.server.roles import READ
from nilometer.server.shared_calls import SharedCalls
from nilometer.server.tails import Chunk, Extent, Position, begin_at, extent_of
from nilometer.types import Schema

FORMS = (JSON, SSE, NDJSON, CSV, ARROW)
PAGE = 1_000
From = Annotated[str | None, Query(alias="from", description="beginning, now, or the number of rows to skip")]


def add(router: APIRouter, desk: Desk) -> None:
    """Add the routes."""
    known: SharedCalls[_Known] = SharedCalls()

    @router.get(
        "/queries/{name}/results",
        dependencies=[READ],
        tags=["results"],
        response_class=Response,
        responses={
            200: {
                "description": "The rows, in the form that Accept asks for.",
                "content": {form: {} for form in FORMS},
            }
        },
    )
    async def results(
        request: Request,
        name: str,
        from_: From = None,
        limit: Annotated[int | None, Query(ge=1, le=1_000_000, description="at most so many rows")] = None,
        on: Annotated[
            bool | None,
            Query(alias="follow", description="also the rows that are still to come; default for events"),
        ] = None,
        last_event_id: Annotated[str | None, Header(description="the id of the last event")] = None,
    ) -> Response:
        """The answers of a standing query, oldest first.

        `text/event-stream` goes on until all streams of the query have ended. Its events have ids: a client that
        sends the last one as `Last-Event-ID` gets every row exactly once, also after a crash of either side. JSON
        gives a page; `next` is the address of the next one. JSON lines, CSV and Arrow end with the present unless
        `follow=true`; `Nilometer-Position` is the position of the first row. CSV and Arrow also end where the columns
        of the query change.
        """
        form = encoding.chosen(request.headers.get("accept"), FORMS)
        if form is None:
            raise NotAcceptableError(
                "the answers have no such form", hint=f"accept one of {', '.join(FORMS)}"
            )
        begun = await _begin(desk, known, name, from_, last_event_id)
        if form == JSON:
            return await _page(desk, begun, limit or PAGE, request.url.path)
        events = follow(desk, begun, on=(form == SSE) if on is None else on, limit=limit)
        headers = {
            "Cache-Control": "no-store",
            "X-Accel-Buffering": "no",
            "Nilometer-Version": begun.version,
            "Nilometer-Position": str(begun.position.rows),
        }
        match form:
            case "text/event-stream":
                body = server_sent(events)
            case "application/x-ndjson":
                body = _lines(events)
            case "text/csv":
                body = _csv(events)
            case _:
                body = _arrow(events)
        return StreamingResponse(body, 200, headers, form)

    @router.websocket("/queries/{name}/results", dependencies=[READ])
    async def results_by_websocket(
        socket: WebSocket, name: str, from_: From = None, last_event_id: str | None = None
    ) -> None:
        """The same events, each a JSON text."""
        await socket.accept()
        try:
            begun = await _begin(desk, known, name, from_, last_event_id)
            await _converse(socket, follow(desk, begun, on=True))
        except NilometerError as error:
            with contextlib.suppress(RuntimeError, WebSocketDisconnect):
                await socket.send_text(json.dumps({"event": "problem", **problem_of(error)}))
                await socket.close(1008, error.message[:100])


@dataclass(frozen=True)
class _Known:
    """What every subscriber of a query is told first."""

    name: str
    version: str
    schema: Schema
    extent: Extent


async def _begin(
    desk: Desk, known: SharedCalls[_Known], name: str, asked: str | None, last_event: str | None
) -> Begun:
    check_name(name)
    found = await known.ask(name.lower(), lambda: desk.wait_for(lambda: _look(desk, name)))
    if last_event is None and asked == "now":
        # The end of the log is looked for.
        place = await desk.wait_for(lambda: begin_at(desk.directory, name, found.extent, asked, None))
    else:
        place = begin_at(desk.directory, name, found.extent, asked, last_event)
    return Begun(found.name, found.version, found.schema, place)


def _look(desk: Desk, name: str) -> _Known:
    with desk.database() as database:
        try:
            found = kept_answers(database, name)
        except NilometerError as error:
            raise NotFoundError(error.message, detail=error.detail, hint=error.hint) from None
        definition = database.catalog.query(name)
        declared = None if definition is None else database.sql(definition.text).schema
    schema = found.schema
    if declared is not None and alike(declared, schema):
        schema = declared  # the log does not keep units
    last = result_log(desk.directory, name).last
    return _Known(
        name if definition is None else definition.name,
        "" if last is None else last.version,
        schema,
        extent_of(desk.directory, name),
    )


# ---- forms -----------------------------------------------------------------------------------------------------------


async def server_sent(events: AsyncIterator[Event]) -> AsyncIterator[bytes]:
    """Events as `text/event-stream`."""
    first: int = 0
    yield b"retry: 1000\n\n"
    async for event in events:
        match event:
            case Begun(position=position):
                first = position.first
                yield _sse("schema", str(position), json.dumps(_about(event)))
            case Chunk():
                yield await event.encode("sse", partial(_sse_rows, first))
            case Quiet(trouble=None):
                yield b": still here\n\n"
            case Quiet(trouble=trouble):
                yield _sse("trouble", None, json.dumps({"detail": trouble}))
            case Ended(position=position):
                yield _sse("end", str(position), json.dumps({"position": position.rows}))
            case Failed(error=error):
                yield _sse("problem", None, json.dumps(problem_of(error)))


def _sse(event: str, identity: str | None, data: str) -> bytes:
    name = "" if identity is None else f"id: {identity}\n"
    return f"event: {event}\n{name}data: {data}\n\n".encode()


def _sse_rows(first: int, chunk: Chunk) -> bytes:
    return _sse("rows", *_rows(first, chunk))


def _rows(first: int, chunk: Chunk) -> tuple[str, str]:
    """The id of an event with rows, and its data."""
    lines = ",".join(encoding.json_lines(chunk.rows, chunk.schema))
    identity = str(Position(first, chunk.end, chunk.after))
    return identity, f'{{"position":{chunk.position},"rows":[{lines}]}}'


def _about(begun: Begun) -> dict[str, Any]:
    return {
        "query": begun.name,
        "version": begun.version,
        "position": begun.position.rows,
        "columns": encoding.schema_json(begun.schema),
    }


async def _lines(events: AsyncIterator[Event]) -> AsyncIterator[bytes]:
    async for event in events:
        if isinstance(event, Chunk):
            yield await event.encode("ndjson", lambda chunk: encoding.ndjson(chunk.rows, chunk.schema))
        elif isinstance(event, Failed):
            return


async def _csv(events: AsyncIterator[Event]) -> AsyncIterator[bytes]:
    names: tuple[str, ...] | None = None
    begun: Begun | None = None
    async for event in events:
        if isinstance(event, Begun):
            if names is not None and names != event.schema.names:
                return
            begun = event
        elif isinstance(event, Chunk):
            yield encoding.csv(event.rows, event.schema, header=names is None)
            names = event.schema.names
    if names is None and begun is not None:
        yield (",".join(begun.schema.names) + "\n").encode()


async def _arrow(events: AsyncIterator[Event]) -> AsyncIterator[bytes]:
    stream: ArrowStream | None = None
    begun: Begun | None = None
    async for event in events:
        if isinstance(event, Begun):
            if stream is not None and begun is not None:
                if not alike(begun.schema, event.schema):
                    break
                continue
            begun = event
        elif isinstance(event, Chunk):
            if stream is None:
                assert begun is not None
                stream = _arrow_stream(begun)
            yield stream.part(event.rows)
    if stream is None and begun is not None:
        stream = _arrow_stream(begun)
    if stream is not None:
        yield stream.part(None) + stream.end()


def _arrow_stream(begun: Begun) -> ArrowStream:
    about = {"query": begun.name, "version": begun.version, "position": begun.position.rows}
    return ArrowStream(begun.schema, about)


async def _page(desk: Desk, begun: Begun, limit: int, path: str) -> Response:
    columns, version, last, more = begun.schema, begun.version, begun.position, False
    lines: list[str] = []
    async for event in follow(desk, begun, on=False, limit=limit):
        match event:
            case Begun() if not lines:
                columns, version = event.schema, event.version
            case Begun():
                more = True
                break  # other columns: they are on the next page
            case Chunk():
                lines += encoding.json_lines(event.rows, event.schema)
                last = Position(begun.position.first, event.end, event.after)
            case Failed(error=error):
                raise error
    more = more or len(lines) >= limit
    head = {
        "query": begun.name,
        "version": version,
        "columns": encoding.schema_json(columns),
        "position": begun.position.rows,
        "last_event_id": str(last),
        "next": f"{path}?from={last.rows}&limit={limit}" if more else None,
    }
    text = json.dumps(head)[:-1] + f', "rows": [{", ".join(lines)}]}}'
    link = {"Link": f'<{head["next"]}>; rel="next"'} if more else {}
    return Response(text, 200, link, JSON)


async def _converse(socket: WebSocket, events: AsyncIterator[Event]) -> None:
    """Send events until they end, or until the client goes."""

    async def listen() -> None:
        with contextlib.suppress(WebSocketDisconnect, RuntimeError):
            while True:
                await socket.receive()

    async def speak() -> None:
        first = 0
        async for event in events:
            match event:
                case Begun(position=position):
                    first = position.first
                    await _say(socket, {"event": "schema", "id": str(position), **_about(event)})
                case Chunk():
                    text = await event.encode("ws", partial(_spoken, first))
                    await socket.send_text(text.decode())
                case Quiet(trouble=None):
                    pass  # the protocol has pings of its own
                case Quiet(trouble=trouble):
                    await _say(socket, {"event": "trouble", "detail": trouble})
                case Ended(position=position):
                    await _say(socket, {"event": "end", "id": str(position), "position": position.rows})
                case Failed(error=error):
                    await _say(socket, {"event": "problem", **problem_of(error)})
        await socket.close(1000)

    speaking, listening = asyncio.ensure_future(speak()), asyncio.ensure_future(listen())
    _, left = await asyncio.wait((speaking, listening), return_when=asyncio.FIRST_COMPLETED)
    for task in left:
        task.cancel()
    for task in (speaking, listening):
        with contextlib.suppress(asyncio.CancelledError, WebSocketDisconnect, RuntimeError):
            await task


async def _say(socket: WebSocket, message: dict[str, Any]) -> None:
    await socket.send_text(json.dumps(message))


def _spoken(first: int, chunk: Chunk) -> bytes:
    identity, data = _rows(first, chunk)
    return f'{{"event":"rows","id":"{identity}",{data[1:]}'.encode()
