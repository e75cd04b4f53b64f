"""`/api/v1/tables`, `/views`, `/functions`, `/phenomena` and `/networks`: what is declared, as SHOW lists it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fastapi import APIRouter, Request

from nilometer.server.desk import Desk, page
from nilometer.server.roles import READ
from nilometer.server.routes.streams import After, Limit

if TYPE_CHECKING:
    from nilometer.engine import Database


def add(router: APIRouter, desk: Desk) -> None:
    """Add the routes."""

    @router.get("/tables", dependencies=[READ], tags=["streams"])
    async def tables(request: Request, limit: Limit = 100, after: After = None) -> dict[str, Any]:
        """The tables: columns, and where they are, without secrets."""
        found = await desk.with_database(lambda database: database.show("TABLES"))
        return page(found, "name", limit, after, request.url.path)

    @router.get("/views", dependencies=[READ], tags=["queries"])
    async def views(request: Request, limit: Limit = 100, after: After = None) -> dict[str, Any]:
        """The views: columns and text."""
        found = await desk.with_database(lambda database: database.show("VIEWS"))
        return page(found, "name", limit, after, request.url.path)

    @router.get("/functions", dependencies=[READ], tags=["queries"])
    async def functions(request: Request, limit: Limit = 100, after: After = None) -> dict[str, Any]:
        """The functions of users: what they take and give, and their code's name."""
        found = await desk.with_database(lambda database: database.show("FUNCTIONS"))
        return page(found, "name", limit, after, request.url.path)

    @router.get("/phenomena", dependencies=[READ], tags=["phenomena"])
    async def phenomena(request: Request, limit: Limit = 100, after: After = None) -> dict[str, Any]:
        """The definitions of phenomena: name and text."""
        found = await desk.with_database(lambda database: database.show("PHENOMENA"))
        return page(found, "name", limit, after, request.url.path)

    @router.get("/networks", dependencies=[READ], tags=["sensors"])
    async def networks(request: Request, limit: Limit = 100, after: After = None) -> dict[str, Any]:
        """The declared networks of motes, with their nodes and links."""
        return page(await desk.with_database(_networks), "name", limit, after, request.url.path)


def _networks(database: Database) -> list[dict[str, Any]]:
    return [
        {
            "name": network.name,
            "sink": network.sink,
            "nodes": [
                {
                    "id": node.id,
                    "location": None if node.location is None else list(node.location),
                    "streams": list(node.streams),
                }
                for node in network.nodes
            ],
            "links": [[link.source, link.target] for link in network.links],
        }
        for network in database.catalog.networks()
    ]
