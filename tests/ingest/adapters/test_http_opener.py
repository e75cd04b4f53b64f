"""Credentials and redirects: to the same origin they go along, to another host they do not."""

from __future__ import annotations

import threading
import urllib.error
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from nilometer.catalog.address import Address
from nilometer.ingest.adapters.http_opener import OPENER, request_for

Seen = list[tuple[str, str | None]]


@pytest.fixture
def servers() -> Iterator[tuple[int, int, Seen]]:
    """Two ports: /away of the first leads to the second, /near to the first again, /out to FTP."""
    seen: Seen = []
    ports: list[int] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            seen.append((f"{self.server.server_port}{self.path}", self.headers.get("Authorization")))  # type: ignore[attr-defined]
            targets = {
                "/away": f"http://127.0.0.1:{ports[1]}/end",
                "/near": "/end",
                "/out": "ftp://127.0.0.1/x",
            }
            target = targets.get(self.path)
            self.send_response(200 if target is None else 302)
            if target is not None:
                self.send_header("Location", target)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Keep quiet."""

    made = [ThreadingHTTPServer(("127.0.0.1", 0), Handler) for _ in range(2)]
    ports += [server.server_port for server in made]
    for server in made:
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
    yield ports[0], ports[1], seen
    for server in made:
        server.shutdown()
        server.server_close()


@pytest.mark.promise("redirects")
def test_credentials_do_not_follow_to_another_host(servers: tuple[int, int, Seen]) -> None:
    first, second, seen = servers
    for path in ("away", "near"):
        OPENER.open(request_for(Address.parse(f"http://me:secret@127.0.0.1:{first}/{path}"))).close()
    sent = {place: said is not None for place, said in seen}
    assert sent == {
        f"{first}/away": True,
        f"{second}/end": False,
        f"{first}/near": True,
        f"{first}/end": True,
    }


def test_a_redirect_does_not_leave_http(servers: tuple[int, int, Seen]) -> None:
    with pytest.raises(urllib.error.HTTPError, match="away from HTTP"):
        OPENER.open(request_for(Address.parse(f"http://127.0.0.1:{servers[0]}/out")))
