"""A soak: simulated hours of the live path in one process, and whether memory, files and time a turn stay as they are.

The product runs unchanged on a real directory: station, all queries of the storm, MQTT adapter, logs. Every turn the
sensors send good, late, repeated, garbled and future readings over a broker that reorders, holds back and loses
connections. Every hour the logs are trimmed. Every six hours the station ends, in order or as if it were killed, and
the next one goes on. The law: nothing but virtual time grows.
"""

from __future__ import annotations

import gc
import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from random import Random
from statistics import median
from typing import Any

import nilometer
from nilometer.catalog.address import Address
from nilometer.ingest.adapters import Adapter, Clock
from nilometer.laboratory.storm.broker import Broker, simulated_mqtt
from nilometer.laboratory.storm.declarations import QUERIES, Declarations
from nilometer.laboratory.storm.sensors import Sensors
from nilometer.laboratory.storm.story import BASE
from nilometer.live.books import query_books, stream_books
from nilometer.live.outside import Outside
from nilometer.live.roster import Roster
from nilometer.live.station import Station
from nilometer.live.station_settings import StationSettings
from nilometer.log import LogDirectory, LogSettings
from nilometer.types import HOUR, MINUTE, SECOND

TURN = MINUTE
LIFE = 6
"""The hours after which the station ends."""
KEPT = HOUR
"""How much of the logs an hourly trim keeps."""
READINGS = 24
"""Messages in a turn."""


@dataclass(frozen=True)
class Measured:
    """An hour: memory and descriptors at its end, the files of the directory and their bytes, the median and the
    99th percentile of processor time a turn, messages that wait, and rows answered so far."""

    hour: int
    rss: int
    descriptors: int
    files: int
    size: int
    turn: float
    slowest: float
    waiting: int
    answers: int


@dataclass(frozen=True)
class Soaked:
    """`trouble` are promises that were not kept; empty: all were."""

    hours: tuple[Measured, ...]
    trouble: tuple[str, ...]

    @property
    def grows(self) -> list[str]:
        """What the last hour has more of than the second one; the first one fills the caches."""
        early, late = self.hours[min(1, len(self.hours) - 1)], self.hours[-1]
        bounds = {
            "memory": (late.rss, early.rss * 1.1 + (32 << 20)),
            "descriptors": (late.descriptors, early.descriptors + 2),
            "files": (late.files, early.files * 1.2 + 8),
            "time a turn": (late.turn, early.turn * 1.5 + 0.005),
            "waiting messages": (late.waiting, early.waiting + 2 * READINGS),
        }
        return [
            f"{what}: {found:,.4g}, at most {most:,.4g}"
            for what, (found, most) in bounds.items()
            if found > most
        ]

    def table(self) -> str:
        """The hours as a table in Markdown, every sixth of a day, and the verdict."""
        lines = [
            "| hour | memory, MB | descriptors | files | kB | ms a turn, median | 99 % | messages that wait | answers |",
            "|---:|---:|---:|---:|---:|---:|---:|---:|---:|",
        ]
        chosen = {0, 1, len(self.hours) - 1, *range(3, len(self.hours), 4)}
        for place in sorted(chosen & set(range(len(self.hours)))):
            each = self.hours[place]
            lines.append(
                f"| {each.hour} | {each.rss / (1 << 20):,.0f} | {each.descriptors} | {each.files} |"
                f" {each.size / 1_000:,.0f} | {1_000 * each.turn:.1f} | {1_000 * each.slowest:.1f} |"
                f" {each.waiting} | {each.answers:,} |"
            )
        verdict = "; ".join((*self.trouble, *self.grows)) or "flat"
        return "\n".join((*lines, "", f"Verdict: {verdict}."))


def soak(
    folder: Path,
    hours: int,
    seed: int = 0,
    tell: Callable[[Measured], None] = lambda _: None,
    turn: int = TURN,
) -> Soaked:
    """Live through so many simulated hours."""
    world = _World(folder, Random(seed))
    found = []
    for hour in range(1, hours + 1):
        if world.station is None:
            world.begin()
        took = [world.turn(turn) for _ in range(max(1, HOUR // turn))]
        world.trim()
        found.append(world.measure(hour, took))
        tell(found[-1])
        if hour % LIFE == 0 and hour < hours:
            world.end(killed=hour % (2 * LIFE) == 0)
    world.calm(turn)
    return Soaked(tuple(found), tuple(world.trouble()))


class _World:
    def __init__(self, folder: Path, random: Random) -> None:
        self._folder = folder
        self._random = random
        self._now = BASE
        self._broker = Broker(Random(random.random()))
        self._sensors = Sensors(self._broker, Random(random.random()), bad=True)
        self._mqtt = simulated_mqtt(self._broker)
        (folder / "schema.sql").write_text(Declarations(queries=QUERIES).text())
        self._database = nilometer.connect(folder)
        self._answers = 0
        self._failed: list[str] = []
        self.station: Station | None = None

    def begin(self) -> None:
        """A station begins, or goes on."""
        settings = StationSettings(logging=LogSettings(segment_bytes=32_000, least_bytes=8_000))
        self.station = Station(
            self._database,
            self._folder,
            settings,
            Outside(clock=lambda: self._now, adapter_of=self._adapter),
        )
        self._roster = Roster(
            self.station,
            self._database.catalog.queries(),
            say=lambda _: None,
            clock=lambda: self._now / SECOND,
        )
        self._roster.begin()

    def _adapter(self, stream: Any, clock: Clock) -> Adapter:
        return self._mqtt(stream, Address.parse(stream.url), clock, "soak")

    def end(self, *, killed: bool) -> None:
        """The station ends."""
        assert self.station is not None
        self._look()
        if killed:
            self.station.abandon()
            self._broker.process_died()
        else:
            self.station.close()
        self.station = None

    def turn(self, length: int) -> float:
        """One turn of the loop. Returns the processor time that it took."""
        assert self.station is not None
        for _ in range(READINGS):
            self._now += length // READINGS
            self._sensors.publish(self._now)
        if self._random.random() < 0.02:
            self._broker.disconnect()
        self._broker.pump(reorder=0.1, hold=0.05)
        began = time.process_time()
        self.station.step()
        self._roster.look()
        took = time.process_time() - began
        for live in self.station.queries.values():
            for _ in live.take():
                pass
        self._answers = sum(live.rows for live in self.station.queries.values())
        return took

    def trim(self) -> None:
        """What an operator has done every hour; and the simulation forgets what it sent."""
        logs = LogDirectory(self._folder)
        for stream in logs.streams():
            logs.log(stream).trim(self._now - KEPT)
        self._sensors.sent.clear()
        self._broker.acknowledged.clear()
        self._look()

    def _look(self) -> None:
        assert self.station is not None
        self._failed += [
            f"{live.name}: {live.failure or live.trouble}"
            for live in self.station.queries.values()
            if live.failure is not None or live.trouble is not None
        ]

    def measure(self, hour: int, took: list[float]) -> Measured:
        """The hour that has passed."""
        gc.collect()
        files = [path for path in (self._folder / ".nilometer").rglob("*") if path.is_file()]
        took = sorted(took)
        return Measured(
            hour,
            int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE"),
            len(os.listdir("/proc/self/fd")),
            len(files),
            sum(path.stat().st_size for path in files),
            median(took),
            took[len(took) * 99 // 100],
            self._broker.waiting,
            self._answers,
        )

    def calm(self, turn: int) -> None:
        """Let everything that waits be read, and stop."""
        assert self.station is not None
        for _ in range(60):
            self._now += turn
            self._broker.pump()
            if not self.station.step() and not self._broker.waiting:
                break
        self.end(killed=False)

    def trouble(self) -> list[str]:
        """The promises that were not kept."""
        found = list(self._failed)
        if self._broker.waiting:
            found.append(f"{self._broker.waiting} messages were never read")
        found += [
            f"the books of {row.get('stream') or row.get('query')} do not balance"
            for row in (*stream_books(self._database), *query_books(self._database))
            if not row["balanced"]
        ]
        return found
