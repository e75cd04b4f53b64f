"""`/`: the dashboard. Its files were built from `dashboard/` and are part of the package; they hold no data, so anybody
may load them, and what they then ask for needs a token where the server needs one.

The page runs only the scripts of this server and speaks only to it: the Content-Security-Policy says so. The editor
writes style sheets at run time, for which each page has a nonce of its own.
"""

from __future__ import annotations

import hashlib
import secrets
from functools import cache
from importlib.resources import files
from typing import Any

from fastapi import APIRouter, Request
from starlette.responses import Response

from nilometer.server.problems import NotFoundError

NONCE = "@nonce@"
"""Stands in the built page where the nonce of each page goes."""
KINDS = {
    "html": "text/html; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "css": "text/css; charset=utf-8",
    "woff2": "font/woff2",
    "svg": "image/svg+xml",
    "json": "application/json",
    "txt": "text/plain; charset=utf-8",
}


def add(router: APIRouter) -> None:
    """Add the routes."""

    @router.get("/", include_in_schema=False)
    async def page() -> Response:
        nonce = secrets.token_urlsafe(16)
        body = _file("index.html")[0].replace(NONCE.encode(), nonce.encode())
        headers = {
            "Content-Security-Policy": policy(nonce),
            "Cache-Control": "no-store",
            "X-Frame-Options": "DENY",
        }
        return Response(body, 200, headers, KINDS["html"])

    @router.get("/favicon.svg", include_in_schema=False)
    async def icon(request: Request) -> Response:
        return _reply(request, "favicon.svg")

    @router.get("/assets/{name}", include_in_schema=False)
    async def asset(request: Request, name: str) -> Response:
        return _reply(request, f"assets/{name}")


def policy(nonce: str) -> str:
    """The Content-Security-Policy of the page."""
    return (
        "default-src 'none'; script-src 'self'; connect-src 'self'; font-src 'self'; img-src 'self' data:; "
        f"style-src 'self' 'nonce-{nonce}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )


def _reply(request: Request, name: str) -> Response:
    body, tag = _file(name)
    headers = {"ETag": tag, "Cache-Control": "no-cache"}
    if request.headers.get("if-none-match") == tag:
        return Response(None, 304, headers)
    return Response(body, 200, headers, KINDS.get(name.rpartition(".")[2], "application/octet-stream"))


@cache
def _names() -> frozenset[str]:
    root: Any = files("nilometer.server") / "pages"
    names = {one.name for one in root.iterdir() if one.is_file()}
    return frozenset(names | {f"assets/{one.name}" for one in (root / "assets").iterdir()})


@cache
def _file(name: str) -> tuple[bytes, str]:
    """A built file and its tag; only those that are there have one, whatever the name says."""
    if name not in _names():
        raise NotFoundError(f"there is no '{name[:80]}'", hint="GET / is the dashboard")
    body = (files("nilometer.server") / "pages" / name).read_bytes()
    return body, f'"{hashlib.sha256(body).hexdigest()[:32]}"'
