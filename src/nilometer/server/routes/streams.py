"""`/api/v1/streams`: the declared streams, their state, statistics and ledger; declare, replace and drop one."""

from __future__ import annotations

import re
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

from fastapi import APIRouter, Query, Request
from pydantic import BaseModel, Field
from starlette.responses import Response

from nilometer.catalog import Stream
from nilometer.catalog.answer_streams import is_answers
from nilometer.catalog.peer_streams import is_inner
from nilometer.errors import ConfigurationError
from nilometer.language import ast, parse, print_statement
from nilometer.language.print_expressions import identifier
from nilometer.server.desk import Desk, page, stream_of
from nilometer.server.encoding import schema_json
from nilometer.server.roles import ADMIN, READ
from nilometer.server.routes.declaring import declared
from nilometer.types import SECOND, Schema, format_time

if TYPE_CHECKING:
    from nilometer.engine import Database
    from nilometer.live.station import Station

Limit = Annotated[int, Query(ge=1, le=1_000, description="how many on a page")]
After = Annotated[str | None, Query(max_length=200, description="only those after this name")]

_NAME = r"^[A-Za-z_][A-Za-z0-9_]{0,62}$"
_DURATION = r"^[0-9]{1,9} [A-Za-z]{3,12}$"


class ColumnDeclared(BaseModel):
    """A column."""

    name: str = Field(pattern=_NAME)
    type: str = Field(pattern=r"^[A-Za-z]{3,9}$", examples=["FLOAT"])
    unit: str | None = Field(None, max_length=40, examples=["ug/m3"])


class StreamDeclared(BaseModel):
    """A stream, as CREATE STREAM declares it. Without `address`, readings are posted to it."""

    name: str = Field(pattern=_NAME)
    columns: list[ColumnDeclared] = Field(min_length=1, max_length=500)
    every: str | None = Field(
        None, pattern=_DURATION, description="for a sensed stream", examples=["15 MINUTES"]
    )
    address: str | None = Field(None, max_length=2_000, examples=["mqtt://broker/air/+"])
    delay: str | None = Field(None, pattern=_DURATION, examples=["5 SECONDS"])
    key: list[Annotated[str, Field(pattern=_NAME)]] = Field(default_factory=list, max_length=20)
    expect: str | None = Field(None, pattern=_DURATION, examples=["1 MINUTE"])
    future: str | None = Field(None, pattern=_DURATION)
    coordinates: str | None = Field(None, max_length=40, examples=["WGS84"])

    def text(self) -> str:
        """The statement."""
        columns = ", ".join(
            f"{column.name} {column.type}" + (f" UNIT {_quoted(column.unit)}" if column.unit else "")
            for column in self.columns
        )
        parts = [f"CREATE STREAM {self.name} ({columns})"]
        parts.append("PUSHED" if self.every is None else f"SENSED EVERY {self.every}")
        parts += [f"FROM {_quoted(self.address)}"] if self.address else []
        parts += [f"DELAY {self.delay}"] if self.delay else []
        parts += [f"KEY ({', '.join(self.key)})"] if self.key else []
        parts += [f"EXPECT EVERY {self.expect}"] if self.expect else []
        parts += [f"FUTURE {self.future}"] if self.future else []
        if self.coordinates:
            wgs84 = self.coordinates.upper() == "WGS84"
            parts.append(f"COORDINATES {'WGS84' if wgs84 else _quoted(self.coordinates)}")
        return print_statement(parse(" ".join(parts)))


class SqlText(BaseModel):
    """A statement."""

    sql: str = Field(max_length=100_000, examples=["CREATE STREAM air (id STRING, pm25 FLOAT) PUSHED"])


def add(router: APIRouter, desk: Desk) -> None:
    """Add the routes."""

    @router.get("/streams", dependencies=[READ], tags=["streams"])
    async def streams(request: Request, limit: Limit = 100, after: After = None) -> dict[str, Any]:
        """The declared streams."""
        open_ = await desk.station(_open)
        found = await desk.with_database(
            lambda database: [
                described(database, stream, open_.get(stream.name.lower()))
                for stream in database.catalog.streams()
                if not is_answers(stream) and not is_inner(stream)
            ]
        )
        return page(found, "name", limit, after, request.url.path)

    @router.post(
        "/streams",
        dependencies=[ADMIN],
        tags=["streams"],
        status_code=201,
        openapi_extra={
            "requestBody": {
                "required": True,
                "content": {
                    "application/sql": {"schema": {"type": "string"}},
                    "application/json": {
                        "schema": {
                            "anyOf": [
                                {"$ref": "#/components/schemas/StreamDeclared"},
                                {"$ref": "#/components/schemas/SqlText"},
                            ]
                        }
                    },
                },
            }
        },
    )
    async def declare(request: Request) -> Response:
        """Declare a stream: SQL (`application/sql`), `{"sql": ...}`, or its parts as JSON."""
        text = await statement_text(request, StreamDeclared)
        return await declared(
            desk,
            request,
            text,
            ast.CreateStream,
            "a stream is declared with CREATE STREAM or REPLACE STREAM",
            hint="other statements: POST /api/v1/statements",
        )

    @router.get("/streams/{name}", dependencies=[READ], tags=["streams"])
    async def stream(name: str) -> dict[str, Any]:
        """One stream, with the books of its readings."""
        open_ = await desk.station(_open)
        return await desk.with_database(
            lambda database: (
                described(database, stream_of(database, name), open_.get(name.lower()))
                | {"ledger": _ledger(database, name, open_.get(name.lower()))}
            )
        )

    @router.delete("/streams/{name}", dependencies=[ADMIN], tags=["streams"])
    async def drop(name: str) -> dict[str, Any]:
        """Drop a stream that nothing reads. Its log stays on the disk."""
        known = await desk.with_database(lambda database: stream_of(database, name).name)
        return {"told": await desk.wait_for(lambda: desk.execute(f"DROP STREAM {identifier(known)}"))}

    @router.get("/streams/{name}/statistics", dependencies=[READ], tags=["streams"])
    async def statistics(name: str) -> dict[str, Any]:
        """Rates, gaps and values of the newest readings, measured now."""
        await desk.with_database(lambda database: stream_of(database, name))
        return await desk.at_hand(lambda database: _statistics(database, name))

    @router.get("/streams/{name}/ledger", dependencies=[READ], tags=["streams"])
    async def ledger(name: str) -> dict[str, Any]:
        """What became of every reading: received = appended + garbled + future + duplicate + shed."""
        open_ = await desk.station(_open)
        return await desk.with_database(lambda database: _ledger(database, name, open_.get(name.lower())))


async def statement_text(request: Request, model: type[StreamDeclared] | None = None) -> str:
    """The statement of a body: SQL as text, `{"sql": ...}`, or the parts of a model as JSON."""
    from fastapi.exceptions import RequestValidationError
    from pydantic import ValidationError

    from nilometer.server.problems import MediaTypeError

    kind = request.headers.get("content-type", "").split(";")[0].strip().lower()
    body = await request.body()
    if kind in ("application/sql", "text/plain", "application/x-sql"):
        try:
            return body.decode()
        except UnicodeDecodeError:
            raise ConfigurationError("the body is not text in UTF-8") from None
    if kind != "application/json":
        raise MediaTypeError(
            f"'{kind[:80]}' is no form of a declaration", hint="send application/sql or application/json"
        )
    try:
        if model is None or re.match(rb'\s*\{\s*"sql"\s*:', body):
            return SqlText.model_validate_json(body).sql
        return model.model_validate_json(body).text()
    except ValidationError as error:
        raise RequestValidationError(error.errors(include_url=False, include_context=False)) from None


def described(database: Database, stream: Stream, now: dict[str, Any] | None) -> dict[str, Any]:
    """A stream as JSON."""
    from nilometer.redaction import redacted

    pushed = stream.url is None and not database.data.has(stream)
    return {
        "name": stream.name,
        "kind": "sensed" if stream.sensed else "pushed",
        "columns": schema_json(Schema(stream.columns)),
        "address": None if stream.url is None else redacted(stream.url),
        "takes_readings": pushed,
        "interval_seconds": None if stream.interval is None else stream.interval / SECOND,
        "delay_seconds": stream.delay / SECOND,
        "key": list(stream.key),
        "coordinates": stream.coordinates,
        "sensors": len(database.catalog.sensors(stream.name)),
        "status": None if now is None else {name: now[name] for name in now if name != "ledger"},
    }


def _open(station: Station) -> dict[str, dict[str, Any]]:
    """How the open sources do."""
    found = {}
    for name in station.manager.streams:
        status = station.manager.status(name)
        found[name] = {
            "state": status.state.value,
            "trouble": status.trouble,
            "rate": round(status.rate, 3),
            "last_arrival": None if status.last_arrival is None else format_time(status.last_arrival),
            "late": status.late,
            "backlog": status.backlog,
            "expected": status.expected,
            "missing": status.missing,
            "silent": list(status.silent[:100]),
            "silent_count": len(status.silent),
            "queries": list(status.queries),
            "end": status.end.position,
            "ledger": status.ledger.as_dict(),
        }
    return found


def _ledger(database: Database, name: str, now: dict[str, Any] | None) -> dict[str, Any]:
    from nilometer.live.books import ledger_of
    from nilometer.log import LogDirectory

    stream = stream_of(database, name)
    if now is not None:
        return {"stream": stream.name, **now["ledger"]}
    assert database.data.base is not None
    log = LogDirectory(database.data.base).log(stream)
    counts = ledger_of(log).as_dict() if log.exists else {}
    return {"stream": stream.name, **counts}


def _statistics(database: Database, name: str) -> dict[str, Any]:
    from nilometer.engine.measuring import measure_stream

    found = measure_stream(database, stream_of(database, name))
    return {"stream": name, "readings": 0} if found is None else asdict(found)


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
