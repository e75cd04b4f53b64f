"""A time-out for a whole HTTP request."""

from __future__ import annotations

import contextlib
import http.client
import socket
import threading
import urllib.request

from nilometer.ingest.adapters.http_opener import Redirects


class Deadline:
    """Ends a request after `seconds`, whatever it waits for. A socket's own time-out begins again with every byte,
    so a server that sends one now and then could hold a request for ever."""

    def __init__(self, seconds: float) -> None:
        self.over = False
        self.trouble = f"no complete answer within {seconds:g} s"
        self.sockets: list[socket.socket] = []
        self._timer = threading.Timer(seconds, self._end)
        self._timer.daemon = True

    def __enter__(self) -> None:
        self._timer.start()

    def __exit__(self, *_: object) -> None:
        self._timer.cancel()

    def opener(self) -> urllib.request.OpenerDirector:
        """An opener whose connections it ends."""
        deadline = self

        class Http(http.client.HTTPConnection):
            def connect(self) -> None:
                super().connect()
                deadline.sockets.append(self.sock)

        class Https(http.client.HTTPSConnection):
            def connect(self) -> None:
                super().connect()
                deadline.sockets.append(self.sock)

        class HttpHandler(urllib.request.HTTPHandler):
            def http_open(self, request: urllib.request.Request) -> http.client.HTTPResponse:
                return self.do_open(Http, request)

        class HttpsHandler(urllib.request.HTTPSHandler):
            def https_open(self, request: urllib.request.Request) -> http.client.HTTPResponse:
                return self.do_open(Https, request)

        return urllib.request.build_opener(HttpHandler, HttpsHandler, Redirects)

    def _end(self) -> None:
        self.over = True
        for connection in self.sockets:
            with contextlib.suppress(OSError):
                socket.socket.shutdown(connection, socket.SHUT_RDWR)
