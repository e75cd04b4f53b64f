"""A stream manager over wells, with its disk and clocks in a test's hands."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from ingest.manager.streams import KEYED, PUSHED, Hand, Reading, Spring, Well
from log.logs import no_space
from nilometer.catalog.extents import Sensor, Stream
from nilometer.dataflow.sources import Batch
from nilometer.errors import ConfigurationError
from nilometer.ingest.adapters import Adapter, adapter_for
from nilometer.ingest.adapters.adapter import Clock
from nilometer.ingest.manager import ManagerSettings, StreamManager
from nilometer.log import LogDirectory, LogSettings
from nilometer.types import SECOND

RIVER = KEYED
LAKE = replace(PUSHED, name="Lake", url="test://lake")


class Station:
    """A manager over wells, its disk and clocks in our hands."""

    def __init__(self, folder: Path, **settings: object) -> None:
        self.folder = folder
        self.settings = ManagerSettings(**settings)  # type: ignore[arg-type]
        self.wells: dict[str, Well] = {"river": Well(), "lake": Well()}
        self.full: set[str] = set()
        self.clock, self.steady = Hand(), Hand(7 * SECOND)
        self.slept: list[float] = []
        self.adapters: dict[str, Adapter] = {}
        self.manager = self.start()

    def start(self) -> StreamManager:
        self.logs = LogDirectory(self.folder, LogSettings(segment_bytes=2_000), self.failpoint)
        return StreamManager(
            self.logs,
            self.clock,
            self.adapter,
            settings=self.settings,
            steady=self.steady,
            sensors_of=lambda stream: [Sensor(n, stream.name) for n in (1, 2)],
            sleep=lambda _, seconds: self.slept.append(seconds),
        )

    def failpoint(self, name: str) -> None:
        if name in self.full:
            raise no_space()

    def adapter(self, stream: Stream, clock: Clock) -> Adapter:
        if stream.url is None:
            raise ConfigurationError("no address")
        if not stream.url.startswith("test"):
            return adapter_for(stream, clock)
        self.adapters[stream.name.lower()] = found = Spring(stream, clock, self.wells[stream.name.lower()])
        return found

    def pass_time(self, duration: int) -> None:
        self.clock.now += duration
        self.steady.now += duration

    def restart(self) -> None:
        self.manager.abandon()
        for well in self.wells.values():
            well.results = [each for each in well.results if not any(each is a for a in well.acknowledged)]
        self.manager = self.start()

    def rows(self, query: str, stream: str = "river") -> list[Reading]:
        """What the query is given now, of one stream."""
        found = []
        while (taken := self.manager.take(query)) is not None:
            if taken[0] == stream and isinstance(taken[1], Batch):
                found += taken[1].rows.rows()
        return found

    def logged(self, stream: str = "river") -> list[Reading]:
        return [row for rows in self.logs.log(stream).scan() for row in rows.rows()]


def some(first: int, count: int = 3) -> list[Reading]:
    return [(n, 1 + n % 2, n / 2) for n in range(first, first + count)]
