"""What the tests of the manager share: streams, readings, a clock turned by hand."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import polars as pl

from nilometer.catalog.extents import Stream, stream_columns
from nilometer.ingest.adapters import Adapter, Command, ReadResult, Status
from nilometer.ingest.adapters.adapter import Clock
from nilometer.ingest.adapters.wake import Wake
from nilometer.operators.frames import dtypes
from nilometer.types import FLOAT, SECOND, Column, Schema

PUSHED = Stream("river", stream_columns((Column("depth", FLOAT),)), url="test://river")
KEYED = replace(PUSHED, key=("id", "time"))
UNTIMED = replace(PUSHED, key=("depth",))
SENSED = replace(PUSHED, every=10 * SECOND)

Reading = tuple[int | None, int, float]
"""Time, id, depth."""


def frame(readings: Sequence[Reading]) -> pl.DataFrame:
    """Readings in the stream's columns."""
    return pl.DataFrame(list(readings), schema=dtypes(Schema(PUSHED.columns)), orient="row")


def result(readings: Sequence[Reading], **fields: object) -> ReadResult:
    """A read that brought them."""
    return replace(ReadResult(Status.NEW_VALUE, frame(readings)), **fields)


class Hand:
    """A clock turned by hand, in microseconds."""

    def __init__(self, now: int = 1_000_000 * SECOND) -> None:
        self.now = now

    def __call__(self) -> int:
        return self.now


class Spring(Adapter):
    """A source that gives what a test puts into it, and gives again what was not acknowledged when it is opened anew."""

    def __init__(self, stream: Stream, clock: Clock, well: Well) -> None:
        super().__init__(stream, clock)
        self.wake = well.wake
        self.well = well
        self.session = well.session
        self.told: list[tuple[int | str, Command]] = []
        self.begins_after: int | None = None
        self._given = 0

    def begin_after(self, greatest: Callable[[], int | None]) -> None:
        self.begins_after = greatest()

    def open(self) -> None:
        self.well.opened += 1
        if self.well.broken:
            raise OSError("the well is dry")
        self._given = 0
        if self.well.results:
            self.well.wake.set()

    def read(self) -> ReadResult:
        if self.well.error is not None:
            raise self.well.error
        if self.well.broken:
            raise OSError("the well is dry")
        self.well.wake.clear()
        if self._given < len(self.well.results):
            number = self._given
            self._given += 1
            if self._given < len(self.well.results):
                self.well.wake.set()
            return replace(self.well.results[number], handle=number)
        return self.nothing(Status.END if self.well.over else Status.NO_VALUE)

    def acknowledge(self, handle: object) -> None:
        assert isinstance(handle, int)
        self.well.acknowledged.append(self.well.results[handle])

    def command(self, sensor: int | str, command: Command) -> bool:
        self.told.append((sensor, command))
        return True

    def close(self) -> None:
        self.well.closed += 1
        # Seen by identity: results are frames, which have no equality.
        done = {id(each) for each in self.well.acknowledged}
        self.well.results = [each for each in self.well.results if id(each) not in done]


class Well:
    """What a spring gives, and what became of it."""

    def __init__(self) -> None:
        self.results: list[ReadResult] = []
        self.acknowledged: list[ReadResult] = []
        self.wake = Wake()
        self.broken = self.over = False
        self.error: Exception | None = None
        self.opened = self.closed = 0
        self.session: str | None = None

    def pour(self, readings: Sequence[Reading], **fields: object) -> ReadResult:
        """Another result for the spring to give."""
        self.results.append(result(readings, **fields))
        self.wake.set()
        return self.results[-1]
