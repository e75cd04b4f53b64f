"""`/api/v1/explain`: the plan of a query at every stage, as JSON, text or a drawing (SVG)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal

from fastapi import APIRouter, Query, Request
from fastapi.responses import JSONResponse, PlainTextResponse
from pydantic import BaseModel, Field
from starlette.responses import Response

from nilometer.engine.placing import PLACEMENT_STAGES
from nilometer.engine.query import STAGES
from nilometer.language import ast, parse
from nilometer.server.desk import Desk
from nilometer.server.encoding import JSON, SVG, TEXT, chosen, schema_json
from nilometer.server.problems import NotAcceptableError, NotFoundError
from nilometer.server.roles import READ

if TYPE_CHECKING:
    from nilometer.engine import Database

PATTERN = f"^({'|'.join(STAGES)})$"


class ExplainAsked(BaseModel):
    """A query, and the stage of its plan that is wanted."""

    sql: str = Field(
        max_length=100_000, examples=["SELECT id, AVG(pm25) FROM air [RANGE 1 HOUR] GROUP BY id"]
    )
    stage: str = Field("optimized", description=f"one of {', '.join(STAGES)}", pattern=PATTERN)
    verbose: bool = Field(False, strict=True, description="the plan after each rule, too")
    network: str | None = Field(
        None, max_length=100, description="for the stages in a network: a declared one"
    )
    parameters: dict[str, Any] = Field(default_factory=dict, max_length=100)


FORMS = (JSON, TEXT, SVG)
NAMED = {"json": JSON, "text": TEXT, "svg": SVG}
CLOSED = {"Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'"}
"""For a drawing that is opened as a page."""


def add(router: APIRouter, desk: Desk) -> None:
    """Add the routes."""
    described: dict[int | str, dict[str, Any]] = {
        200: {"description": "The plan.", "content": {form: {} for form in FORMS}}
    }

    @router.post(
        "/explain", dependencies=[READ], tags=["queries"], response_class=Response, responses=described
    )
    async def explain(request: Request, asked: ExplainAsked) -> Response:
        """The plan of a query at a stage: JSON, text, or a drawing, as Accept prefers. `analyze` runs it over data at
        hand. JSON also has the columns of the answer."""
        return await _answer(desk, request, asked)

    @router.get(
        "/explain", dependencies=[READ], tags=["queries"], response_class=Response, responses=described
    )
    async def explain_by_address(
        request: Request,
        sql: Annotated[str, Query(max_length=4_000)],
        stage: Annotated[str, Query(pattern=PATTERN)] = "optimized",
        verbose: bool = False,
        network: Annotated[str | None, Query(max_length=100)] = None,
        form: Annotated[
            Literal["json", "text", "svg"] | None,
            Query(description="for a link, which cannot say what it accepts"),
        ] = None,
    ) -> Response:
        """The same, for a page that shows the drawing: `<img src="/api/v1/explain?sql=...">`, or a link with
        `&form=svg`."""
        asked = ExplainAsked(sql=sql, stage=stage, verbose=verbose, network=network)
        return await _answer(desk, request, asked, None if form is None else NAMED[form])


async def _answer(desk: Desk, request: Request, asked: ExplainAsked, named: str | None = None) -> Response:
    form = named or chosen(request.headers.get("accept"), FORMS)
    if form is None:
        raise NotAcceptableError("a plan has no such form", hint=f"accept one of {', '.join(FORMS)}")

    def call(database: Database) -> Any:
        return _explained(database, asked, form)

    found = await (desk.at_hand(call) if asked.stage == "analyze" else desk.with_database(call))
    if form == JSON:
        return JSONResponse(found)
    if form == SVG:
        return Response(found, 200, CLOSED, SVG)
    return PlainTextResponse(found + "\n")


def _explained(database: Database, asked: ExplainAsked, form: str) -> Any:
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
    if form == SVG:
        return query.picture(asked.stage, **more)
    if form == TEXT:
        return query.explain(asked.stage, verbose=asked.verbose, **more)
    found = query.explain_json(asked.stage, verbose=asked.verbose, **more)
    return found | {"columns": schema_json(query.schema)}
