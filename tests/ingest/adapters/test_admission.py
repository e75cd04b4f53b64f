"""A port that others reach needs a token: unsaid, wrong or dripped, it lets nothing in."""

from __future__ import annotations

import socket

import pytest

from nilometer.catalog.address import Address
from nilometer.catalog.extents import Stream, stream_columns
from nilometer.errors import ConfigurationError
from nilometer.ingest.adapters.tcp_lines import TcpLinesAdapter
from nilometer.types import INT, Column

DEPTH = Stream("depth", stream_columns((Column("depth", INT),)))
LINE = b'{"time": "2026-01-01T00:00:00Z", "id": 1, "depth": %d}\n'


@pytest.mark.promise("ports-with-tokens")
@pytest.mark.parametrize("host", ["0.0.0.0", "[::]", "gateway", "10.1.2.3"])
def test_a_port_that_others_reach_needs_a_token(host: str) -> None:
    with pytest.raises(ConfigurationError, match="lets every machine") as caught:
        TcpLinesAdapter(DEPTH, Address.parse(f"tcp://{host}:0"), lambda: 0)
    assert "token=${AIR_TOKEN}" in str(caught.value)
    TcpLinesAdapter(DEPTH, Address.parse(f"tcp://{host}:0?open=1"), lambda: 0)
    TcpLinesAdapter(DEPTH, Address.parse(f"tcp://{host}:0?token=abc"), lambda: 0)
    with pytest.raises(ConfigurationError, match="is empty"):
        TcpLinesAdapter(DEPTH, Address.parse(f"tcp://{host}:0?token="), lambda: 0)


def test_only_connections_that_say_the_token_write() -> None:
    with TcpLinesAdapter(
        DEPTH, Address.parse("tcp://127.0.0.1:0?token=s%20cret&limit=1000"), lambda: 99
    ) as port:
        for first, closes in ((b"s cret\r\n", False), (b"wrong\n", True), (b"", True), (b"x" * 5_000, True)):
            with socket.create_connection(("127.0.0.1", port.port), timeout=10) as sensor:
                sensor.sendall(first + (LINE % 1 if not closes else LINE % 2))
                if not closes:
                    sensor.shutdown(socket.SHUT_WR)
                try:
                    assert sensor.recv(1) == b""  # the adapter has closed its side
                except ConnectionResetError:
                    assert closes
        result = port.read()
        assert result.rows["depth"].to_list() == [1]
        assert result.garbled == ()
        assert port.trouble == "3 connections without the right token, closed"
