"""`/api/v1/query`: ask a query once: over data at hand, or live, as a stream of rows.

A question ends, whatever it reads: data at hand is what files and logs have by now. Only `live=true`, or a client that
accepts nothing but server-sent events, gets a stream without end.

A live query is a function of the logs and of the place where it began. So the id of each of its events says that place
and how many rows came: the same query with `Last-Event-ID` goes on there, also at the next server.
"""

from __future__ import annotations

import base64
import contextlib
import json
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Annotated, Any

from fastapi import APIRouter, Header, Query, Request
from fastapi.responses import StreamingResponse
from pydantic import BaseModel, Field
from starlette.responses import Response

from nilometer.errors import NilometerError
from nilometer.live.answers import Answer, frame_of_answer
from nilometer.live.starts import start_of
from nilometer.server import encoding
from nilometer.server.desk import Desk
from nilometer.server.encoding import ARROW, CSV, JSON, NDJSON, SSE, ArrowStream
from nilometer.server.problems import (
    ConflictError,
    NotAcceptableError,
    TooLargeError,
    TooManyError,
    problem_of,
)
from nilometer.server.roles import READ
from nilometer.server.settings import LIVE_QUERIES, TEXT_BYTES

if TYPE_CHECKING:
    import polars as pl

    from nilometer.engine import Database
    from nilometer.live.owner.owner import ClientQuery, Fetched

FORMS = (JSON, NDJSON, CSV, ARROW, SSE)
LIVE_FORMS = (SSE, NDJSON)
WAIT = 1.0
"""Seconds that a thread waits for rows before it looks whether the client is still there."""


class Question(BaseModel):
    """A query."""

    sql: str = Field(max_length=100_000, examples=["SELECT id, MAX(pm25) AS top FROM air GROUP BY id"])
    parameters: dict[str, Any] = Field(default_factory=dict, max_length=100)
    live: bool | None = Field(
        None,
        strict=True,
        description="true: rows as they come, without end; default: only if Accept asks for server-sent events",
    )
    start: str = Field(
        "now", max_length=40, description="where a live query begins: now, beginning, or a time"
    )
    limit: int | None = Field(None, ge=0, le=10_000_000, description="at most so many rows")


def add(router: APIRouter, desk: Desk) -> None:
    """Add the routes."""
    described: dict[int | str, dict[str, Any]] = {
        200: {"description": "The rows.", "content": {form: {} for form in FORMS}}
    }

    @router.post(
        "/query", dependencies=[READ], tags=["queries"], response_class=Response, responses=described
    )
    async def ask(
        request: Request, question: Question, last_event_id: Annotated[str | None, Header()] = None
    ) -> Response:
        """Ask a query over data at hand, or live (server-sent events or JSON lines)."""
        return await _answer(desk, request, question, last_event_id)

    @router.get("/query", dependencies=[READ], tags=["queries"], response_class=Response, responses=described)
    async def ask_by_address(
        request: Request,
        sql: Annotated[str, Query(max_length=4_000)],
        live: bool | None = None,
        start: Annotated[str, Query(max_length=40)] = "now",
        limit: Annotated[int | None, Query(ge=0, le=10_000_000)] = None,
        last_event_id: Annotated[str | None, Header()] = None,
    ) -> Response:
        """The same, for programs that can only GET, such as a browser's EventSource."""
        question = Question(sql=sql, live=live, start=start, limit=limit)
        return await _answer(desk, request, question, last_event_id)


async def _answer(desk: Desk, request: Request, asked: Question, last_event: str | None) -> Response:
    if len(asked.sql.encode()) > TEXT_BYTES:
        raise TooLargeError(f"a query has at most {TEXT_BYTES >> 10} KiB")
    accept = request.headers.get("accept")
    live = encoding.chosen(accept, FORMS) == SSE if asked.live is None else asked.live
    if not live:
        form = encoding.chosen(accept, FORMS[:-1])
        if form is None:
            raise NotAcceptableError(
                "an answer over data at hand has no such form", hint=f"accept one of {', '.join(FORMS[:-1])}"
            )
        wanted = form
        return await desk.at_hand(lambda database: _at_hand(database, asked, wanted))
    form = encoding.chosen(accept, LIVE_FORMS)
    if form is None:
        raise NotAcceptableError(
            "the rows of a live query have no such form", hint=f"accept one of {', '.join(LIVE_FORMS)}"
        )
    if len(desk.owner.asked) >= LIVE_QUERIES:
        raise TooManyError(f"{LIVE_QUERIES} live queries of clients run already", hint="try again later")
    start, rows = _resumed(last_event) if last_event is not None else (start_of(asked.start), 0)
    parameters = {str(name): value for name, value in asked.parameters.items()}
    running = await desk.wait_for(lambda: desk.owner.install(asked.sql, parameters, start=start, skip=rows))
    body = _rows(desk, running, rows, asked.limit, events=form == SSE)
    return StreamingResponse(body, 200, {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}, form)


def _at_hand(database: Database, asked: Question, form: str) -> Response:
    query = database.sql(asked.sql, **asked.parameters)
    answer = query.run()
    shown = answer if asked.limit is None else answer.head(asked.limit)
    headers = {"Nilometer-Rows": str(len(answer))}
    schema = encoding.schema_json(answer.schema)
    match form:
        case "application/x-ndjson":
            return Response("".join(f"{line}\n" for line in shown.json_rows()), 200, headers, form)
        case "text/csv":
            return Response(encoding.csv(_frame(shown), answer.schema, header=True), 200, headers, form)
        case "application/json":
            head = json.dumps(
                {"columns": schema, "total": len(answer), "streams": answer.ledgers}
                | ({"notes": answer.notes} if answer.notes else {})
            )
            lines = ", ".join(shown.json_rows())
            return Response(f'{head[:-1]}, "rows": [{lines}]}}', 200, headers, form)
    stream = ArrowStream(answer.schema, {"total": len(answer)})
    return Response(stream.part(_frame(shown)) + stream.end(), 200, headers, form)


def _frame(answer: Answer) -> pl.DataFrame:
    import polars as pl

    if isinstance(answer.given, pl.DataFrame):
        return answer.given
    return frame_of_answer(answer)


# ---- live ------------------------------------------------------------------------------------------------------------


async def _rows(
    desk: Desk, running: ClientQuery, rows: int, limit: int | None, *, events: bool
) -> AsyncIterator[bytes]:
    live = running.live
    began = {key: [at.number, at.position] for key, at in live.began.items()}
    schema, dropped, told = live.query.schema, 0, False
    try:
        if events:
            columns = encoding.schema_json(schema)
            yield _event("schema", _identity(began, rows), json.dumps({"position": rows, "columns": columns}))
        while not desk.tails.closed and (limit is None or limit > 0):
            part: Fetched = await desk.live(lambda: desk.owner.fetch(running, WAIT))
            frame = part.rows
            lost = int(part.facts["dropped"]) - dropped
            dropped += lost
            rows += lost
            if lost and events:
                yield _event("lost", None, json.dumps({"rows": lost}))
            if frame is not None:
                frame = frame if limit is None else frame[:limit]
                limit = None if limit is None else limit - frame.height
                position, rows = rows, rows + frame.height
                lines = encoding.json_lines(frame, schema)
                if events:
                    data = f'{{"position":{position},"rows":[{",".join(lines)}]}}'
                    yield _event("rows", _identity(began, rows), data)
                else:
                    yield "".join(f"{line}\n" for line in lines).encode()
            elif part.over:
                if events:
                    yield _event("end", _identity(began, rows), json.dumps({"position": rows}))
                return
            elif events and (part.facts["trouble"] or not told):
                told = True
                yield b": still here\n\n"
    except NilometerError as error:
        if events:
            yield _event("problem", None, json.dumps(problem_of(error)))
    finally:
        _remove_later(desk, running)


def _remove_later(desk: Desk, running: ClientQuery) -> None:
    """Stop the query, in a thread: the generator may be ending because the client is gone, and cannot wait."""
    import threading

    def remove() -> None:
        with contextlib.suppress(NilometerError):
            desk.owner.remove(running)

    threading.Thread(target=remove, name="nilometer-remove", daemon=True).start()


def _identity(began: dict[str, list[int]], rows: int) -> str:
    text = json.dumps([began, rows], separators=(",", ":"))
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def _resumed(text: str) -> tuple[Any, int]:
    from nilometer.log import Offset

    try:
        began, rows = json.loads(base64.urlsafe_b64decode(text[:20_000] + "=" * (-len(text) % 4)))
        if not isinstance(rows, int) or rows < 0:
            raise ValueError
        return {str(key): Offset(int(number), int(at)) for key, (number, at) in began.items()}, rows
    except (ValueError, TypeError, AttributeError, RecursionError):
        raise ConflictError(
            "this Last-Event-ID is not one of a live query", hint="begin again, without it"
        ) from None


def _event(event: str, identity: str | None, data: str) -> bytes:
    name = "" if identity is None else f"id: {identity}\n"
    return f"event: {event}\n{name}data: {data}\n\n".encode()
