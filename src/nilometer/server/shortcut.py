"""A shorter way for readings and Observations that come one by one: the same functions, without the framework's routing
and injection, which take twice as long as the request itself. All other requests, and all questions about these
routes, go to the application."""

from __future__ import annotations

import re
from collections.abc import Coroutine
from typing import TYPE_CHECKING, Any

from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from nilometer.errors import NilometerError
from nilometer.ingest.adapters.push import Receipt
from nilometer.server.problems import on_bug, response_of
from nilometer.server.roles import check
from nilometer.server.routes.readings import reply, take
from nilometer.server.sensorthings.routes import body_bytes, observe
from nilometer.server.tokens import Role

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send

    from nilometer.server.desk import Desk
    from nilometer.server.sensorthings.observing import Observing

_READINGS = re.compile(r"/api/v1/streams/([^/]+)/readings")
_OBSERVATIONS = re.compile(r"/v1\.1/((?:.+/)?Observations)")
_ONE = Receipt(1)
_TEXT = b'{"received":1,"garbled":0,"reasons":[]}'
_START = {
    "type": "http.response.start",
    "status": 200,
    "headers": [(b"content-length", b"%d" % len(_TEXT)), (b"content-type", b"application/json")],
}
_BODY = {"type": "http.response.body", "body": _TEXT}
"""The most frequent response is made once."""


class Shortcut:
    """Takes readings and Observations, and passes everything else on."""

    def __init__(self, application: ASGIApp, desk: Desk, observing: Observing) -> None:
        self._application = application
        self._desk = desk
        self._observing = observing

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request."""
        if scope["type"] != "http" or scope["method"] != "POST":
            await self._application(scope, receive, send)
        elif (found := _READINGS.fullmatch(scope["path"])) is not None:
            await self._answer(scope, receive, send, self._take(scope, receive, send, found[1]))
        elif (found := _OBSERVATIONS.fullmatch(scope["path"])) is not None:
            await self._answer(scope, receive, send, self._observe(scope, receive, send, found[1]))
        else:
            await self._application(scope, receive, send)

    async def _take(self, scope: Scope, receive: Receive, send: Send, stream: str) -> None:
        receipt = await take(self._desk, scope, receive, stream)
        if receipt == _ONE:
            await send(_START)
            await send(_BODY)
        else:
            await reply(receipt)(scope, receive, send)

    async def _observe(self, scope: Scope, receive: Receive, send: Send, path: str) -> None:
        made = await observe(self._desk, self._observing, scope, receive, path)
        body = body_bytes(made)
        headers = [
            (b"content-length", b"%d" % len(body)),
            (b"content-type", b"application/json"),
            (b"location", made.headers["Location"].encode("latin-1")),
        ]
        await send({"type": "http.response.start", "status": made.status, "headers": headers})
        await send({"type": "http.response.body", "body": body})

    async def _answer(
        self, scope: Scope, receive: Receive, send: Send, asked: Coroutine[Any, Any, None]
    ) -> None:
        response: Response
        try:
            try:
                check(scope, Role.WRITE)
            except NilometerError:
                asked.close()
                raise
            await asked
            return
        except ClientDisconnect:
            return
        except NilometerError as error:
            response = response_of(error)
        except Exception as error:
            response = await on_bug(Request(scope, receive), error)
        await response(scope, receive, send)
