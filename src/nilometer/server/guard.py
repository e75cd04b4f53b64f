"""Stands before the application: who may come in, and how much they may bring. Pure ASGI, so that it costs little.

On a loopback address nothing is asked, but a web page that the user happens to look at must not speak to the server
in the user's name: the Host must be this machine (DNS rebinding), and a request from another origin is refused (CORS
is closed; a form can post without it). On any other address, every request needs a token.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from functools import lru_cache
from typing import Any
from urllib.parse import urlsplit

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from nilometer.errors import NilometerError
from nilometer.ingest.adapters.admission import is_loopback
from nilometer.server.callers import Bodies, Callers, Peer
from nilometer.server.limits import Limits
from nilometer.server.problems import ForbiddenError, TooLargeError, UnauthorizedError, response_of
from nilometer.server.settings import BODY_BYTES, BODY_SECONDS, HttpSettings
from nilometer.server.tokens import Role, Token, Tokens
from nilometer.server.who import WHO

OPEN = ("/healthz", "/readyz", "/", "/favicon.svg")
"""What anybody may ask: whether the server is there, and the page that asks for a token. It has no data."""
ASSETS = "/assets/"
"""What the page is made of; anybody may have it, too."""
HEADERS = (
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-resource-policy", b"same-origin"),
)


class Guard:
    """Lets a request through with the caller's role in `scope["state"]["role"]`."""

    def __init__(
        self,
        application: ASGIApp,
        settings: HttpSettings,
        tokens: Tokens,
        limits: Limits,
        callers: Callers,
    ) -> None:
        self._application = application
        self._loopback = settings.loopback
        self._tokens = tokens
        self._limits = limits
        self._callers = callers
        self._bodies = Bodies()
        self._arriving = _Arriving()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request, or one WebSocket."""
        if scope["type"] not in ("http", "websocket"):
            await self._application(scope, receive, send)
            return
        peer = tuple(scope.get("client") or ("", 0))
        self._callers.begins(peer)
        try:
            await self._admit(scope, receive, send)
        finally:
            self._callers.ends(peer)

    async def _admit(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            headers = _Headers(scope["headers"])
            self._check_host(headers)
            self._check_origin(headers, scope)
            role, token = self._caller(headers, scope["path"])
            if token is not None:
                self._limits.admit(token)
            length = headers.get(b"content-length")
            if length is not None and (not length.isdecimal() or int(length) > BODY_BYTES):
                raise _too_large()
        except NilometerError as error:
            if scope["type"] == "websocket":
                await receive()  # a WebSocket is refused after it has asked
            await response_of(error)(scope, receive, send)
            return
        scope.setdefault("state", {})["role"] = role
        if token is not None:
            scope["state"]["token"] = token
            WHO.set(token.name)
        if scope["type"] == "http":
            peer = tuple(scope.get("client") or ("", 0))
            bounded = _Bounded(receive, self._bodies, self._arriving, self._callers, peer)
            try:
                await self._application(scope, bounded, _sending(scope, bounded, send))
            finally:
                bounded.give_back()
        else:
            await self._application(scope, receive, send)

    def _check_host(self, headers: _Headers) -> None:
        """On loopback, the Host must name this machine: a name that was rebound to 127.0.0.1 does not."""
        if not self._loopback:
            return
        host = _hostname(f"//{headers.get(b'host') or ''}")
        if host is None or not (host and _is_loopback(host)):
            raise ForbiddenError(
                f"this server is not '{(host or '')[:100]}'",
                hint="ask it by localhost or 127.0.0.1; to be reached by other names it needs tokens and --http",
            )

    def _check_origin(self, headers: _Headers, scope: Scope) -> None:
        """A browser says from which page a request comes; other programs say nothing."""
        origin, host = headers.get(b"origin"), headers.get(b"host")
        if origin is not None:
            other = urlsplit(origin).netloc.lower() if "://" in origin else None
            if other != (host or "").lower():
                raise ForbiddenError("a page of another origin may not use this server")
        elif headers.get(b"sec-fetch-site") == "cross-site" and scope.get("method") not in ("GET", "HEAD"):
            raise ForbiddenError("a page of another origin may not use this server")

    def _caller(self, headers: _Headers, path: str) -> tuple[Role | None, Token | None]:
        """The caller's role, and the token."""
        said = headers.get(b"authorization")
        if said is None:
            if self._loopback:
                return Role.ADMIN, None
            if path in OPEN or path.startswith(ASSETS):
                return None, None
            raise UnauthorizedError(
                "this server needs a token",
                hint="send it: Authorization: Bearer TOKEN; make one: nilometer token create --role read",
            )
        kind, _, secret = said.partition(" ")
        token = self._tokens.find(secret.strip()) if kind.lower() == "bearer" else None
        if token is None:
            raise UnauthorizedError(
                "this token is not known here", hint="it may have been revoked: nilometer token list"
            )
        return token.role, token


class _Bounded:
    """A request's body: at most BODY_BYTES, within BODY_SECONDS, and as long as there is room for it."""

    def __init__(
        self, receive: Receive, bodies: Bodies, arriving: _Arriving, callers: Callers, peer: Peer
    ) -> None:
        self._receive = receive
        self._bodies = bodies
        self._arriving = arriving
        self._callers = callers
        self._peer = peer
        self._held = 0
        self._left = BODY_BYTES
        self._whole = False
        self._reader: asyncio.Task[Any] | None = None
        self.refused: NilometerError | None = None
        """Why the body was not read to its end: the framework would call it garbled."""
        arriving.begins(self)

    async def __call__(self) -> Message:
        if self._whole:
            # The body is there; the next message is the end of the connection, whenever that comes.
            return await self._receive()
        if self.refused is not None:
            raise self.refused
        self._reader = reader = asyncio.current_task()
        self._callers.uploads(self._peer)
        try:
            message = await self._receive()
        except asyncio.CancelledError:
            late: NilometerError | None = self.refused
            if late is None or reader is None:
                raise
            reader.uncancel()
            raise late from None
        finally:
            self._reader = None
        if message["type"] == "http.request":
            size = len(message.get("body", b""))
            self._left -= size
            if self._left < 0:
                self.refused = _too_large()
                raise self.refused
            try:
                self._bodies.add(size)
            except NilometerError as error:
                self.refused = error
                raise
            self._held += size
            if not message.get("more_body", False):
                self._whole = True
                self._arriving.ends(self)
                self._callers.uploaded(self._peer)
        return message

    def expire(self) -> None:
        """The time is over: whoever waits for more of it is told."""
        self.refused = TooLargeError(
            f"the body did not arrive within {BODY_SECONDS:g} seconds", hint="send smaller parts"
        )
        if self._reader is not None:
            self._reader.cancel()

    def give_back(self) -> None:
        """The request is over: its bytes are free again."""
        self._arriving.ends(self)
        self._callers.uploaded(self._peer)
        self._bodies.give(self._held)
        self._held = 0


class _Arriving:
    """The bodies that are not there yet, in the order in which their time ends. One timer looks after all of them: one
    for each would cost a tenth of a small request."""

    def __init__(self) -> None:
        self._until: dict[_Bounded, float] = {}
        self._timer: asyncio.TimerHandle | None = None

    def begins(self, body: _Bounded) -> None:
        """A request has come, and its body has not."""
        loop = asyncio.get_running_loop()
        self._until[body] = until = loop.time() + BODY_SECONDS
        if self._timer is None:
            self._timer = loop.call_at(until, self._look)

    def ends(self, body: _Bounded) -> None:
        """It is there, or nobody waits for it."""
        self._until.pop(body, None)

    def _look(self) -> None:
        self._timer = None
        loop = asyncio.get_running_loop()
        late = [body for body, until in self._until.items() if until <= loop.time()]
        for body in late:
            del self._until[body]
            body.expire()
        if self._until:
            self._timer = loop.call_at(next(iter(self._until.values())), self._look)


class _Headers:
    """The first value of each header, as text. Names are in lower case, as ASGI says."""

    def __init__(self, raw: Iterable[tuple[bytes, bytes]]) -> None:
        self._values = dict(reversed(list(raw)))

    def get(self, name: bytes) -> str | None:
        """The value of a header."""
        found = self._values.get(name)
        return None if found is None else found.decode("latin-1")


def _sending(scope: Scope, bounded: _Bounded, send: Send) -> Send:
    """Sends a response with our headers, or why its request was refused."""
    replaced = False

    async def sending(message: Any) -> None:
        nonlocal replaced
        if replaced:
            return
        if message["type"] == "http.response.start":
            if bounded.refused is not None:
                replaced = True
                await response_of(bounded.refused)(scope, bounded, send)
                return
            message = {**message, "headers": [*message.get("headers", ()), *HEADERS]}
        await send(message)

    return sending


@lru_cache(maxsize=64)
def _is_loopback(host: str) -> bool:
    return is_loopback(host)


@lru_cache(maxsize=64)
def _hostname(url: str) -> str | None:
    try:
        return urlsplit(url).hostname
    except ValueError:
        return None


def _too_large() -> TooLargeError:
    return TooLargeError(
        f"a request has at most {BODY_BYTES >> 20} MiB", hint="send the readings in several requests"
    )
