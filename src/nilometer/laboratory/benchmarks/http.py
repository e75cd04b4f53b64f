"""`nilometer bench http`: readings into `nilometer serve --http`, each acknowledged once durable; and answers out to 200
subscribers.

The server is a process of its own; the senders are in this one, on the same cores. FROST's maintainers say that it
takes 5,000 inserts a second "easily", over many datastreams in parallel, on an SSD (FROST-Server, issue 1576). That
was another machine: the ratio is for orientation.
"""

from __future__ import annotations

import asyncio
import io
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import polars as pl

from nilometer.errors import ResourceError
from nilometer.laboratory.benchmarks.result import Measurement, Result, Target

FROST = 5_000
CONNECTIONS = 64
SUBSCRIBERS = 200
MEASURED = 20
"""Subscribers that note when each row came. The others count rows: they must cost little beside the server."""
VALUE = b'"pm25": '
SECONDS = 10
START = 1_772_344_800_000_000
ARROW = "application/vnd.apache.arrow.stream"
SCHEMA = """CREATE STREAM {name} (id INT, pm25 FLOAT) PUSHED DELAY 1 SECONDS FUTURE 3650 DAYS KEY (id, time);
"""
LIVE = "CREATE QUERY high AS SELECT time, id, pm25 FROM live WHERE pm25 >= 0;\n"


def http(rows: int, sensors: int) -> Result:
    """Send single readings, lines and Arrow; then follow answers."""
    with (
        tempfile.TemporaryDirectory(prefix="nilometer-bench-") as folder,
        _serving(Path(folder)) as (port, server),
    ):
        asyncio.run(_send_all(port, _path("single"), "application/json", _singles(1, sensors)))
        before = _processor(server)
        single = _measure(port, "single", "application/json", _singles(rows // 100, sensors), 1)
        each = (_processor(server) - before) / single.rows_in
        numbers = _datastreams(port)
        before = _processor(server)
        things = _measure_things(port, numbers, rows // 100)
        each_thing = (_processor(server) - before) / things.rows_in
        lines = _measure(port, "lines", "application/x-ndjson", _lines(rows // 4, sensors, 1_000), 1_000)
        arrow = _measure(port, "arrow", ARROW, _arrow(rows, sensors, 10_000), 10_000)
        before, own = _processor(server), time.process_time()
        delays, stalled = asyncio.run(_follow(port, sensors))
        clients = time.process_time() - own
        following = _processor(server) - before
    delays.sort()
    half, most = delays[len(delays) // 2], delays[int(len(delays) * 0.99)]
    targets = (
        Target("single readings, FROST's published rate over ours", FROST / _rate(single), 1.0),
        Target("single Observations, FROST's published rate over ours", FROST / _rate(things), 1.0),
        Target("200 subscribers, p99 from sending to receiving, in seconds", most, 1.0),
    )
    notes = (
        f"load average {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores, with all that ran beside",
        f"processor time of the server for one reading a request: {1_000 * each:.2f} ms, so at most {1 / each:,.0f} a second",
        f"and for one Observation a request by SensorThings: {1_000 * each_thing:.2f} ms, {1 / each_thing:,.0f} a second",
        "",
        f"{SUBSCRIBERS} subscribers of {sensors} sensors at 1 Hz for {SECONDS} s, one of them stalled:",
        f"p50 {1_000 * half:.0f} ms, p99 {1_000 * most:.0f} ms from sending a reading to receiving its row "
        f"({MEASURED} of them look at the clock: {len(delays):,} rows); {stalled or 'no'} rows missing of all",
        f"processor time of the senders and subscribers: {clients:.1f} s",
        f"processor time of the server: {following:.1f} s for {SECONDS} s of readings",
    )
    setting = (
        f"{CONNECTIONS} connections, acknowledged once durable; server and senders share this machine; "
        f"peer: FROST's published {FROST:,} inserts/s, elsewhere"
    )
    return Result("http", "FROST", setting, (single, things, lines, arrow), targets, notes)


def _rate(found: Measurement) -> float:
    return found.rows_in / found.ours


# ---- the server ------------------------------------------------------------------------------------------------------


@contextmanager
def _serving(folder: Path) -> Iterator[tuple[int, int]]:
    names = ("single", "lines", "arrow", "live")
    (folder / "schema.sql").write_text("".join(SCHEMA.format(name=name) for name in names) + LIVE)
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    command = [sys.executable, "-P", "-m", "nilometer.cli.main", "serve", "--data", str(folder)]
    server = subprocess.Popen([*command, "--http", str(port)], stderr=subprocess.PIPE, text=True)
    try:
        assert server.stderr is not None
        for line in server.stderr:
            if "HTTP at" in line:
                break
        else:
            raise ResourceError("the server did not start", hint="pip install 'nilometer[server]'")
        os.set_blocking(server.stderr.fileno(), False)
        yield port, server.pid
    finally:
        server.send_signal(signal.SIGTERM)
        server.wait(30)


def _processor(process: int) -> float:
    """The seconds of processor time that a process has taken."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _path(stream: str) -> str:
    return f"/api/v1/streams/{stream}/readings"


# ---- readings --------------------------------------------------------------------------------------------------------


def _frame(first: int, count: int, sensors: int) -> pl.DataFrame:
    numbers = pl.int_range(first, first + count, eager=True)
    return pl.DataFrame(
        {
            "time": START + numbers // sensors * 1_000_000,
            "id": numbers % sensors,
            "pm25": (numbers % 97).cast(pl.Float64),
        }
    )


def _singles(count: int, sensors: int) -> list[bytes]:
    return [line.encode() for line in _frame(0, count, sensors).write_ndjson().splitlines()]


def _lines(count: int, sensors: int, part: int) -> list[bytes]:
    return [_frame(first, part, sensors).write_ndjson().encode() for first in range(0, count, part)]


def _arrow(count: int, sensors: int, part: int) -> list[bytes]:
    bodies = []
    for first in range(0, count, part):
        sink = io.BytesIO()
        _frame(first, part, sensors).write_ipc_stream(sink)
        bodies.append(sink.getvalue())
    return bodies


def _measure(port: int, stream: str, kind: str, bodies: Sequence[bytes], part: int) -> Measurement:
    path = _path(stream)
    asyncio.run(_send_all(port, path, kind, bodies[:1]))  # opens the stream's log
    began = time.perf_counter()
    asyncio.run(_send_all(port, path, kind, bodies))
    seconds = time.perf_counter() - began
    sent = len(bodies) * part
    ledger = json.loads(asyncio.run(_get(port, f"/api/v1/streams/{stream}/ledger")))
    equal = ledger["appended"] == sent and ledger["duplicate"] == ledger["received"] - sent
    task = {1: "one reading a request"}.get(part, f"{part:,} readings a request, {kind.split('/')[1][:24]}")
    return Measurement(task, seconds, sent / FROST, sent, int(ledger["appended"]), equal)


def _datastreams(port: int) -> list[int]:
    """As many Datastreams as there are connections, of one Thing. Their numbers."""
    named = {"name": "bench", "description": "bench"}
    one = named | {
        "observationType": "http://www.opengis.net/def/observationType/OGC-OM/2.0/OM_Measurement",
        "unitOfMeasurement": {"name": "degree Celsius", "symbol": "Cel", "definition": "ucum:Cel"},
        "Sensor": named | {"encodingType": "text/plain", "metadata": "-"},
        "ObservedProperty": named | {"definition": "http://example.org/t"},
    }
    body = json.dumps(named | {"Datastreams": [one] * CONNECTIONS}).encode()
    asyncio.run(_send_all(port, "/v1.1/Things", "application/json", [body]))
    found = json.loads(asyncio.run(_get(port, f"/v1.1/Datastreams?$select=id&$top={CONNECTIONS}")))
    return [entity["@iot.id"] for entity in found["value"]]


def _measure_things(port: int, numbers: Sequence[int], count: int) -> Measurement:
    """Observations one by one, as FROST counts them."""
    bodies = [
        json.dumps(
            {
                "phenomenonTime": f"2026-03-01T{at // 3_600:02}:{at // 60 % 60:02}:{at % 60:02}Z",
                "result": float(at),
                "Datastream": {"@iot.id": numbers[at % len(numbers)]},
            }
        ).encode()
        for at in range(count)
    ]
    began = time.perf_counter()
    asyncio.run(_send_all(port, "/v1.1/Observations", "application/json", bodies))
    seconds = time.perf_counter() - began
    found = json.loads(asyncio.run(_get(port, "/v1.1/Observations?$count=true&$top=0")))["@iot.count"]
    return Measurement(
        "one Observation a request, SensorThings", seconds, count / FROST, count, found, found == count
    )


async def _send_all(port: int, path: str, kind: str, bodies: Sequence[bytes]) -> None:
    work = iter(bodies)

    async def sender() -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        try:
            for body in work:
                while await _post(reader, writer, path, kind, body) in (429, 503):
                    await asyncio.sleep(0.05)
        finally:
            writer.close()

    await asyncio.gather(*(sender() for _ in range(min(CONNECTIONS, len(bodies)))))


async def _post(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, path: str, kind: str, body: bytes
) -> int:
    head = f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\n\r\n"
    writer.write(head.encode() + body)
    answer = await reader.readuntil(b"\r\n\r\n")
    length = next(
        int(line[15:]) for line in answer.split(b"\r\n") if line.lower().startswith(b"content-length:")
    )
    await reader.readexactly(length)
    status = int(answer[9:12])
    if status not in (200, 201, 429, 503):
        raise ResourceError(f"the server answered {status}")
    return status


async def _get(port: int, path: str) -> bytes:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(f"GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode())
    answer = await reader.read()
    writer.close()
    return answer.partition(b"\r\n\r\n")[2]


def _seconds_in(line: bytes) -> dict[int, int]:
    """How many rows of each second an event has. Not parsed: most events have rows of one second alone."""
    first, last = line.find(VALUE) + len(VALUE), line.rfind(VALUE) + len(VALUE)
    low, high = (int(line[at : line.index(b".", at)]) for at in (first, last))
    if low == high:
        return {low: line.count(VALUE)}
    seconds = range(min(low, high), max(low, high) + 1)
    return {second: line.count(b"%b%d.0}" % (VALUE, second)) for second in seconds}


# ---- answers ---------------------------------------------------------------------------------------------------------


async def _follow(port: int, sensors: int) -> tuple[list[float], int]:
    """All sensors once a second; SUBSCRIBERS follow, one of which never reads. Returns the delays, and how many rows are
    missing."""
    sent: dict[int, float] = {}
    delays: list[float] = []
    wanted = sensors * SECONDS

    async def subscriber(number: int) -> int:
        """The rows that are missing. The first one never reads; the next MEASURED look at the clock."""
        reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=64 << 20)
        ask = "GET /api/v1/queries/high/results HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n\r\n"
        writer.write(ask.encode())
        got, rest = 0, b""
        try:
            if not number:
                await asyncio.sleep(SECONDS + 5)
                return 0
            while got < wanted and number <= MEASURED:
                line = await reader.readline()
                if not line:
                    break
                if line.startswith(b'data: {"position":') and b'"rows"' in line:
                    rows = _seconds_in(line)
                    now = time.perf_counter()
                    got += sum(rows.values())
                    for second, count in rows.items():
                        delays.extend([now - sent[second]] * count)
            while got < wanted and number > MEASURED:  # counts rows and nothing else: all share this machine
                part = await reader.read(1 << 18)
                if not part:
                    break
                rest += part
                got += rest.count(VALUE)
                rest = rest[-(len(VALUE) - 1) :]
        finally:
            writer.close()
        return wanted - got

    following = [asyncio.ensure_future(subscriber(number)) for number in range(SUBSCRIBERS)]
    await asyncio.sleep(2)
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    begin = time.perf_counter()
    for second in range(SECONDS):
        frame = _frame(second * sensors, sensors, sensors).with_columns(pl.lit(float(second)).alias("pm25"))
        await asyncio.sleep(max(0.0, begin + second - time.perf_counter()))
        sent[second] = time.perf_counter()
        body = frame.write_ndjson().encode()
        await _post(reader, writer, "/api/v1/streams/live/readings", "application/x-ndjson", body)
    writer.close()
    missing = 0
    done, late = await asyncio.wait(following, timeout=30)
    for task in late:
        task.cancel()
        missing += 1
        with suppress(asyncio.CancelledError):
            await task
    return delays or [float("inf")], missing + sum(task.result() for task in done)
