"""`/api/v1/explain`: the plan of a query at every stage, as JSON or text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse, PlainTextResponse
from pydantic import BaseModel, Field
from starlette.responses import Response

from nilometer.engine.placing import PLACEMENT_STAGES
from nilometer.engine.query import STAGES
from nilometer.language import ast, parse
from nilometer.server.desk import Desk
from nilometer.server.encoding import chosen
from nilometer.server.problems import NotFoundError
from nilometer.server.roles import READ

if TYPE_CHECKING:
    from nilometer.engine import Database


class ExplainAsked(BaseModel):
    """A query, and the stage of its plan that is wanted."""

    sql: str = Field(
        max_length=100_000, examples=["SELECT id, AVG(pm25) FROM air [RANGE 1 HOUR] GROUP BY id"]
    )
    stage: str = Field(
        "optimized", description=f"one of {', '.join(STAGES)}", pattern=f"^({'|'.join(STAGES)})$"
    )
    verbose: bool = Field(False, strict=True, description="the plan after each rule, too")
    network: str | None = Field(
        None, max_length=100, description="for the stages in a network: a declared one"
    )
    parameters: dict[str, Any] = Field(default_factory=dict, max_length=100)


def add(router: APIRouter, desk: Desk) -> None:
    """Add the route."""

    @router.post("/explain", dependencies=[READ], tags=["queries"])
    async def explain(request: Request, asked: ExplainAsked) -> Response:
        """The plan of a query: JSON, or text if Accept prefers `text/plain`. `analyze` runs it over data at hand."""
        accept = request.headers.get("accept", "").replace("text/plain", "text/csv")
        as_text = chosen(accept, ("application/json", "text/csv")) == "text/csv"

        def call(database: Database) -> Any:
            return _explained(database, asked, as_text=as_text)

        if asked.stage == "analyze":
            found = await desk.at_hand(call)
        else:
            found = await desk.with_database(call)
        return PlainTextResponse(found + "\n") if as_text else JSONResponse(found)


def _explained(database: Database, asked: ExplainAsked, *, as_text: bool) -> Any:
    statement = parse(asked.sql)
    if isinstance(statement, ast.Explain):
        statement = statement.query
    query = database.query_of(statement, asked.sql, **{str(k): v for k, v in asked.parameters.items()})
    more: dict[str, Any] = {}
    if asked.stage in PLACEMENT_STAGES:
        if asked.network is not None and database.catalog.network(asked.network) is None:
            known = ", ".join(network.name for network in database.catalog.networks()) or "none"
            raise NotFoundError(f"there is no network '{asked.network}'", hint=f"declared are: {known}")
        more["network"] = asked.network
    if as_text:
        return query.explain(asked.stage, verbose=asked.verbose, **more)
    return query.explain_json(asked.stage, verbose=asked.verbose, **more)
