"""The application: all routes, behind the guard."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from fastapi import APIRouter, FastAPI
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse
from starlette.exceptions import HTTPException

from nilometer.errors import NilometerError
from nilometer.server import problems
from nilometer.server.docs_page import POLICY, page_of
from nilometer.server.guard import Guard
from nilometer.server.roles import READ, roles_of
from nilometer.server.routes import (
    alerts,
    ask,
    audit,
    dashboard,
    decisions,
    explain,
    field,
    health,
    letters,
    models,
    observed,
    peers,
    phenomena,
    queries,
    readings,
    results,
    shown,
    streams,
    words,
)
from nilometer.server.sensorthings import routes as sensorthings
from nilometer.server.sensorthings.observing import Observing
from nilometer.server.sensorthings.service import Service
from nilometer.server.shortcut import Shortcut
from nilometer.server.tokens import Tokens

if TYPE_CHECKING:
    from starlette.types import ASGIApp

    from nilometer.server.callers import Callers
    from nilometer.server.desk import Desk

PREFIX = "/api/v1"
ABOUT = "A database for sensor streams: declare streams, install standing queries, follow their answers, add readings."


RESOURCES = (
    streams,
    readings,
    queries,
    results,
    explain,
    ask,
    observed,
    phenomena,
    field,
    letters,
    models,
    shown,
    words,
    alerts,
    decisions,
    audit,
    peers,
)
"""What the API is about: a module each, which adds its routes."""


def make_application(desk: Desk) -> FastAPI:
    """The application without the guard."""

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        import asyncio

        desk.tails.start(asyncio.get_running_loop())
        yield
        desk.tails.close()

    application = FastAPI(
        title="Nilometer",
        description=ABOUT,
        version=version("nilometer"),
        docs_url=None,
        redoc_url=None,
        openapi_url=None,
        lifespan=lifespan,
        responses=problems.RESPONSES,
    )
    root, api = APIRouter(), APIRouter(prefix=PREFIX)
    health.add(root, desk)
    dashboard.add(root)
    application.state.sensorthings = service = Service(desk)
    application.state.observing = Observing(desk, service)
    sensorthings.add(root, desk, service, application.state.observing)
    for resource in RESOURCES:
        resource.add(api, desk)

    @root.get("/openapi.json", dependencies=[READ], include_in_schema=False)
    async def openapi() -> dict[str, Any]:
        return document_of(application)

    @root.get("/docs", dependencies=[READ], include_in_schema=False)
    async def docs() -> HTMLResponse:
        return HTMLResponse(page_of(document_of(application)), headers={"Content-Security-Policy": POLICY})

    application.include_router(root)
    application.include_router(api)
    application.add_exception_handler(NilometerError, problems.on_error)
    application.add_exception_handler(HTTPException, problems.on_http)
    application.add_exception_handler(RequestValidationError, problems.on_invalid)
    application.add_exception_handler(Exception, problems.on_bug)
    return application


def document_of(application: FastAPI) -> dict[str, Any]:
    """The OpenAPI 3.1 document."""
    document = application.openapi()
    schemas = document.setdefault("components", {}).setdefault("schemas", {})
    schemas["Problem"] = problems.SCHEMA
    for model in (streams.StreamDeclared, streams.SqlText, alerts.Word, decisions.Said):
        described = model.model_json_schema(ref_template="#/components/schemas/{model}")
        schemas |= described.pop("$defs", {}) | {model.__name__: described}
    document["components"]["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
    document["security"] = [{"token": []}, {}]
    for path, method, role in roles_of(application.routes):
        operation = document["paths"].get(path.replace("{path:path}", "{path}"), {}).get(method.lower())
        if operation is not None:
            operation["security"] = [{"token": [str(role)]}, {}]  # on loopback nobody needs a token
    return document


def guarded(application: FastAPI, desk: Desk, callers: Callers) -> ASGIApp:
    """The application behind the guard."""
    shortcut = Shortcut(application, desk, application.state.observing)
    return Guard(shortcut, desk.settings, Tokens(desk.directory), desk.limits, callers)
