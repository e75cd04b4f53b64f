"""`/api/v1/decisions`: what was decided and why; a person acknowledges or overrules it."""

from __future__ import annotations

from typing import Annotated, Any
from urllib.parse import quote

from fastapi import APIRouter, Path, Query, Request
from pydantic import BaseModel, ConfigDict, Field
from starlette.responses import Response

from nilometer.errors import ConfigurationError
from nilometer.language import ast
from nilometer.language.print_expressions import identifier
from nilometer.live import verdicts
from nilometer.server.desk import Desk, page
from nilometer.server.problems import NotFoundError
from nilometer.server.roles import ADMIN, READ, WRITE
from nilometer.server.routes.declaring import declared
from nilometer.server.routes.queries import SQL_BODY
from nilometer.server.routes.streams import After, Limit, statement_text
from nilometer.server.who import WHO
from nilometer.types import INT_MAXIMUM

Position = Annotated[int, Path(ge=0, le=INT_MAXIMUM, description="the number of decisions before it")]


class Said(BaseModel):
    """A person's verdict. `action` is what is done instead of what was decided."""

    model_config = ConfigDict(extra="forbid")
    action: str | None = Field(None, min_length=1, max_length=verdicts.LONGEST)
    note: str | None = Field(None, max_length=verdicts.LONGEST)


def add(router: APIRouter, desk: Desk) -> None:
    """Add the routes."""

    @router.get("/decisions", dependencies=[READ], tags=["decisions"])
    async def listed(request: Request, limit: Limit = 100, after: After = None) -> dict[str, Any]:
        """The declared decisions, with the stream of what people said about each."""
        found = await desk.with_database(lambda database: database.show("DECISIONS"))
        return page(found, "name", limit, after, request.url.path)

    @router.post(
        "/decisions", dependencies=[ADMIN], tags=["decisions"], status_code=201, openapi_extra=SQL_BODY
    )
    async def create(request: Request) -> Response:
        """Declare a decision: `CREATE DECISION name ON query CHOOSE (...)`, or `REPLACE DECISION ...`."""
        text = await statement_text(request)
        return await declared(
            desk,
            request,
            text,
            ast.CreateDecision,
            "a decision is declared with CREATE DECISION name ON query CHOOSE (...)",
        )

    @router.get("/decisions/{name}", dependencies=[READ], tags=["decisions"])
    async def decisions(
        name: str,
        limit: Limit = 100,
        start: Annotated[
            int | None,
            Query(alias="from", ge=0, le=INT_MAXIMUM, description="the first; default: the newest"),
        ] = None,
    ) -> dict[str, Any]:
        """A decision: action, reason, evidence, and the verdicts of people."""
        found = await desk.with_database(
            lambda database: verdicts.decisions(database, _known(database, name), start, limit)
        )
        after = f"/api/v1/decisions/{quote(name)}?from={found[-1]['position'] + 1}" if found else None
        return {"name": name, "items": found, "next": after if len(found) == limit else None}

    @router.delete("/decisions/{name}", dependencies=[ADMIN], tags=["decisions"])
    async def drop(name: str) -> dict[str, Any]:
        """Drop a decision, with its answers and what people said about them."""
        known = await desk.with_database(lambda database: _known(database, name))
        told = await desk.wait_for(lambda: desk.execute(f"DROP DECISION {identifier(known)}"))
        return {"name": known, "told": told}

    @router.post("/decisions/{name}/{position}/acknowledge", dependencies=[WRITE], tags=["decisions"])
    async def acknowledge(name: str, position: Position, said: Said) -> dict[str, Any]:
        """Say that it is done as was decided."""
        if said.action is not None:
            raise ConfigurationError("an acknowledgement has no action of its own", hint="overrule it")
        return await _say(desk, name, position, said)

    @router.post("/decisions/{name}/{position}/overrule", dependencies=[WRITE], tags=["decisions"])
    async def overrule(name: str, position: Position, said: Said) -> dict[str, Any]:
        """Say that something else is done: `action`."""
        if said.action is None:
            raise ConfigurationError("what is done instead?", hint='{"action": "pass", "note": "..."}')
        return await _say(desk, name, position, said)


async def _say(desk: Desk, name: str, position: int, said: Said) -> dict[str, Any]:
    known = await desk.with_database(lambda database: _known(database, name))
    fields = {"name": known, "position": position, "instead": said.action, "note": said.note}
    told = await desk.wait_for(lambda: desk.owner.change("decide", fields | {"by": WHO.get()}))
    return {"name": known, "position": position, **told}


def _known(database: Any, name: str) -> str:
    try:
        return verdicts.decision_of(database, name).name
    except ConfigurationError as error:
        raise NotFoundError(error.message, hint=error.hint) from None
