"""TCP lines on loopback: pieces of lines, long lines, headers, clients that break off."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest

from nilometer.catalog.address import Address
from nilometer.catalog.extents import Stream, stream_columns
from nilometer.catalog.form import Form, Format
from nilometer.errors import ResourceError
from nilometer.ingest.adapters.adapter import ReadResult, Status
from nilometer.ingest.adapters.tcp_lines import TcpLinesAdapter
from nilometer.types import FLOAT, Column

PATIENCE = 60.0
ANYWHERE = Address.parse("tcp://127.0.0.1:0")
DEPTH = Stream("depth", stream_columns((Column("depth", FLOAT),)))


def make(options: str = "", port: int = 0) -> TcpLinesAdapter:
    return TcpLinesAdapter(DEPTH, Address.parse(f"tcp://127.0.0.1:{port}?{options}"), lambda: 99)


@pytest.fixture
def source() -> Iterator[TcpLinesAdapter]:
    with make("limit=200&receive=5") as source:
        yield source


def connect(source: TcpLinesAdapter) -> socket.socket:
    return socket.create_connection(("127.0.0.1", source.port), PATIENCE)


def read_until(source: TcpLinesAdapter, enough: Callable[[list[ReadResult]], bool]) -> list[ReadResult]:
    results: list[ReadResult] = []
    while not enough(results):
        assert source.wake is not None
        assert source.wake.wait(PATIENCE)
        results.append(source.read())
    return results


def received(results: list[ReadResult]) -> int:
    return sum(result.received for result in results)


def test_lines_in_pieces_from_several_clients(source: TcpLinesAdapter) -> None:
    with connect(source) as first, connect(source) as second:
        first.sendall(b'{"time": 1, "id": 1, ')
        second.sendall(b"depth;id;time\r\n5;2;2\r\n")
        (result,) = read_until(source, lambda found: received(found) >= 1)
        assert result.rows.rows() == [(2, 2, 5.0)]
        first.sendall(b'"depth": 4}\n\nnonsense\n')
        second.sendall(b"6;2;3\n")
        results = read_until(source, lambda found: received(found) >= 3)
    assert sorted(row for result in results for row in result.rows.rows()) == [(1, 1, 4.0), (3, 2, 6.0)]
    assert [letter.payload for result in results for letter in result.garbled] == [b"nonsense"]


def test_fields_and_paths_of_a_declaration() -> None:
    form = Form((("id", "sensor"), ("depth", "$.level.m")))
    mapped = replace(DEPTH, form=form)
    with TcpLinesAdapter(mapped, ANYWHERE, lambda: 99) as source, connect(source) as client:
        client.sendall(b'{"sensor": 7, "level": {"m": 2.5}}\n{"sensor": 8, "depth": 1}\n')
        results = read_until(source, lambda found: received(found) >= 2)
    assert [row for result in results for row in result.rows.rows()] == [(99, 7, 2.5)]
    reasons = [letter.reason for result in results for letter in result.garbled]
    assert reasons == ["no declared column in it: it has sensor, depth; expected $.level.m"]
    form = Form((("id", "sensor"), ("depth", "level")), format=Format("CSV", header=True, delimiter="|"))
    mapped = replace(DEPTH, form=form)
    with TcpLinesAdapter(mapped, ANYWHERE, lambda: 99) as source, connect(source) as client:
        client.sendall(b"battery|sensor|level\n98|7|2.5\n97|7|2.25\n")
        results = read_until(source, lambda found: received(found) >= 2)
    assert [row[1:] for result in results for row in result.rows.rows()] == [(7, 2.5), (7, 2.25)]


def test_lines_without_end(source: TcpLinesAdapter) -> None:
    with connect(source) as client:
        client.sendall(b"x" * 100_000)
        (result,) = read_until(source, lambda found: received(found) >= 1)
        assert (len(result.garbled[0].payload), result.garbled[0].reason) == (
            200,
            "a line of more than 200 bytes",
        )
        client.sendall(b"x\n1,1,1\n" + b"y" * 300 + b"\n2,1,1\n3,1")
    results = read_until(source, lambda found: received(found) >= 4)
    assert [row[0] for result in results for row in result.rows.rows()] == [1, 2]
    reasons = [letter.reason for result in results for letter in result.garbled]
    assert sorted(reasons) == ["a line of more than 200 bytes", "the connection ended within the line"]


def test_senders_wait_when_nobody_reads(source: TcpLinesAdapter) -> None:
    with connect(source) as client:
        client.sendall(b"".join(b"%d,1,1\n" % time for time in range(1_000)))
        results = read_until(source, lambda found: received(found) >= 1_000)
    assert [row[0] for result in results for row in result.rows.rows()] == list(range(1_000))
    assert max(result.received for result in results) <= 5


def test_open_and_close(source: TcpLinesAdapter) -> None:
    other = make(port=source.port)
    with pytest.raises(ResourceError):
        other.open()
    other.close()
    client = connect(source)
    source.close()
    assert client.recv(1) == b""
    client.close()
    assert source.read().status is Status.END


@pytest.mark.promise("dripping-clients")
def test_a_client_that_drips_is_closed_and_costs_the_others_nothing() -> None:
    now = [0.0]
    address = Address.parse("tcp://127.0.0.1:0?idle=30s")
    with (
        TcpLinesAdapter(DEPTH, address, lambda: 99, lambda: now[0]) as source,
        connect(source) as dripping,
        connect(source) as other,
    ):
        for second in range(30):  # a byte a second, and no end of the line
            now[0] = float(second)
            dripping.sendall(b"1")
            other.sendall(b"%d,1,1\n" % second)
            read_until(source, lambda found: received(found) >= 1)
        now[0] = 31.0
        assert dripping.recv(1) == b""
        other.sendall(b"99,1,1\n")
        results = read_until(source, lambda found: received(found) >= 2)
    assert [row[0] for result in results for row in result.rows.rows()] == [99]
    (letter,) = (letter for result in results for letter in result.garbled)
    assert letter.reason == "the connection was silent within the line, and was closed"
