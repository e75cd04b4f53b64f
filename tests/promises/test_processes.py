"""Promises that need a process of its own, a broker or a database. See test_from_outside.py."""

from __future__ import annotations

import json
import os
import select
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import psycopg
import pytest

import mosquitto_server
from promises.outside import (
    NILOMETER,
    PATIENCE,
    Run,
    Seen,
    connected,
    declare,
    free_port,
    megabytes,
    process,
)

SOUND, AHEAD, TICKS = 6, 7, 495


def needs_mosquitto(test: Callable[..., None]) -> Callable[..., None]:
    """Marks a test that starts a broker."""
    skip = pytest.mark.skipif(mosquitto_server.program() is None, reason="Mosquitto is not installed")
    return pytest.mark.mosquitto(pytest.mark.xdist_group("mosquitto")(skip(test)))


def line(running: subprocess.Popen[str], patience: float = PATIENCE) -> str:
    """The next line of output; empty if none comes."""
    assert running.stdout is not None
    found = b""
    while not found.endswith(b"\n"):  # byte by byte: select does not see what a buffer holds already
        ready, _, _ = select.select([running.stdout], [], [], patience)
        one = os.read(running.stdout.fileno(), 1) if ready else b""
        if not one:
            break
        found += one
    return found.decode()


@pytest.mark.promise("one-clock-ahead")
def test_4_one_sensor_58_seconds_ahead(seen: Seen, tmp_path: Path) -> None:
    port = free_port()
    (tmp_path / "schema.sql").write_text(
        f"CREATE STREAM air (x FLOAT) PUSHED FROM 'tcp://127.0.0.1:{port}' DELAY 5 SECONDS;\n"
        "CREATE QUERY q AS SELECT id, x FROM air;\n"
    )
    with process(tmp_path) as running:
        assert running.stdout is not None
        with connected(port, running) as sensors:
            now = datetime.now(UTC)
            for tick in range(TICKS):
                for sensor in range(1, AHEAD + 1):
                    ahead = timedelta(seconds=58 * (sensor == AHEAD), milliseconds=tick)
                    line_ = json.dumps({"time": (now + ahead).isoformat(), "id": sensor, "x": 1})
                    sensors.sendall(line_.encode() + b"\n")
            told, wanted = b"", SOUND * TICKS
            while told.count(b"\n") - told.count(b'"id": 7') < wanted:
                if not select.select([running.stdout], [], [], 10)[0]:
                    break  # those that are late are never answered
                told += os.read(running.stdout.fileno(), 1 << 20)
    late = wanted - (told.count(b"\n") - told.count(b'"id": 7'))
    seen(f"{late:,} of {AHEAD * TICKS:,} readings late")
    assert late == 0


@pytest.mark.long
@pytest.mark.promise("forgotten-session")
@needs_mosquitto
def test_5_a_broker_that_forgot_the_session(run: Run, seen: Seen, tmp_path: Path) -> None:
    with mosquitto_server.running() as broker:
        (tmp_path / "schema.sql").write_text(
            f"CREATE STREAM air (x FLOAT) PUSHED FROM '{broker.url}/air/{{id}}';\nCREATE QUERY q AS SELECT id FROM air;\n"
        )
        first = run("run", "--data", str(tmp_path), "--seconds", "3")
        assert first[0] == 0, first
        broker.stop()
        for saved in broker.directory.glob("*.db"):
            saved.unlink()
        broker.start()
        _, out, said = run("run", "--data", str(tmp_path), "--seconds", "3")
    told = next((one for one in said.splitlines() + out.splitlines() if "session" in one), "")
    seen(f'says "{told}"' if told else "says nothing")
    assert told


@pytest.mark.promise("idle-connections")
def test_8_idle_connections_stop_nobody(seen: Seen, tmp_path: Path) -> None:
    """1,100 idle TCP connections at `ulimit -n 1024` end nothing: readings of the sensor that comes last are answered."""
    port = free_port()
    (tmp_path / "schema.sql").write_text(
        f"CREATE STREAM river (depth INT) PUSHED FROM 'tcp://127.0.0.1:{port}' DELAY 1 SECOND;\n"
        "CREATE QUERY deep AS SELECT id, depth FROM river WHERE depth > 3;\n"
    )
    held: list[socket.socket] = []
    came = 0
    with process(tmp_path, files=1_024) as running:
        try:
            held.append(connected(port, running))
            held[0].sendall(b'{"id": 1, "depth": 4}\n')  # a sensor that has spoken keeps its place
            assert line(running) == '{"id": 1, "depth": 4}\n'
            for _ in range(1_100):
                held.append(socket.create_connection(("127.0.0.1", port), PATIENCE))
                came += 1
            held.append(socket.create_connection(("127.0.0.1", port), PATIENCE))
            held[-1].sendall(b'{"id": 2, "depth": 5}\n')
            last = line(running, 20)
            held[0].sendall(b'{"id": 1, "depth": 6}\n')
            first = line(running, 20)
        except OSError:
            last = first = ""
        finally:
            for one in held:
                one.close()
        ended = running.poll()
        heard = sum(bool(one) for one in (last, first))
        state = "runs" if ended is None else f"has ended with {ended}"
        seen(f"after {came:,} connections it {state}, and {heard} of 2 sensors are heard")
        assert (last, first) == ('{"id": 2, "depth": 5}\n', '{"id": 1, "depth": 6}\n')
        assert ended is None
        running.terminate()
        running.wait(PATIENCE)
    assert "river: more than 512 connections (clients=, ulimit -n)" in (tmp_path / "said.txt").read_text()


@pytest.mark.long
@pytest.mark.promise("old-readings")
def test_12_old_readings_do_not_scan_the_log(run: Run, seen: Seen, tmp_path: Path) -> None:
    """The bytes that the process reads for 20 batches of old readings, after a long and after a short log."""

    def read(name: str, readings: int) -> int:
        folder = tmp_path / name
        (folder / "in").mkdir(parents=True)
        query = "SELECT COUNT(*) AS n FROM air [RANGE 1 DAY SLIDE 1 DAY]"
        declare(folder, "DELAY 1 HOUR KEY (id, time)", query, batch=1_000)
        stamps = range(1_772_000_000, 1_772_000_000 + readings // 100)
        rows = "".join(f"{stamp},{sensor},1\n" for stamp in stamps for sensor in range(100))
        (folder / "in" / "a.csv").write_text("time,id,x\n" + rows)
        assert run("run", "--data", str(folder), "--json")[0] == 0
        for batch in range(20):
            old = "".join(f"{stamps[-1] - 100 - batch},{1000 + sensor},1\n" for sensor in range(10))
            (folder / "in" / f"b{batch:02}.csv").write_text("time,id,x\n" + old)
        before = bytes_read()
        assert run("run", "--data", str(folder), "--json")[0] == 0
        return bytes_read() - before

    few, many = read("few", 10_000), read("many", 100_000)
    seen(f"20 batches read {few // 1000:,} kB after 10,000 readings, {many // 1000:,} kB after 100,000")
    assert many < 15 * few + 20_000_000


def bytes_read() -> int:
    return int(Path("/proc/self/io").read_text().split()[1])


@pytest.mark.long
@pytest.mark.promise("dripping-and-locked")
@pytest.mark.postgres
def test_13_a_locked_table_of_a_sink(seen: Seen, tmp_path: Path, postgres_url: str) -> None:
    declare(tmp_path, query="SELECT id, x FROM air")
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.csv").write_text("time,id,x\n2026-03-01T06:00:00Z,1,1\n")
    url = postgres_url.replace("+psycopg", "")
    sink = f"{url}{'&' if '?' in url else '?'}table=locked"
    command = [*NILOMETER, "run", "--data", str(tmp_path), "--to", f"counts={sink}"]
    subprocess.run(command, check=True, capture_output=True, timeout=PATIENCE)
    (tmp_path / "in" / "b.csv").write_text("time,id,x\n2026-03-01T06:00:01Z,1,1\n")
    with psycopg.connect(url) as other:
        other.execute("LOCK TABLE locked IN ACCESS EXCLUSIVE MODE")
        for option in ("&timeout=1s", ""):
            command[-1] = f"counts={sink}{option}"
            try:
                ended = subprocess.run(command, check=False, capture_output=True, text=True, timeout=PATIENCE)
            except subprocess.TimeoutExpired:
                seen("runs on and says nothing for a minute")
                raise AssertionError("it waits for the lock") from None
            if "no option" not in ended.stderr and "unknown" not in ended.stderr:
                break
    told = next((one for one in ended.stderr.splitlines() if "locked" in one), "nothing")
    seen(f'exit {ended.returncode}, says "{told}"')
    assert ended.returncode == 1
    assert "takes no answers" in told


@pytest.mark.promise("dripping-and-locked")
def test_13_a_server_that_drips(seen: Seen, tmp_path: Path) -> None:
    """A server that sends a byte each 300 ms, for ever, and a source that asks it with a time-out of a second."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        (tmp_path / "schema.sql").write_text(
            f"CREATE STREAM air (x FLOAT) PUSHED FROM 'http://127.0.0.1:{server.getsockname()[1]}/now.json"
            "?interval=100ms&timeout=1s';\nCREATE QUERY q AS SELECT id FROM air;\n"
        )
        with process(tmp_path) as running:
            client, _ = server.accept()
            client.recv(65_536)
            client.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n")
            sent, until = 0, time.monotonic() + 20
            gone = False
            while not gone and time.monotonic() < until:
                try:
                    client.sendall(b" ")
                    sent += 1
                    gone = bool(select.select([client], [], [], 0.3)[0])
                except OSError:
                    gone = True
            client.close()
            assert running.poll() is None
    seen(f"it hangs up after {sent} bytes" if gone else f"it still listens after {sent} bytes")
    assert gone


@pytest.mark.promise("large-messages")
@pytest.mark.long
@needs_mosquitto
def test_15_large_messages_wait_at_the_broker(seen: Seen, tmp_path: Path) -> None:
    """600 messages of 1 MB wait at the broker for a stream; the process that then begins takes few at a time."""
    with mosquitto_server.running(mosquitto_server.WHEN_ASKED) as broker:
        (tmp_path / "schema.sql").write_text(
            f"CREATE STREAM air (x STRING) PUSHED FROM '{broker.url}/air/{{id}}';\n"
            "CREATE QUERY q AS SELECT id, length(x) AS n FROM air;\n"
        )
        command = [*NILOMETER, "run", "--data", str(tmp_path), "--seconds", "2"]
        subprocess.run(command, check=True, capture_output=True, timeout=PATIENCE)
        publisher = subprocess.run(
            [sys.executable, "-c", PUBLISH, str(broker.port)], check=False, timeout=5 * PATIENCE
        )
        assert publisher.returncode == 0
        with process(tmp_path) as running:
            for _ in range(600):
                assert line(running)
            running.terminate()
            running.wait(PATIENCE)
    peak = megabytes((tmp_path / "said.txt").read_text())
    seen(f"{peak:,} MB at most for 600 messages of 1 MB")
    assert peak < 700


PUBLISH = """
import sys
from paho.mqtt.client import Client, MQTTv5
from paho.mqtt.enums import CallbackAPIVersion
client = Client(CallbackAPIVersion.VERSION2, "publisher", protocol=MQTTv5)
client.max_inflight_messages_set(20)
client.connect("127.0.0.1", int(sys.argv[1]))
client.loop_start()
body = b'{"x": "' + b"a" * 1_000_000 + b'"}'
for number in range(600):
    client.publish(f"air/{number}", body, qos=1).wait_for_publish(60)
client.disconnect()
"""
