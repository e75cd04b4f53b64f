"""`/api/v1/models`: the models that classify vectors, each with its kind, its classes and its versions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fastapi import APIRouter, Request

from nilometer.engine.models import model_details
from nilometer.server.desk import Desk, page
from nilometer.server.problems import NotFoundError
from nilometer.server.roles import READ
from nilometer.server.routes.queries import declared_versions
from nilometer.server.routes.streams import After, Limit

if TYPE_CHECKING:
    from nilometer.engine import Database


def add(router: APIRouter, desk: Desk) -> None:
    """Add the routes."""

    @router.get("/models", dependencies=[READ], tags=["models"])
    async def models(request: Request, limit: Limit = 100, after: After = None) -> dict[str, Any]:
        """The models: kind, method, classes, how many examples of how many elements they were fitted to, and their
        versions, newest first."""
        found = page(await desk.with_database(model_details), "name", limit, after, request.url.path)
        for model in found["items"]:
            model["versions"] = await declared_versions(desk, "MODEL", model["name"])
        return found

    @router.get("/models/{name}", dependencies=[READ], tags=["models"])
    async def model(name: str) -> dict[str, Any]:
        """One model."""
        found = await desk.with_database(lambda database: _model(database, name))
        return found | {"versions": await declared_versions(desk, "MODEL", found["name"])}


def _model(database: Database, name: str) -> dict[str, Any]:
    found = {model["name"].lower(): model for model in model_details(database)}
    if name.lower() not in found:
        known = ", ".join(model["name"] for model in found.values()) or "none"
        raise NotFoundError(f"there is no model '{name}'", hint=f"declared are: {known}")
    return found[name.lower()]
