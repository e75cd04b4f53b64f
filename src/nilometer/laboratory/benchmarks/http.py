"""`nilometer bench http`: readings into `nilometer serve --http`, each acknowledged once durable; and answers out to 200
subscribers, one of which is a browser.

The server is a process of its own, and so is the sender; both are on this machine's cores. FROST's maintainers say that
it takes 5,000 inserts a second "easily", over many datastreams in parallel, on an SSD (FROST-Server, issue 1576). That
was another machine: the ratio is for orientation.
"""

from __future__ import annotations

import asyncio
import io
import json
import os
import tempfile
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from nilometer.laboratory.benchmarks import http_browser
from nilometer.laboratory.benchmarks.http_serving import (
    CONNECTIONS,
    Sent,
    get,
    processor,
    readings_of,
    resident,
    send,
    serving,
)
from nilometer.laboratory.benchmarks.result import Measurement, Result, Target
from nilometer.laboratory.browser import Browser

FROST = 5_000
SUBSCRIBERS = 200
MEASURED = 20
"""Subscribers that note when each row came. The others count rows: they must cost little beside the server."""
VALUE = b'"pm25": '
SECONDS = 20
START = 1_772_344_800_000_000
ARROW = "application/vnd.apache.arrow.stream"
FORMS = {"application/x-ndjson": "JSON lines", ARROW: "Arrow"}
STREAM = """CREATE STREAM {name} (id INT, pm25 FLOAT) PUSHED DELAY 1 SECONDS FUTURE 3650 DAYS KEY (id, time);
"""
SCHEMA = "".join(STREAM.format(name=name) for name in ("single", "lines", "arrow", "live"))
LIVE = "CREATE QUERY high AS SELECT time, id, pm25 FROM live WHERE pm25 >= 0;\n"


@dataclass(frozen=True)
class Followed:
    """The seconds until rows came, how many never came, what it cost, and the seconds until the browser had drawn each
    second of readings (None: no Chromium)."""

    delays: list[float]
    missing: int
    server: float
    grown: int
    drawn: list[float] | None


def http(rows: int, sensors: int) -> Result:
    """Send single readings, Observations, lines and Arrow; then follow answers."""
    with (
        tempfile.TemporaryDirectory(prefix="nilometer-bench-") as folder,
        serving(Path(folder), SCHEMA + LIVE) as (port, server),
    ):
        count = rows // 20
        single, singly = _measure(port, server, "single", "application/json", _singles(count, sensors), 1)
        things, thing = _measure_things(port, server, _datastreams(port, server), count)
        lines, _ = _measure(
            port, server, "lines", "application/x-ndjson", _lines(rows // 4, sensors, 1_000), 1_000
        )
        arrow, _ = _measure(port, server, "arrow", ARROW, arrow_bodies(rows, sensors, 10_000), 10_000)
        with http_browser.browser() as page:
            followed = _follow(port, server, sensors, page)
    delays = sorted(followed.delays)
    half, most = delays[len(delays) // 2], delays[int(len(delays) * 0.99)]
    targets = [
        Target("single readings, FROST's published rate over ours", FROST / _rate(single), 1.0),
        Target("single Observations, FROST's published rate over ours", FROST / _rate(things), 1.0),
        Target(f"{SUBSCRIBERS} subscribers, p99 from sending to receiving, in seconds", most, 1.0),
    ]
    if followed.drawn is not None:
        slowest = max(followed.drawn)
        targets.append(Target("p99 from sending to drawn in a browser beside them, in seconds", slowest, 1.0))
    notes = (
        f"load average {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores, with all that ran beside",
        f"a reading a request: {_said(singly, count)}",
        f"an Observation a request: {_said(thing, count)}",
        "",
        f"{SUBSCRIBERS} subscribers of {sensors} sensors at 1 Hz for {SECONDS} s, one of them stalled:",
        f"p50 {1_000 * half:.0f} ms, p99 {1_000 * most:.0f} ms from sending a reading to receiving its row "
        f"({MEASURED} of them look at the clock: {len(delays):,} rows); {followed.missing or 'no'} rows missing of all",
        f"processor time of the server: {followed.server:.1f} s for {SECONDS} s of readings; "
        f"its memory grew by {followed.grown / 2**20:.0f} MiB",
        _drawn(followed.drawn),
    )
    setting = (
        f"{CONNECTIONS} connections, acknowledged once durable; server and senders share this machine; "
        f"peer: FROST's published {FROST:,} inserts/s, elsewhere"
    )
    return Result("http", "FROST", setting, (single, things, lines, arrow), tuple(targets), notes)


def _rate(found: Measurement) -> float:
    return found.rows_in / found.ours


def _said(sent: Sent, count: int) -> str:
    return (
        f"p50 {sent.p50:.1f} ms, p99 {sent.p99:.1f} ms; processor time of the server {1_000 * sent.server / count:.3f} ms, "
        f"of the sender {1_000 * sent.processor / count:.3f} ms"
    )


def _drawn(delays: list[float] | None) -> str:
    if delays is None:
        return "browser: Chromium is not installed"
    found = sorted(delays)
    return (
        f"Chromium, one of the subscribers, on the page of the query: from sending a second of readings to all of it drawn "
        f"{1_000 * found[len(found) // 2]:.0f} ms in the middle, {1_000 * found[-1]:.0f} ms at most"
    )


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


def arrow_bodies(count: int, sensors: int, part: int) -> list[bytes]:
    """Readings in Arrow streams of `part` rows."""
    bodies = []
    for first in range(0, count, part):
        sink = io.BytesIO()
        _frame(first, part, sensors).write_ipc_stream(sink)
        bodies.append(sink.getvalue())
    return bodies


def _measure(
    port: int, server: int, stream: str, kind: str, bodies: Sequence[bytes], part: int
) -> tuple[Measurement, Sent]:
    path = readings_of(stream)
    send(port, server, path, kind, bodies[:1])  # opens the stream's log
    sent = send(port, server, path, kind, bodies)
    count = len(bodies) * part
    ledger = get(port, f"/api/v1/streams/{stream}/ledger")
    equal = ledger["appended"] == count and ledger["duplicate"] == ledger["received"] - count
    task = "one reading a request" if part == 1 else f"{part:,} readings a request, {FORMS[kind]}"
    rows_out = int(ledger["appended"])
    return Measurement(task, sent.seconds, count / FROST, count, rows_out, equal, processor=sent.server), sent


def _datastreams(port: int, server: int) -> list[int]:
    """As many Datastreams as there are connections, of one Thing. Their numbers."""
    named = {"name": "bench", "description": "bench"}
    one = named | {
        "observationType": "http://www.opengis.net/def/observationType/OGC-OM/2.0/OM_Measurement",
        "unitOfMeasurement": {"name": "degree Celsius", "symbol": "Cel", "definition": "ucum:Cel"},
        "Sensor": named | {"encodingType": "text/plain", "metadata": "-"},
        "ObservedProperty": named | {"definition": "http://example.org/t"},
    }
    body = json.dumps(named | {"Datastreams": [one] * CONNECTIONS}).encode()
    send(port, server, "/v1.1/Things", "application/json", [body])
    found = get(port, f"/v1.1/Datastreams?$select=id&$top={CONNECTIONS}")
    return [entity["@iot.id"] for entity in found["value"]]


def _measure_things(port: int, server: int, numbers: Sequence[int], count: int) -> tuple[Measurement, Sent]:
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
    send(port, server, "/v1.1/Observations", "application/json", bodies[:1])
    sent = send(port, server, "/v1.1/Observations", "application/json", bodies[1:])
    found = int(get(port, "/api/v1/streams/observations/ledger")["appended"])
    task, equal = "one Observation a request", found == count
    return Measurement(
        task, sent.seconds, (count - 1) / FROST, count - 1, found, equal, processor=sent.server
    ), sent


def _seconds_in(line: bytes) -> dict[int, int]:
    """How many rows of each second an event has. Not parsed: most events have rows of one second alone."""
    first, last = line.find(VALUE) + len(VALUE), line.rfind(VALUE) + len(VALUE)
    low, high = (int(line[at : line.index(b".", at)]) for at in (first, last))
    if low == high:
        return {low: line.count(VALUE)}
    seconds = range(min(low, high), max(low, high) + 1)
    return {second: line.count(b"%b%d.0}" % (VALUE, second)) for second in seconds}


# ---- answers ---------------------------------------------------------------------------------------------------------


def _follow(port: int, server: int, sensors: int, page: Browser | None) -> Followed:
    """All sensors once a second; SUBSCRIBERS follow, one of which never reads, and one of which is the browser."""
    before, held = processor(server), resident(server)
    if page is not None:
        http_browser.watch(page, port, "high", sensors - 1)
    sent: dict[int, float] = {}
    moments: dict[int, float] = {}
    delays, missing = asyncio.run(_subscribed(port, sensors, SUBSCRIBERS - (page is not None), sent, moments))
    drawn = None if page is None else http_browser.delays(page, moments)
    return Followed(delays, missing, processor(server) - before, resident(server) - held, drawn)


async def _subscribed(
    port: int, sensors: int, subscribers: int, sent: dict[int, float], moments: dict[int, float]
) -> tuple[list[float], int]:
    """Send SECONDS seconds of readings to so many subscribers. Returns the delays, and how many rows are missing."""
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

    following = [asyncio.ensure_future(subscriber(number)) for number in range(subscribers)]
    await asyncio.sleep(2)
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    begin = time.perf_counter()
    for second in range(SECONDS):
        frame = _frame(second * sensors, sensors, sensors).with_columns(pl.lit(float(second)).alias("pm25"))
        body = frame.write_ndjson().encode()
        await asyncio.sleep(max(0.0, begin + second - time.perf_counter()))
        sent[second], moments[second] = time.perf_counter(), time.time()
        await _post(reader, writer, readings_of("live"), "application/x-ndjson", body)
    writer.close()
    missing = 0
    done, late = await asyncio.wait(following, timeout=30)
    for task in late:
        task.cancel()
        missing += 1
        with suppress(asyncio.CancelledError):
            await task
    return delays or [float("inf")], missing + sum(task.result() for task in done)


async def _post(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, path: str, kind: str, body: bytes
) -> None:
    head = f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\n\r\n"
    writer.write(head.encode() + body)
    answer = await reader.readuntil(b"\r\n\r\n")
    length = next(
        int(line[15:]) for line in answer.split(b"\r\n") if line.lower().startswith(b"content-length:")
    )
    await reader.readexactly(length)
    assert answer[9:12] == b"200", answer
