"""Frames between peers: what was sent is read; forged, changed, cut, repeated and old frames are refused and counted."""

from __future__ import annotations

import contextlib
import hmac
import socket
import time
from pathlib import Path
from random import Random

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nilometer.errors import ConfigurationError
from nilometer.overlay.delivery import Packet
from nilometer.overlay.messages import (
    MOST_BYTES,
    Ask,
    Find,
    Found,
    Heartbeat,
    Message,
    Notice,
    Put,
    WireError,
    decode,
    encode,
)
from nilometer.overlay.peer import Peer, Settings
from nilometer.overlay.ring import Contact, contact
from nilometer.overlay.tcp import TcpPeer
from nilometer.overlay.wire import PREFIX, RELEASE, Wire, advice_of, key_of
from nilometer.types import MINUTE

KEY = b"k" * 32
ME = contact("roof", "127.0.0.1:1")
MESSAGES: list[Message] = [
    Find(7, ME, 1, 2, True),
    Found(7, 1, ME, 3, 2),
    Notice({"id": "q", "kind": "query"}, 2**64 - 1),
    Heartbeat({"x": [1, 2, 3, 4, 5]}),
]


def packet(message: Message | None = None) -> Packet:
    return Packet(ME, 5, 1, 9, message or Ask(1), (1, 2))


@pytest.mark.parametrize("message", MESSAGES, ids=lambda one: type(one).__name__)
def test_what_was_sent_is_read(message: Message) -> None:
    data = Wire(KEY).frame(0, packet(message))
    assert PREFIX.unpack(data[:4]) == (len(data) - 4,)
    assert Wire(KEY).read(0, data[4:]) == packet(message)


def test_rows_travel_with_their_types() -> None:
    rows = pl.DataFrame(
        {"@key": pl.Series([1, 2**64 - 1], dtype=pl.UInt64), "x": [None, 1.5], "s": ["a", None]}
    )
    read = decode(encode(Put("i", rows)))
    assert isinstance(read, Put)
    assert read.rows.equals(rows)
    assert read.rows.schema == rows.schema


@given(st.data())
def test_a_changed_frame_is_refused(data: st.DataObject) -> None:
    frame = bytearray(Wire(KEY).frame(0, packet())[4:])
    at = data.draw(st.integers(0, len(frame) - 1))
    frame[at] ^= data.draw(st.integers(1, 255))
    wire = Wire(KEY)
    assert wire.read(0, bytes(frame)) is None
    assert wire.refused.total() == 1


@given(st.binary(max_size=200))
def test_noise_is_refused(noise: bytes) -> None:
    wire = Wire(KEY)
    assert wire.read(0, noise) is None
    assert wire.refused.total() == 1
    with pytest.raises(WireError):
        decode(noise)


def test_repeated_old_and_foreign_frames_are_refused() -> None:
    sender, wire = Wire(KEY), Wire(KEY)
    frame = sender.frame(0, packet())[4:]
    assert wire.read(0, frame) is not None
    assert wire.read(0, frame) is None
    assert wire.read(6 * MINUTE, sender.frame(0, packet())[4:]) is None
    assert wire.read(0, Wire(b"other key of a ring").frame(0, packet())[4:]) is None
    assert wire.read(0, frame[:40]) is None
    body = bytearray(sender.frame(0, packet())[4:])
    at = body.index(f"[{RELEASE},".encode())
    body[at + 1] += 1
    body[:32] = hmac.digest(KEY, bytes(body[32:]), "sha256")
    assert wire.read(0, bytes(body)) is None
    assert advice_of(wire.refusal) == b"R"
    assert dict(wire.refused) == {
        "a frame of another release": 1,
        "a frame that was seen before": 1,
        "a frame that is old": 1,
        "a frame without the key of this ring": 2,
    }


def test_a_key_is_long_and_private(tmp_path: Path) -> None:
    path = tmp_path / "key"
    with pytest.raises(ConfigurationError, match="cannot be read"):
        key_of(path)
    path.write_bytes(b"short\n")
    with pytest.raises(ConfigurationError, match="has 5 bytes"):
        key_of(path)
    path.write_bytes(KEY + b"\n")
    path.chmod(0o644)
    with pytest.raises(ConfigurationError, match="others can read"):
        key_of(path)
    path.chmod(0o600)
    assert key_of(path) == KEY


def test_a_listening_peer_survives_noise() -> None:
    """Noise, a length beyond all bounds, half a frame: the connection ends, is counted, and the peer goes on."""
    address = f"127.0.0.1:{_free_port()}"
    peer = Peer(Contact(1, "a", address), 1, Settings())
    peer.begin()
    tcp = TcpPeer(peer, KEY, lambda: time.time_ns() // 1000)
    try:
        good = Wire(KEY).frame(time.time_ns() // 1000, packet())
        for noise, expected in (
            (b"GET / HTTP/1.1\r\n\r\n" * 4, b""),
            (PREFIX.pack(2**31), b""),
            (good[:20], b""),
            (good[:-1] + b"x", b"K"),
        ):
            with socket.create_connection(("127.0.0.1", int(address.rpartition(":")[2]))) as connection:
                connection.sendall(noise)
                connection.shutdown(socket.SHUT_WR)
                assert connection.recv(2) == expected
        assert tcp.call(lambda: sum(tcp.wire.refused.values())) == 4
        # Over a real connection each: changed and cut frames, noise under the right key, and a frame sent twice.
        random, now = Random(21), time.time_ns() // 1000
        frames = [_mutated(random, Wire(KEY).frame(now, packet())) for _ in range(150)]
        twice = Wire(KEY).frame(now, packet())
        for frame in [
            *frames,
            *(_sealed(random.randbytes(random.randrange(80))) for _ in range(50)),
            twice + twice,
        ]:
            with socket.create_connection(("127.0.0.1", int(address.rpartition(":")[2]))) as connection:
                connection.sendall(frame)
                connection.shutdown(socket.SHUT_WR)
                while connection.recv(64):
                    pass
        refused = tcp.call(lambda: dict(tcp.wire.refused))
        assert sum(refused.values()) == 4 + 150 + 50 + 1
        assert not [reason for reason in refused if "bug" in reason]
        assert tcp.call(lambda: tcp.peer.chord.member)
    finally:
        tcp.close(leaving=False)


def test_a_stranger_holds_no_memory_and_no_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    """First frames that do not end are bounded in bytes, in time and in number; whoever has the key is still heard."""
    monkeypatch.setattr("nilometer.overlay.tcp.MOST_ARRIVING", 3 * MOST_BYTES)
    monkeypatch.setattr("nilometer.overlay.tcp.MOST_CONNECTIONS", 4)
    monkeypatch.setattr("nilometer.overlay.tcp.ARRIVING", 0.5)
    address = f"127.0.0.1:{_free_port()}"
    peer = Peer(Contact(1, "a", address), 1, Settings())
    peer.begin()
    tcp = TcpPeer(peer, KEY, lambda: time.time_ns() // 1000)
    place = ("127.0.0.1", int(address.rpartition(":")[2]))
    try:
        with contextlib.ExitStack() as stack:
            for _ in range(6):
                connection = stack.enter_context(socket.create_connection(place))
                connection.sendall(PREFIX.pack(MOST_BYTES) + b"x" * 1000)
                stack.callback(_ended, connection)
        refused = tcp.call(lambda: dict(tcp.wire.refused))
        assert sum(refused.values()) == 6
        assert refused["a connection without a frame"] == 3
        assert refused["a first frame while too many others arrive"] >= 1
        with socket.create_connection(place) as connection:
            connection.sendall(Wire(KEY).frame(time.time_ns() // 1000, packet()))
            connection.shutdown(socket.SHUT_WR)
            assert connection.recv(1) == b""
        assert tcp.call(lambda: sum(tcp.wire.refused.values())) == 6
    finally:
        tcp.close(leaving=False)


def _ended(connection: socket.socket) -> None:
    """Wait until the peer has closed a connection."""
    with contextlib.suppress(ConnectionError):
        assert connection.recv(1) == b""


def _mutated(random: Random, frame: bytes) -> bytes:
    """One byte changed, or the end cut off; the length before it stays true, so that the peer need not wait."""
    body = bytearray(frame[4:])
    if random.random() < 0.5:
        body = body[: random.randrange(1, len(body))]
    else:
        body[random.randrange(len(body))] ^= random.randrange(1, 256)
    return PREFIX.pack(len(body)) + bytes(body)


def _sealed(body: bytes) -> bytes:
    """Noise that whoever has the key sends."""
    data = hmac.digest(KEY, body, "sha256") + body
    return PREFIX.pack(len(data)) + data


def _free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])
