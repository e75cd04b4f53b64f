"""One statement of SQL that declares one thing: the work behind POST to streams, queries, alerts and decisions."""

from __future__ import annotations

from urllib.parse import quote

from fastapi import Request
from fastapi.responses import JSONResponse

from nilometer.errors import ConfigurationError
from nilometer.language import ast, parse
from nilometer.server.desk import Desk

Declaration = ast.CreateStream | ast.CreateQuery | ast.CreateAlert | ast.CreateDecision


async def declared(
    desk: Desk, request: Request, text: str, kind: type[Declaration], usage: str, hint: str | None = None
) -> JSONResponse:
    """Execute a CREATE or REPLACE of this kind. `usage` is the error for any other statement."""
    statement = parse(text)
    created = statement.created if isinstance(statement, ast.Replace) else statement
    if not isinstance(created, kind):
        raise ConfigurationError(usage, hint=hint).at(text, statement.span)
    told = await desk.wait_for(lambda: desk.execute(text))
    path = f"{request.url.path}/{quote(created.name)}"
    return JSONResponse({"name": created.name, "told": told}, 201, {"Location": path})
