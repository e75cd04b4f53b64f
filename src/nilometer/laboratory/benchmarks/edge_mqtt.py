"""MQTT to decoded batches, to the log, and to a live query, with a real Mosquitto on loopback and a publisher
in its own process.

It measures readings per second from the first PUBLISH to the last acknowledgement, in SenML packs of ten and
in single messages. "Batches" is the adapter alone. "Log" is the whole way in: decode, remove duplicates by
KEY, keep the books, make durable, acknowledge. "Live query" adds a grouped window over it. The publisher
writes prepared MQTT 3.1.1 packets, so that it uses as little as possible of the shared machine. The wall time also
depends on the broker, the publisher and whatever else runs, so each row has our own processor time beside it.
"""

from __future__ import annotations

import json
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from nilometer.catalog.address import Address
from nilometer.catalog.extents import Stream, stream_columns
from nilometer.engine import connect
from nilometer.errors import ResourceError
from nilometer.ingest.adapters.adapter import Status
from nilometer.ingest.adapters.mqtt import MqttAdapter
from nilometer.ingest.manager import StreamManager
from nilometer.laboratory.benchmarks.result import Measurement, Result, Target
from nilometer.live.outside import Outside
from nilometer.live.station import Station
from nilometer.log import LogDirectory
from nilometer.types import FLOAT, SECOND, Column

STREAM = Stream("air", stream_columns((Column("pm25", FLOAT, "ug/m3"),)), key=("id", "time"))
START = 1_767_225_600
PACK = 10
WINDOW = 2_000
"""The most unacknowledged messages of the publisher."""

GOAL = 20_000
"""Readings per second, in packs of ten, to the log."""

PATIENCE = 60.0
QUESTION = "SELECT id, AVG(pm25) AS mean FROM air [RANGE 1 MINUTE SLIDE 10 SECONDS] GROUP BY id"
NAMES = {"to_batches": "to batches", "to_log": "to log", "to_query": "to a live query"}


def edge_mqtt(rows: int = 200_000, sensors: int = 2_000) -> Result:
    """Run all parts."""
    measurements = measure(rows, sensors)
    packed = next(m for m in measurements if "log" in m.task and "packs" in m.task)
    goal = f"seconds for {GOAL:,} readings in SenML packs of {PACK}, MQTT to log"
    target = Target(goal, packed.ours / packed.rows_in * GOAL, 1.0)
    setting = f"{rows:,} readings of {sensors:,} sensors, QoS 1, acknowledged after each batch"
    return Result("edge_mqtt", "none", setting, tuple(measurements), (target,))


def measure(rows: int, sensors: int) -> list[Measurement]:
    """Packs and single messages, to batches, to the log and to a query."""
    measurements = []
    for way in (to_batches, to_log, to_query):
        for pack in (PACK, 1):
            # Single messages take ten times as long per reading: a fifth of them is enough.
            count = rows if pack > 1 else rows // 5
            measurements.append(_run(count // pack * pack, sensors, pack, way))
    return measurements


Way = Callable[[MqttAdapter, int, Path], Iterator[int]]
"""Takes readings from an opened or unopened adapter, and yields the number of readings acknowledged so
far."""


def to_batches(source: MqttAdapter, rows: int, _: Path) -> Iterator[int]:
    """Decode and acknowledge readings; keep none."""
    assert source.wake is not None
    heard = 0
    with source:
        yield 0
        while heard < rows and source.wake.wait(PATIENCE):
            result = source.read()
            if result.status is Status.NEW_VALUE:
                source.acknowledge(result.handle)
                heard += result.received
            yield heard


def to_log(source: MqttAdapter, rows: int, folder: Path) -> Iterator[int]:
    """Send readings through the stream manager."""
    with StreamManager(LogDirectory(folder), _clock, lambda *_: source) as manager:
        manager.register("bench", [STREAM])
        yield 0
        while (heard := manager.status(STREAM.name).ledger.appended) < rows:
            if not manager.poll():
                manager.wait()
            while manager.take("bench") is not None:
                pass
            yield heard
        yield heard


def to_query(source: MqttAdapter, rows: int, folder: Path) -> Iterator[int]:
    """Send readings through the station into a live query."""
    database = connect()
    database.catalog.add_stream(STREAM)
    with Station(database, folder, outside=Outside(adapter_of=lambda *_: source)) as station:
        live = station.install(database.sql(QUESTION))
        yield 0
        while (heard := live.ledger.read) < rows:
            if not station.step():
                station.manager.wait()
            for _ in live.take():
                pass
            yield heard
        yield heard


def _run(rows: int, sensors: int, pack: int, way: Way) -> Measurement:
    form = f"packs of {pack}" if pack > 1 else "single messages"
    task = f"MQTT {NAMES[way.__name__]}, {form}"
    with (
        _broker() as port,
        tempfile.NamedTemporaryFile() as packets,
        tempfile.TemporaryDirectory(prefix="nilometer-bench-") as folder,
    ):
        packets.write(b"".join(_packets(rows, sensors, pack)))
        packets.flush()
        address = Address.parse(f"mqtt://127.0.0.1:{port}/air/{{id}}?time=valid")
        source = MqttAdapter(STREAM, address, _clock)
        assert source.wake is not None
        steps = way(source, rows, Path(folder))
        heard = next(steps)
        if not source.connected.wait(PATIENCE):
            raise ResourceError("the broker does not answer", detail=source.trouble)
        publisher = subprocess.Popen(
            [sys.executable, "-c", PUBLISHER, str(port), packets.name, str(rows // pack)]
        )
        # Time from the publisher's first byte: its own start is not measured.
        source.wake.wait(PATIENCE)
        began, computed = time.perf_counter(), time.process_time()
        for heard in steps:
            if time.perf_counter() - began > PATIENCE:
                raise ResourceError(f"only {heard:,} of {rows:,} readings came in {PATIENCE:.0f} s")
            if heard >= rows:
                seconds, processor = time.perf_counter() - began, time.process_time() - computed
        publisher.wait(PATIENCE)
    # Rows are counted, not compared.
    return Measurement(task, seconds, None, rows, heard, None, processor=processor)


def _clock() -> int:
    return time.time_ns() // 1000


# ---- the publisher ---------------------------------------------------------------------------------------------------


def _packets(rows: int, sensors: int, pack: int) -> Iterator[bytes]:
    """PUBLISH packets of QoS 1."""
    for number in range(rows // pack):
        sensor, moment = number % sensors + 1, START + number // sensors * pack
        if pack == 1:
            payload = b'{"time":%d,"pm25":%d.25}' % (moment * SECOND, number % 100)
        else:
            first = {"bt": moment, "bu": "ug/m3", "n": "pm25", "v": number % 100 + 0.25}
            records = [first, *({"n": "pm25", "t": k, "v": k + 0.5} for k in range(1, pack))]
            payload = json.dumps(records, separators=(",", ":")).encode()
        topic = b"air/%d" % sensor
        packet_id = (number % 65_535 + 1).to_bytes(2, "big")
        body = len(topic).to_bytes(2, "big") + topic + packet_id + payload
        yield b"\x32" + _length(len(body)) + body


def _length(size: int) -> bytes:
    """MQTT's variable-length integer."""
    encoded = bytearray()
    while True:
        size, low = divmod(size, 128)
        encoded.append(low | (0x80 if size else 0))
        if not size:
            return bytes(encoded)


PUBLISHER = f"""
import socket, sys
port, path, count = int(sys.argv[1]), sys.argv[2], int(sys.argv[3])
data = open(path, "rb").read()
ends, place = [], 0
while place < len(data):
    size = shift = 0
    at = place + 1
    while True:
        size |= (data[at] & 127) << shift
        shift += 7
        at += 1
        if data[at - 1] < 128:
            break
    place = at + size
    ends.append(place)
link = socket.create_connection(("127.0.0.1", port))
name = b"nilometer-bench-publisher"
body = b"\\0\\4MQTT\\4\\2\\0\\0" + len(name).to_bytes(2, "big") + name
link.sendall(b"\\x10" + bytes([len(body)]) + body)
assert link.recv(4, socket.MSG_WAITALL)[3] == 0
sent = acknowledged = 0
while acknowledged < 4 * count:
    until = min(count, acknowledged // 4 + {WINDOW})
    if until > sent:
        link.sendall(data[ends[sent - 1] if sent else 0 : ends[until - 1]])
        sent = until
    got = link.recv(65536)
    assert got, "the broker hung up"
    acknowledged += len(got)
link.sendall(b"\\xe0\\0")
link.close()
"""
"""Sends the packets of a file, at most WINDOW of them unacknowledged."""


# ---- the broker ------------------------------------------------------------------------------------------------------


@contextmanager
def _broker() -> Iterator[int]:
    """A Mosquitto on a free loopback port."""
    program = shutil.which("mosquitto") or shutil.which("mosquitto", path="/usr/sbin:/usr/local/sbin")
    if program is None:
        raise ResourceError("Mosquitto is not installed", hint="Debian: apt install mosquitto")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = int(probe.getsockname()[1])
    with tempfile.TemporaryDirectory(prefix="nilometer-mosquitto-") as folder:
        configuration = Path(folder) / "mosquitto.conf"
        configuration.write_text(
            f"listener {port} 127.0.0.1\nallow_anonymous true\nmax_queued_messages 0\nlog_dest none\n"
        )
        process = subprocess.Popen([program, "-c", str(configuration)])
        try:
            _await(port, process)
            yield port
        finally:
            process.terminate()
            process.wait(PATIENCE)


def _await(port: int, process: subprocess.Popen[bytes]) -> None:
    """Wait until the broker listens."""
    until = time.monotonic() + PATIENCE
    while process.poll() is None and time.monotonic() < until:
        try:
            socket.create_connection(("127.0.0.1", port), 1.0).close()
            return
        except OSError:
            time.sleep(0.02)
    raise ResourceError("Mosquitto did not start")
