"""`/api/v1/phenomena/NAME/current`: the phenomena that there are, as GeoJSON.

Updates come from a standing query of `PHENOMENA(name)`, or from `/api/v1/query`, like any other rows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from fastapi import APIRouter, Query
from fastapi.responses import JSONResponse
from starlette.responses import Response

from nilometer.errors import ConfigurationError
from nilometer.server.desk import Desk
from nilometer.server.field.followed_phenomena import FollowedPhenomena
from nilometer.server.problems import NotFoundError
from nilometer.server.roles import READ
from nilometer.types import parse_time

if TYPE_CHECKING:
    from nilometer.engine import Database


def add(router: APIRouter, desk: Desk) -> None:
    """Add the routes."""
    followed = FollowedPhenomena()

    @router.get("/phenomena/{name}/current", dependencies=[READ], tags=["phenomena"], response_class=Response)
    async def current(
        name: str,
        at: Annotated[
            str | None, Query(max_length=40, description="when; default: at the last reading")
        ] = None,
    ) -> Response:
        """The phenomena of a definition at an evaluation: a FeatureCollection with their regions. The state of the
        last call is kept, so the present costs the readings since then; a time in the past is computed from all."""
        found = await desk.at_hand(lambda database: _current(database, name, at, followed))
        return JSONResponse(found, media_type="application/geo+json")


def _current(database: Database, name: str, at: str | None, followed: FollowedPhenomena) -> dict[str, Any]:
    from nilometer.engine.field import describe_field
    from nilometer.engine.field_geojson import field_geojson

    if database.catalog.phenomenon(name) is None:
        known = ", ".join(each.name for each in database.catalog.phenomena()) or "none"
        raise NotFoundError(f"there is no phenomenon '{name}'", hint=f"declared are: {known}")
    try:
        moment = None if at is None else parse_time(at)
    except ValueError:
        raise ConfigurationError(f"'{at}' is not a time", hint="write such as 2018-11-09T04:00:00Z") from None
    look = followed.look if moment is None else None
    (field,) = describe_field(database, moment, name, look)
    return field_geojson(field)
