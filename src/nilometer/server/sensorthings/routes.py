"""`/v1.1`: SensorThings by HTTP."""

from __future__ import annotations

import json
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from fastapi import APIRouter, Request
from starlette.responses import Response
from starlette.types import Receive, Scope

from nilometer.server.problems import MediaTypeError
from nilometer.server.roles import ADMIN, READ, WRITE
from nilometer.server.routes.readings import body_of, kind_of
from nilometer.server.sensorthings import batch
from nilometer.server.sensorthings.observing import Observing
from nilometer.server.sensorthings.service import JSON_PATCH, Asked, Reply, Service, needed_role
from nilometer.server.tokens import Role

if TYPE_CHECKING:
    from nilometer.server.desk import Desk
    from nilometer.server.limits import Bucket

PREFIX = "/v1.1"
SETS = (
    "Things",
    "Locations",
    "HistoricalLocations",
    "Datastreams",
    "Sensors",
    "ObservedProperties",
    "Observations",
    "FeaturesOfInterest",
)
OPTIONS = {
    "$filter": ("string", "result gt 10 and phenomenonTime ge 2026-03-01T00:00:00Z"),
    "$expand": ("string", "Datastreams($select=name)"),
    "$select": ("string", "name"),
    "$orderby": ("string", "phenomenonTime desc"),
    "$top": ("integer", 10),
    "$skip": ("integer", 0),
    "$count": ("boolean", True),
    "$resultFormat": ("string", "dataArray"),
}
DESCRIBED: dict[str, Any] = {
    "parameters": [
        {
            "name": "path",
            "in": "path",
            "required": True,
            "schema": {"type": "string"},
            "examples": {name: {"value": name} for name in SETS},
        },
        *(
            {"name": name, "in": "query", "required": False, "schema": {"type": kind}, "example": example}
            for name, (kind, example) in OPTIONS.items()
        ),
    ]
}
"""For the OpenAPI document: OData's options have names that Python cannot write."""
KINDS = ("application/json", JSON_PATCH)
_ENCODER = json.JSONEncoder(ensure_ascii=False, allow_nan=False)


def add(router: APIRouter, desk: Desk, service: Service, observing: Observing) -> None:
    """Add the routes."""

    @router.get(PREFIX, dependencies=[READ], tags=["sensorthings"])
    async def root(request: Request) -> Response:
        """The entity sets, and which requirements of OGC SensorThings 1.1 are met."""
        return await _answer(desk, service, request, "")

    @router.get(PREFIX + "/{path:path}", dependencies=[READ], tags=["sensorthings"], openapi_extra=DESCRIBED)
    async def get(request: Request, path: str) -> Response:
        """A set, an entity, a property: OGC SensorThings 1.1. docs/sensorthings.md is the guide."""
        return await _answer(desk, service, request, path)

    @router.post(PREFIX + "/$batch", dependencies=[READ], tags=["sensorthings"])
    async def post_batch(request: Request) -> Response:
        """Several requests in one. Each needs the role that it needs alone."""
        asked, bucket = await _asked(request, "$batch"), _bucket(desk, request)
        reply = await desk.wait_for(lambda: batch.run(service, asked))
        if bucket is not None:
            bucket.take(batch.observations_in(asked.body))
        return response_of(reply)

    @router.post(PREFIX + "/Observations", dependencies=[WRITE], tags=["sensorthings"])
    async def post_observation(request: Request) -> Response:
        """Add an Observation. The reply comes once it is durable."""
        return response_of(await observe(desk, observing, request.scope, request.receive, "Observations"))

    @router.post(PREFIX + "/CreateObservations", dependencies=[WRITE], tags=["sensorthings"])
    async def post_data_arrays(request: Request) -> Response:
        """Add many Observations, as data arrays."""
        return await _answer(desk, service, request, "CreateObservations")

    @router.post(PREFIX + "/{path:path}/Observations", dependencies=[WRITE], tags=["sensorthings"])
    async def post_nested(request: Request, path: str) -> Response:
        """Add an Observation of a Datastream: /v1.1/Datastreams(1)/Observations."""
        found = await observe(desk, observing, request.scope, request.receive, f"{path}/Observations")
        return response_of(found)

    @router.post(PREFIX + "/{path:path}", dependencies=[ADMIN], tags=["sensorthings"])
    async def post(request: Request, path: str) -> Response:
        """Make an entity with all that it contains."""
        return await _answer(desk, service, request, path)

    @router.patch(PREFIX + "/{path:path}", dependencies=[ADMIN], tags=["sensorthings"])
    async def patch(request: Request, path: str) -> Response:
        """Change an entity: a part of it, or a JSON Patch (RFC 6902)."""
        return await _answer(desk, service, request, path)

    @router.put(PREFIX + "/{path:path}", dependencies=[ADMIN], tags=["sensorthings"])
    async def put(request: Request, path: str) -> Response:
        """Replace an entity."""
        return await _answer(desk, service, request, path)

    @router.delete(PREFIX + "/{path:path}", dependencies=[ADMIN], tags=["sensorthings"])
    async def delete(request: Request, path: str) -> Response:
        """Delete an entity, and what cannot be without it."""
        return await _answer(desk, service, request, path)


async def observe(desk: Desk, observing: Observing, scope: Scope, receive: Receive, path: str) -> Reply:
    """Add the Observation of a request, together with those of others."""
    state = scope["state"]
    token = state.get("token")
    bucket = None if token is None else desk.limits.rows_of(token)
    kind = json_kind(kind_of(scope))
    body = batch.parse_body(await body_of(receive))
    root, client = _root(scope["scheme"], _host(scope)), scope.get("client")
    peer = "http" if client is None else f"http {client[0]}"
    reply = await observing.add(Asked("POST", path, "", body, kind, root, state["role"], peer))
    if bucket is not None:
        bucket.take(1)
    return reply


async def _answer(desk: Desk, service: Service, request: Request, path: str) -> Response:
    asked = await _asked(request, path)
    counts = asked.method == "POST" and needed_role("POST", path) is Role.WRITE
    bucket = _bucket(desk, request) if counts else None
    reply = await desk.wait_for(lambda: service.dispatch(asked))
    if bucket is not None:
        bucket.take(len(reply.body) if isinstance(reply.body, list) else 1)
    return response_of(reply)


def _bucket(desk: Desk, request: Request) -> Bucket | None:
    """The bucket for the rows that the caller's token may add."""
    token = request.scope["state"].get("token")
    return None if token is None else desk.limits.rows_of(token)


async def _asked(request: Request, path: str) -> Asked:
    kind = request.headers.get("content-type", "application/json").split(";")[0].strip().lower()
    body = None
    if request.method in ("POST", "PATCH", "PUT"):
        json_kind(kind)
        body = batch.parse_body(await request.body())
    role = request.scope["state"]["role"]
    assert isinstance(role, Role)
    root = f"{request.url.scheme}://{request.url.netloc}{PREFIX}"
    peer = "http" if request.client is None else f"http {request.client.host}"
    query = request.scope["query_string"].decode("latin-1")
    return Asked(request.method, path, query, body, kind, root, role, peer)


def json_kind(kind: str) -> str:
    """The Content-Type of a body, if it is one that entities have."""
    if (kind or KINDS[0]) not in KINDS:
        raise MediaTypeError(f"'{kind[:80]}' is no form of entities", hint=f"send {' or '.join(KINDS)}")
    return kind or KINDS[0]


def _host(scope: Scope) -> str:
    for name, value in scope["headers"]:
        if name == b"host":
            return str(value.decode("latin-1"))
    host, port = scope.get("server") or ("localhost", None)
    return str(host) if port is None else f"{host}:{port}"


@lru_cache(maxsize=64)
def _root(scheme: str, host: str) -> str:
    """The address of the service, as the caller knows it."""
    return f"{scheme}://{host}{PREFIX}"


def body_bytes(reply: Reply) -> bytes:
    """The body of a response as JSON."""
    return _ENCODER.encode(reply.body).encode("utf-8", "surrogatepass")


def response_of(reply: Reply) -> Response:
    """The response to a request that was carried out."""
    kind = reply.headers.get("Content-Type", "application/json")
    body = reply.body.encode("utf-8", "surrogatepass") if kind == "text/plain" else body_bytes(reply)
    headers = {name: value for name, value in reply.headers.items() if name != "Content-Type"}
    return Response(body, reply.status, headers, kind)
