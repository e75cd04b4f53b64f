"""`/api/v1/words`: what an editor completes: keywords, functions, streams and tables with their columns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fastapi import APIRouter

from nilometer.algebra.table_functions import TABLE_FUNCTIONS
from nilometer.catalog import Stream, functions
from nilometer.language.vocabulary import NOT_AN_ALIAS, TIME_UNITS
from nilometer.server.desk import Desk
from nilometer.server.encoding import schema_json
from nilometer.server.roles import READ
from nilometer.types import Schema

if TYPE_CHECKING:
    from nilometer.engine import Database


def add(router: APIRouter, desk: Desk) -> None:
    """Add the routes."""

    @router.get("/words", dependencies=[READ], tags=["queries"])
    async def words() -> dict[str, Any]:
        """The words of the language and of this database."""
        return await desk.with_database(_words)


def _words(database: Database) -> dict[str, Any]:
    extents = []
    for extent in database.catalog.extents():
        query = database.catalog.query(extent.name)
        kind = "query" if query is not None else "stream" if isinstance(extent, Stream) else "table"
        extents.append({"name": extent.name, "kind": kind, "columns": schema_json(Schema(extent.columns))})
    return {
        "keywords": sorted(NOT_AN_ALIAS | set(TIME_UNITS)),
        "functions": [
            *(
                {"name": one.name, "kind": str(one.kind), "about": one.description, "example": one.example}
                for one in functions.FUNCTIONS
            ),
            *(
                {"name": one.name, "kind": "python", "about": f"{one}, by {one.reference}", "example": ""}
                for one in database.catalog.functions()
            ),
            *({"name": name, "kind": "table", "about": "", "example": ""} for name in TABLE_FUNCTIONS),
        ],
        "extents": extents,
    }
