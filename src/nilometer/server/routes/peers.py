"""`/api/v1/peers`: the ring of gateways that this one belongs to (docs/overlay.md)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fastapi import APIRouter

from nilometer.server.desk import Desk
from nilometer.server.roles import READ

if TYPE_CHECKING:
    from nilometer.live.station import Station


def add(router: APIRouter, desk: Desk) -> None:
    """Add the route."""

    @router.get("/peers", dependencies=[READ], tags=["peers"])
    async def peers() -> dict[str, Any]:
        """The peers, the streams and their homes, the joins among peers, and the load of this one. `peer` is false where
        this gateway has no peers."""
        return await desk.station(_peers)


def _peers(station: Station) -> dict[str, Any]:
    return {"peer": False} if station.peering is None else {"peer": True} | station.peering.status()
