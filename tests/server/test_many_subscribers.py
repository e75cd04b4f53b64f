"""Many subscribers of one query, one of which never reads: all others have every row, and the server keeps little."""

from __future__ import annotations

import asyncio
import json
import socket
from pathlib import Path

import pytest

from nilometer.server.tails import TAIL_BYTES
from server.serving import Caller, minute, served
from server.test_results import RESULTS, SCHEMA

ASK = f"GET {RESULTS} HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n\r\n".encode()


async def follow(port: int, count: int, began: asyncio.Event) -> int:
    """Read until so many rows have come, and check that none is missing. Says when the first has come."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=64 << 20)
    writer.write(ASK)
    got = 0
    while got < count:
        line = await reader.readline()
        assert line, "the server hung up"
        if line.startswith(b'data: {"position":') and b'"rows"' in line:
            data = json.loads(line[6:])
            assert data["position"] == got
            got += len(data["rows"])
            began.set()
    writer.close()
    return got


def many(folder: Path, subscribers: int, rounds: int, batch: int) -> None:
    with served(folder, SCHEMA) as server:
        caller = Caller(server.port)
        caller.send("air", minute(0))
        stalled = socket.create_connection(("127.0.0.1", server.port))
        stalled.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
        stalled.sendall(ASK)

        async def run() -> list[int]:
            began = [asyncio.Event() for _ in range(subscribers)]
            tasks = [asyncio.ensure_future(follow(server.port, 1 + rounds * batch, event)) for event in began]
            for event in began:
                await event.wait()
            for number in range(rounds):
                rows = [minute(0, f"s{number}-{one}", 1.0) for one in range(batch)]
                await asyncio.to_thread(caller.send, "air", rows)
            return await asyncio.gather(*tasks)

        assert set(asyncio.run(run())) == {1 + rounds * batch}
        for tail in server.desk.tails._tails.values():
            kept = sum(int(chunk.rows.estimated_size()) for chunk in tail.chunks)
            assert kept <= TAIL_BYTES + int(tail.chunks[-1].rows.estimated_size())
            assert tail.subscribers <= 1 + subscribers
        stalled.close()
        caller.close()


def test_some_subscribers_and_one_that_never_reads(tmp_path: Path) -> None:
    many(tmp_path, 10, 5, 200)


@pytest.mark.long
def test_two_hundred_subscribers_and_one_that_never_reads(tmp_path: Path) -> None:
    many(tmp_path, 200, 60, 2_000)
