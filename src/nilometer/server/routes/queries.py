"""`/api/v1/queries`: the standing queries; install, replace, pause, resume and drop one."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Annotated, Any
from urllib.parse import quote

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from nilometer.errors import ConfigurationError
from nilometer.language import ast, parse, print_statement
from nilometer.language.print_expressions import identifier
from nilometer.live.declared_versions import versions_of
from nilometer.live.query_list import QueryState, query_state
from nilometer.live.standing import result_log
from nilometer.server.confinement import check_name
from nilometer.server.desk import Desk, page, query_of
from nilometer.server.encoding import schema_json
from nilometer.server.problems import ConflictError
from nilometer.server.roles import ADMIN, READ
from nilometer.server.routes.declaring import declared
from nilometer.server.routes.streams import After, Limit, statement_text
from nilometer.types import SECOND, format_time

if TYPE_CHECKING:
    from nilometer.engine import Database
    from nilometer.live.query_metrics import QueryMetrics
    from nilometer.live.station import Station

SQL_BODY = {
    "requestBody": {
        "required": True,
        "content": {
            "application/sql": {"schema": {"type": "string"}},
            "application/json": {"schema": {"$ref": "#/components/schemas/SqlText"}},
        },
    }
}


def add(router: APIRouter, desk: Desk) -> None:
    """Add the routes."""

    @router.get("/queries", dependencies=[READ], tags=["queries"])
    async def queries(request: Request, limit: Limit = 100, after: After = None) -> dict[str, Any]:
        """The standing queries, with state, version, offsets, rates, late readings and lag."""
        running = await desk.station(_running)
        found = await desk.with_database(
            lambda database: [
                _described(desk, database, query.name, running) for query in database.catalog.queries()
            ]
        )
        return page(found, "name", limit, after, request.url.path)

    @router.post("/queries", dependencies=[ADMIN], tags=["queries"], status_code=201, openapi_extra=SQL_BODY)
    async def create(request: Request) -> Response:
        """Install a standing query: `CREATE QUERY name AS SELECT ...`, or `REPLACE QUERY ...`."""
        text = await statement_text(request)
        return await declared(
            desk,
            request,
            text,
            ast.CreateQuery,
            "a standing query is installed with CREATE QUERY name AS SELECT ...",
            hint="to name it in the address: PUT /api/v1/queries/NAME with the SELECT alone",
        )

    @router.get("/queries/{name}", dependencies=[READ], tags=["queries"])
    async def query(name: str) -> dict[str, Any]:
        """One standing query."""
        running = await desk.station(_running)
        return await desk.with_database(
            lambda database: _described(desk, database, query_of(database, name).name, running)
        )

    @router.get("/queries/{name}/versions", dependencies=[READ], tags=["queries"])
    async def versions(name: str) -> dict[str, Any]:
        """The texts that a query has had, newest first: when each was installed, by schema.sql or a client, and the
        number of readings in each stream's log before the first that it read. The newest 20 are kept."""
        known = await desk.with_database(lambda database: query_of(database, name).name)
        return {"name": known, "items": await declared_versions(desk, "QUERY", known)}

    @router.put("/queries/{name}", dependencies=[ADMIN], tags=["queries"], openapi_extra=SQL_BODY)
    async def put(
        request: Request,
        name: str,
        starting: Annotated[
            str | None, Query(max_length=40, description="for a new query: beginning, or a time")
        ] = None,
        state: Annotated[
            str | None,
            Query(
                pattern="^(keep|backfill|empty)$", description="where the state of another text comes from"
            ),
        ] = None,
    ) -> dict[str, Any]:
        """Install a query under this name, or let it go on with another text: a SELECT."""
        text = await statement_text(request)
        asked = parse(text)
        if not isinstance(asked, ast.QueryNode):
            raise ConfigurationError(
                "the body is a SELECT: the address has the name",
                hint="POST /api/v1/queries takes CREATE QUERY",
            ).at(text, asked.span)
        there = await desk.with_database(lambda database: database.catalog.query(name))
        if there is not None and starting is not None:
            raise ConflictError(f"'{there.name}' has begun already", hint="leave `starting` out")
        begin = "" if starting is None else f" STARTING AT {_moment(starting)}"
        choice = {None: "", "keep": " KEEP STATE", "backfill": " BACKFILL", "empty": " EMPTY STATE"}[state]
        shown = identifier(check_name(name))
        head = f"CREATE QUERY {shown}{begin} AS " if there is None else f"REPLACE QUERY {shown}{choice} AS "
        whole = print_statement(parse(head + print_statement(asked)))
        return {"name": name, "told": await desk.wait_for(lambda: desk.execute(whole))}

    @router.delete("/queries/{name}", dependencies=[ADMIN], tags=["queries"])
    async def drop(name: str) -> dict[str, Any]:
        """Stop a query, and delete its state and all its answers."""
        return await _change(desk, name, "DROP")

    @router.post("/queries/{name}/pause", dependencies=[ADMIN], tags=["queries"])
    async def pause(name: str) -> dict[str, Any]:
        """Pause a query."""
        return await _change(desk, name, "PAUSE")

    @router.post("/queries/{name}/resume", dependencies=[ADMIN], tags=["queries"])
    async def resume(name: str) -> dict[str, Any]:
        """Let a query go on where it stopped."""
        return await _change(desk, name, "RESUME")

    @router.post(
        "/statements", dependencies=[ADMIN], tags=["queries"], status_code=200, openapi_extra=SQL_BODY
    )
    async def statements(request: Request) -> dict[str, Any]:
        """Carry out any one statement that changes what is declared or what runs."""
        text = await statement_text(request)
        return {"told": await desk.wait_for(lambda: desk.execute(text))}


async def declared_versions(desk: Desk, kind: str, name: str) -> list[dict[str, Any]]:
    """The versions of a query or model, newest first."""

    def found() -> list[dict[str, Any]]:
        changes = desk.owner.changes
        records = () if changes is None else changes.control.versions.get((kind, name.lower()), ())
        return [version.as_dict() for version in versions_of(records)]

    return await desk.station(lambda _: found())


async def _change(desk: Desk, name: str, verb: str) -> dict[str, Any]:
    known = await desk.with_database(lambda database: query_of(database, name).name)
    return {
        "name": known,
        "told": await desk.wait_for(lambda: desk.execute(f"{verb} QUERY {identifier(known)}")),
    }


def _moment(text: str) -> str:
    return "BEGINNING" if text.strip().lower() == "beginning" else "'" + text.replace("'", "''") + "'"


def _running(station: Station) -> dict[str, QueryMetrics]:
    """The metrics of the standing queries that run."""
    standing = {query.name for query in station.database.catalog.queries()}
    return {name.lower(): station.reports.metrics(name) for name in station.queries if name in standing}


def _described(desk: Desk, database: Database, name: str, running: dict[str, QueryMetrics]) -> dict[str, Any]:
    assert database.data.base is not None
    definition = query_of(database, name)
    found: QueryState = query_state(database, database.data.base, name, time.time_ns() // 1_000)
    last = result_log(database.data.base, name).last
    now = running.get(name.lower())
    watermark = found.watermark if now is None else now.watermark
    lag = found.lag if now is None else now.lag
    query = database.sql(definition.text)
    return {
        "name": definition.name,
        "sql": definition.text,
        "state": found.state.value,
        "host": found.host or (None if now is None else now.host),
        "version": None if last is None else last.version,
        "changed": found.changed,
        "columns": schema_json(query.schema),
        "rows": found.rows,
        "rows_per_second": desk.rates.of(name),
        "read": found.read if now is None else now.rows_in,
        "late": found.late if now is None else now.late,
        "shed": found.shed,
        "behind": found.behind,
        "offsets": {} if last is None else {stream: at.position for stream, at in last.offsets.items()},
        "watermark": None if watermark is None else format_time(watermark),
        "lag_seconds": None if lag is None else lag / SECOND,
        "batch_milliseconds": found.batch_milliseconds if now is None else now.batch_milliseconds,
        "state_bytes": found.state_bytes if now is None else now.state_bytes,
        "completeness": found.completeness if now is None else now.completeness,
        "trouble": found.trouble if now is None else now.trouble,
        "results": f"/api/v1/queries/{quote(definition.name)}/results",
    }
