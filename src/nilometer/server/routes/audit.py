"""`/api/v1/audit`: who changed what."""

from __future__ import annotations

from itertools import islice
from typing import Annotated, Any

from fastapi import APIRouter, Query

from nilometer.live.audit import history
from nilometer.server.desk import Desk
from nilometer.server.roles import ADMIN
from nilometer.server.routes.streams import Limit
from nilometer.types import format_time


def add(router: APIRouter, desk: Desk) -> None:
    """Add the route."""

    @router.get("/audit", dependencies=[ADMIN], tags=["audit"])
    async def audit(
        limit: Limit = 100,
        skip: Annotated[int, Query(ge=0, le=10_000_000)] = 0,
        who: Annotated[str | None, Query(max_length=100, description="only what this one did")] = None,
    ) -> dict[str, Any]:
        """Declarations, drops, tokens, silences, acknowledgements and verdicts, newest first."""
        found = await desk.wait_for(
            lambda: list(
                islice(
                    (one for one in history(desk.directory) if who is None or one["who"] == who),
                    skip,
                    skip + limit + 1,
                )
            )
        )
        items = [one | {"at": format_time(one["at"])} for one in found[:limit]]
        more = len(found) > limit
        return {"items": items, "next": f"/api/v1/audit?limit={limit}&skip={skip + limit}" if more else None}
