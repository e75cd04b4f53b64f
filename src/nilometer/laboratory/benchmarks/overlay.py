"""`nilometer bench overlay`: a join of two streams by three gateways, a process each, on loopback.

First 20,000 readings a second flow, 10,000 of each stream, and the time from a result's last reading to its arrival is
measured. Then they flow more slowly, and the third gateway, which is the home of neither, is killed again and again at
random moments and begins anew. Reading n of X joins reading n of Y: so it is known what may not be lost, nor come twice.
"""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import sys
import time
from contextlib import suppress
from random import Random
from typing import Any

from nilometer.errors import ResourceError
from nilometer.laboratory.benchmarks.overlay_questions import overlay_questions
from nilometer.laboratory.benchmarks.registry import check
from nilometer.laboratory.benchmarks.result import Measurement, Result, Target
from nilometer.types import SECOND

RATE = 20_000
SLOW = 2_000
PATIENCE = 240.0


class _Process:
    def __init__(self, name: str, port: int, join: int | None, stream: str = "-") -> None:
        module = "nilometer.laboratory.benchmarks.overlay_peer"
        via = "-" if join is None else f"127.0.0.1:{join}"
        self._process = subprocess.Popen(
            [sys.executable, "-m", module, name, f"127.0.0.1:{port}", via, stream],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def say(self, line: str) -> dict[str, Any]:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(line + "\n")
        self._process.stdin.flush()
        answer = self._process.stdout.readline()
        if not answer:
            raise ResourceError("a peer of the benchmark has ended")
        return dict(json.loads(answer))

    def kill(self) -> None:
        with suppress(ProcessLookupError):
            self._process.send_signal(signal.SIGKILL)
        self._process.wait()


class _Ring:
    """Three peers; the first asks."""

    def __init__(self) -> None:
        self.ports = _free_ports(3)
        self.peers = [
            _Process("x", self.ports[0], None, "X"),
            _Process("y", self.ports[1], self.ports[0], "Y"),
        ]
        self.peers.append(self.third())
        for one in self.peers:
            _until(lambda one=one: one.say("peers")["peers"] == 2, "the ring does not form")
        self.peers[0].say("ask")
        time.sleep(2)

    def third(self) -> _Process:
        return _Process("z", self.ports[2], self.ports[0])

    def go(self, rate: float) -> None:
        start = time.time_ns() // 1_000 + SECOND // 2
        for one in self.peers[:2]:
            one.say(f"go {start} {rate}")

    def stop(self) -> dict[str, Any]:
        """Let both streams end at the same reading, and wait for all results."""
        last = max(one.say("pause")["sent"] for one in self.peers[:2])
        for one in self.peers[:2]:
            one.say(f"until {last}")
        with suppress(ResourceError):
            _until(lambda: self.peers[0].say("report")["results"] >= last, "results are missing")
        return self.peers[0].say("report") | {"expected": last}

    def close(self) -> None:
        for one in self.peers:
            one.kill()


PARTS = ("steady", "questions")


def overlay(rows: int, sensors: int, only: tuple[str, ...] = ()) -> Result:
    """`steady`: a steady run of `rows` readings, at most 20 seconds; then a kill for each 50,000 of them, at most 20.
    `questions`: a minute of virtual time (overlay_questions.py)."""
    del sensors
    for part in only:
        check(PARTS, part, "part of bench overlay")
    measurements: tuple[Measurement, ...] = ()
    targets: tuple[Target, ...] = ()
    notes: tuple[str, ...] = ()
    if not only or "steady" in only:
        found = _steady(rows)
        measurements, targets, notes = found.measurements, found.targets, found.notes
    if not only or "questions" in only:
        seconds = min(60, max(10, rows // 1_000))
        more, said = overlay_questions(seconds)
        measurements, notes = measurements + more, notes + said
    setting = "three processes on loopback, one replica, windows of 5 s; two streams of 10,000 readings/s"
    if only == ("questions",):
        setting = (
            "four simulated peers in one process, one replica, windows of 5 s; two streams of 500 readings/s"
        )
    return Result("overlay", "20,000 readings/s", setting, measurements, targets, notes)


def _steady(rows: int) -> Result:
    seconds, kills = min(20.0, rows / RATE), min(20, max(1, rows // 50_000))
    ring = _Ring()
    try:
        ring.go(RATE / 2)
        time.sleep(seconds)
        steady = ring.stop()
        cpu = sum(one.say("report")["cpu"] for one in ring.peers)
    finally:
        ring.close()
    killed = _killed(kills)
    read = 2 * steady["expected"]
    lost, doubled = _lost(steady), steady["results"] - steady["distinct"]
    return Result(
        "overlay",
        "20,000 readings/s",
        "three processes on loopback, one replica, windows of 5 s; two streams of 10,000 readings/s",
        (
            Measurement(
                "steady, readings into results", read / RATE, None, read, steady["results"], lost == 0
            ),
            Measurement(
                f"killed {kills} times",
                killed["seconds"],
                None,
                2 * killed["expected"],
                killed["results"],
                _lost(killed) == 0,
            ),
        ),
        (
            Target("p99 from the last reading to the result, in seconds", steady["p99"], 1.0),
            Target("results lost or doubled, steady", lost + doubled + steady["wrong"], 0),
            Target(
                f"results lost or doubled, killed {kills} times",
                _lost(killed) + killed["results"] - killed["distinct"] + killed["wrong"],
                0,
            ),
        ),
        (
            f"p50 {steady['p50']:.3f} s, p99 {steady['p99']:.3f} s; {cpu:.1f} s of processor time in all three processes",
            f"killed {kills} times at random moments: p99 {killed['p99']:.2f} s",
        ),
    )


def _killed(kills: int) -> dict[str, Any]:
    random = Random(kills)
    ring = _Ring()
    began = time.monotonic()
    try:
        ring.go(SLOW / 2)
        for _ in range(kills):
            time.sleep(random.random() * 2)
            ring.peers[2].kill()
            time.sleep(random.random())
            ring.peers[2] = ring.third()
            third = ring.peers[2]
            _until(lambda third=third: third.say("peers")["peers"] == 2, "the third does not join again")
        report = ring.stop()
        return report | {"seconds": time.monotonic() - began}
    finally:
        ring.close()


def _lost(report: dict[str, Any]) -> int:
    return int(report["expected"] - (report["distinct"] - report["wrong"]))


def _until(met: Any, what: str) -> None:
    end = time.monotonic() + PATIENCE
    while not met():
        if time.monotonic() > end:
            raise ResourceError(what)
        time.sleep(0.1)


def _free_ports(count: int) -> list[int]:
    sockets = [socket.socket() for _ in range(count)]
    for one in sockets:
        one.bind(("127.0.0.1", 0))
    ports = [int(one.getsockname()[1]) for one in sockets]
    for one in sockets:
        one.close()
    return ports
