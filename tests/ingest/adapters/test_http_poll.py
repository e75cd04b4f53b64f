"""HTTP polling against a server on loopback: intervals, validators, failures."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from nilometer.catalog.address import Address
from nilometer.catalog.extents import Stream, stream_columns
from nilometer.catalog.form import Form
from nilometer.ingest.adapters.adapter import ReadResult, Status
from nilometer.ingest.adapters.http_poll import HttpPollAdapter
from nilometer.types import FLOAT, SECOND, Column

PATIENCE = 60.0
DEPTH = Stream("depth", stream_columns((Column("depth", FLOAT),)))


@dataclass
class Site:
    """What the server says next, and what it was asked."""

    port: int = 0
    answers: list[tuple[int, dict[str, str], bytes]] = field(default_factory=list)
    asked: list[tuple[str, dict[str, str]]] = field(default_factory=list)


@pytest.fixture
def site() -> Iterator[Site]:
    site = Site()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            site.asked.append((self.path, dict(self.headers)))
            code, headers, body = site.answers.pop(0)
            self.send_response(code)
            for name, value in headers.items():
                self.send_header(name, value)
            if code != 304 and "Content-Length" not in headers:
                self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        site.port = server.server_address[1]
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield site
        server.shutdown()
        thread.join()


class Poll:
    """An adapter with a clock that is turned by hand."""

    def __init__(self, site: Site, options: str = "interval=10s", stream: Stream = DEPTH) -> None:
        self.now = 1_000 * SECOND
        self.adapter = HttpPollAdapter(
            stream,
            Address.parse(f"http://me:secret@127.0.0.1:{site.port}/depth?site=7&{options}"),
            lambda: self.now,
        )
        self.adapter.open()

    def ask(self) -> ReadResult:
        assert self.adapter.read().status is Status.NO_VALUE  # this one begins the request
        assert self.adapter.wake is not None
        assert self.adapter.wake.wait(PATIENCE)
        return self.adapter.read()

    @property
    def wait(self) -> float:
        assert self.adapter.due is not None
        return (self.adapter.due - self.now) / SECOND


def test_polls_at_its_interval_and_skips_what_it_has(site: Site) -> None:
    poll = Poll(site)
    site.answers.append(
        (200, {"ETag": '"one"', "Last-Modified": "yesterday"}, b'[{"time": 1, "id": 2, "depth": 3}, 4]')
    )
    result = poll.ask()
    assert result.rows.rows() == [(1, 2, 3.0)]
    assert (result.received, result.arrived) == (2, poll.now)
    assert poll.wait == 10
    assert poll.adapter.read().status is Status.NO_VALUE
    assert len(site.asked) == 1  # not before it is due
    path, headers = site.asked[0]
    assert path == "/depth?site=7"
    assert headers["Authorization"].startswith("Basic ")
    poll.now += 25 * SECOND
    site.answers.append((304, {}, b""))
    assert poll.ask().status is Status.NO_VALUE
    assert (site.asked[1][1]["If-None-Match"], site.asked[1][1]["If-Modified-Since"]) == (
        '"one"',
        "yesterday",
    )
    assert poll.wait == 5  # on the grid of its interval
    poll.adapter.close()
    assert poll.adapter.read().status is Status.END


def test_an_unchanged_answer_is_a_new_reading_of_a_sensed_stream(site: Site) -> None:
    poll = Poll(site, "", replace(DEPTH, every=10 * SECOND))
    times = []
    for _ in range(3):
        site.answers.append((200, {"ETag": '"one"', "Last-Modified": "yesterday"}, b'{"id": 2, "depth": 3}'))
        times += poll.ask().rows["time"].to_list()
        poll.now += 10 * SECOND
    assert times == [1_000 * SECOND, 1_010 * SECOND, 1_020 * SECOND]
    assert not any("If-None-Match" in headers or "If-Modified-Since" in headers for _, headers in site.asked)
    poll.adapter.close()


def test_media_types(site: Site) -> None:
    poll = Poll(site)
    bodies = [
        ("text/csv", b"id,depth,time\n2,3,1\n"),
        ("application/senml+json", b'[{"n": "2:depth", "v": 3, "bt": 1.7e9}]'),
        ("application/x-ndjson", b'{"id": 2, "depth": 3, "time": 1}\n{"id": 2, "depth": 3, "time": 2}\n'),
    ]
    counts = []
    for kind, body in bodies:
        site.answers.append((200, {"Content-Type": kind}, body))
        result = poll.ask()
        assert not result.garbled
        assert result.rows.select("id", "depth").unique().rows() == [(2, 3.0)]
        counts.append(result.rows.height)
        poll.now += 10 * SECOND
    assert counts == [1, 1, 2]
    poll.adapter.close()


def test_failures_are_tried_again_later_and_later(site: Site) -> None:
    poll = Poll(site, "interval=2s&limit=100")
    failures = [
        (500, {}, b"", "500 Internal Server Error"),
        (200, {"Content-Length": "50"}, b"short", "broke off, 45 bytes before its end"),
        (200, {}, b"x" * 101, "more than 100 bytes"),
    ]
    for wait, (code, headers, body, trouble) in zip([1, 2, 4], failures, strict=True):
        site.answers.append((code, headers, body))
        assert poll.ask().status is Status.NO_VALUE
        assert poll.adapter.trouble is not None
        assert trouble in poll.adapter.trouble
        assert poll.wait == wait
        poll.now += wait * SECOND
    site.answers.append((200, {}, b"1,2,3"))
    assert poll.ask().rows.rows() == [(1, 2, 3.0)]
    assert poll.adapter.trouble is None
    poll.adapter.close()


def test_nobody_listens() -> None:
    poll = Poll(Site(port=1))
    assert poll.ask().status is Status.NO_VALUE
    assert poll.adapter.trouble is not None
    poll.adapter.close()


def test_readings_in_an_array_of_the_answer(site: Site) -> None:
    body = b'{"station": 7,\n "obs": [{"t": 1772344800, "depth": 1}, {"t": 1772344860, "depth": 2}]}'
    site.answers = [(200, {"Content-Type": "application/json"}, body)]
    form = Form((("time", "t"), ("id", "$.station")), "$.obs")
    result = Poll(site, stream=replace(DEPTH, form=form)).ask()
    assert result.rows.rows() == [(1_772_344_800 * SECOND, 7, 1.0), (1_772_344_860 * SECOND, 7, 2.0)]


@pytest.mark.promise("dripping-and-locked")
@pytest.mark.parametrize("first", [b"HTTP/1.1 200 OK\r\n", b"HTTP/1.1 200 OK\r\n\r\n"])
def test_a_server_that_drips_its_answer_is_trouble(first: bytes) -> None:
    """Every byte comes within the time-out, and the answer never ends: in its headers, or in its body."""
    over = threading.Event()
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def drip() -> None:
            connection, _ = listener.accept()
            with connection, contextlib.suppress(OSError):
                connection.sendall(first)
                while not over.wait(0.02):
                    connection.sendall(b"x")

        thread = threading.Thread(target=drip)
        thread.start()
        poll = Poll(Site(port=listener.getsockname()[1]), "interval=10s&timeout=200ms")
        assert poll.ask().status is Status.NO_VALUE
        assert poll.adapter.trouble == "no complete answer within 0.2 s"
        assert poll.wait == 1
        poll.adapter.close()
        over.set()
        thread.join()
