"""Connections without requests, and bodies that are too large together: nobody is shut out, and memory stays bounded."""

from __future__ import annotations

import select
import socket
import time
from dataclasses import dataclass
from pathlib import Path

import pytest

from nilometer import memory
from nilometer.ingest.adapters.connections import Slots
from nilometer.server import callers
from server.serving import PATIENCE, Caller, minute, served

HALF = b"POST /api/v1/streams/air/readings HTTP/1.1\r\nHost: 127.0.0.1\r\n"
READINGS = "/api/v1/streams/air/readings"


def connected(port: int, said: bytes = b"") -> socket.socket:
    found = socket.create_connection(("127.0.0.1", port), PATIENCE)
    found.sendall(said)
    return found


def test_no_answer_waits_for_an_acknowledgement(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nagle's algorithm held back the second part of each answer for 40 ms."""
    delays: list[int] = []
    admit = callers.Callers.admit

    def look(self: callers.Callers, connection: callers._Connection) -> bool:
        delays.append(connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))
        return admit(self, connection)

    monkeypatch.setattr(callers.Callers, "admit", look)
    with served(tmp_path) as server:
        caller = Caller(server.port)
        assert caller("GET", "/healthz").status == 200
        caller.close()
    assert delays
    assert all(delays)


@pytest.mark.promise("idle-http")
def test_idle_connections_shut_nobody_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a bound, 400 of them ended the process at `ulimit -n 256`: logs and states had no descriptors left."""
    monkeypatch.setattr(callers, "half_of_descriptors", lambda: 40)
    with served(tmp_path) as server:
        busy = Caller(server.port)
        busy.send("air", minute(0))
        held = [connected(server.port, HALF if number % 2 else b"") for number in range(100)]
        last = Caller(server.port)
        last.send("air", minute(1))
        assert len(server.callers) <= 20
        assert server.callers.displaced >= 80
        for one in held:
            one.close()
        last.close()
        busy.close()


@pytest.mark.promise("slow-uploads")
def test_uploads_that_stop_make_room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """400 of them locked everybody out until their 30 seconds were over."""
    monkeypatch.setattr(callers, "half_of_descriptors", lambda: 40)
    with served(tmp_path) as server:
        sent = HALF + b"Content-Type: application/json\r\nContent-Length: 900000\r\n\r\n["
        held = [connected(server.port, sent) for _ in range(60)]
        until = time.monotonic() + PATIENCE
        while len(server.callers._uploading) < 20 and time.monotonic() < until:
            time.sleep(0.01)
        last = Caller(server.port)
        last.send("air", minute(0))
        assert server.callers.displaced >= 41
        assert server.callers.refused == 0
        for one in held:
            one.close()
        last.close()


@dataclass
class Line:
    """A connection without a socket."""

    peer: tuple[str, int]
    callers: callers.Callers
    open: bool = True

    def wait(self, seconds: float | None) -> None:
        """No clock."""

    def rest(self) -> None:
        """No clock."""

    def hang_up(self) -> None:
        self.open = False
        self.callers.gone(self)  # type: ignore[arg-type]


def test_a_request_that_is_being_answered_keeps_its_connection() -> None:
    known = callers.Callers(Slots(lambda: 3))
    idle, silent, busy, late, last = (Line(("127.0.0.1", port), known) for port in range(5))

    def admit(line: Line) -> bool:
        return known.admit(line)  # type: ignore[arg-type]

    assert [admit(line) for line in (idle, silent, busy)] == [True, True, True]
    for line in (silent, busy):
        known.begins(line.peer)
        known.uploads(line.peer)
    known.uploaded(busy.peer)
    assert admit(late)
    assert (idle.open, silent.open) == (False, True)
    known.begins(late.peer)
    known.uploads(late.peer)
    known.uploads(silent.peer)  # it goes on; `late` has been silent for longer
    assert admit(last)
    assert (silent.open, late.open) == (True, False)
    known.begins(last.peer)
    known.uploaded(silent.peer)
    assert not admit(Line(("127.0.0.1", 9), known))
    assert (known.displaced, known.refused, busy.open) == (2, 1, True)


def test_a_connection_without_a_request_is_closed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(callers.Callers.__init__, "__defaults__", (None, 0.05, 0.1))
    with served(tmp_path) as server:
        with connected(server.port, HALF) as slow:
            assert slow.recv(100) == b""
        with connected(server.port, b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\nGET /hea") as second:
            answered = b""
            while part := second.recv(1_000):
                answered += part
            assert answered.startswith(b"HTTP/1.1 200")
        assert len(server.callers) == 0


@pytest.mark.promise("http-bodies")
def test_bodies_have_a_bound_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """2,000 connections with 16 MiB each would take 32 GB."""
    monkeypatch.setattr(memory, "_said", {"given": 100_000_000})
    with served(tmp_path) as server:
        part = b"[" + b" " * 2_000_000
        sent = HALF + b"Content-Type: application/json\r\nContent-Length: 9000000\r\n\r\n" + part
        with connected(server.port, sent) as first, connected(server.port, sent) as second:
            refused, _, _ = select.select([first, second], [], [], PATIENCE)
            assert b"429" in refused[0].recv(100)
        caller = Caller(server.port)
        reply = caller("POST", READINGS, part + b"]")
        assert reply.status in (200, 422)
        caller.send("air", minute(0))
        caller.close()
