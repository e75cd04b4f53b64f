"""WebSockets by the dozen, and frames without end: the others are served."""

from __future__ import annotations

import contextlib
import socket
from pathlib import Path

import pytest

from nilometer.server import callers
from nilometer.server.problems import TooManyError
from nilometer.server.tails import Tails
from server.serving import AIR, PATIENCE, Caller, minute, served

SCHEMA = AIR + "CREATE QUERY everything AS SELECT time, id, pm25 FROM air;"
TOO_BIG = (1009).to_bytes(2, "big")


def opened(port: int) -> socket.socket:
    """A WebSocket that follows the answers, and has read no more than that it was let in."""
    found = socket.create_connection(("127.0.0.1", port), PATIENCE)
    found.sendall(
        b"GET /api/v1/queries/everything/results HTTP/1.1\r\nHost: 127.0.0.1\r\nUpgrade: websocket\r\n"
        b"Connection: Upgrade\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n"
    )
    answered = b""
    while b"\r\n\r\n" not in answered and (part := found.recv(1)):
        answered += part
    assert answered.startswith(b"HTTP/1.1 101"), answered
    return found


def rest(connection: socket.socket) -> bytes:
    """All that comes until the other side closes."""
    found = b""
    try:
        while part := connection.recv(65_536):
            found += part
    except ConnectionResetError:
        pass
    return found


@pytest.mark.promise("websockets")
@pytest.mark.parametrize("fin", [True, False])
def test_a_frame_that_is_too_large_is_not_read(tmp_path: Path, fin: bool) -> None:
    """One that says it has a terabyte, and a message of fragments that does not end."""
    with served(tmp_path, SCHEMA) as server:
        with opened(server.port) as one:
            if fin:
                one.sendall(bytes([0x82, 0xFF]) + (1 << 40).to_bytes(8, "big") + bytes(4))
            else:
                part = bytes([0xFE]) + (40_000).to_bytes(2, "big") + bytes(4) + bytes(40_000)
                one.sendall(b"\x02" + part)
                one.sendall(b"\x00" + part)
            assert TOO_BIG in rest(one)
        caller = Caller(server.port)
        caller.send("air", minute(0))
        caller.close()


@pytest.mark.promise("websockets")
def test_result_streams_leave_half_of_the_connections(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without a share of their own, 20 of them could have all 20 places, and nobody else was let in."""
    monkeypatch.setattr(callers, "half_of_descriptors", lambda: 40)
    assert callers.most_connections() == 20
    tails = Tails(tmp_path)
    with contextlib.ExitStack() as held:
        for _ in range(10):
            held.enter_context(tails.subscribed("everything"))
        with pytest.raises(TooManyError, match="there are 10 subscribers already"):
            held.enter_context(tails.subscribed("everything"))
    tails.close()
