"""The common part of all generators: a field of sensors, times on a grid, parameters of disorder, and the
stream that they make.

A generator is a frozen description; `frame()` computes all its readings at once, as columns. The law: equal
descriptions give equal frames, on any machine. Values are multiples of 1/64, like those of an
analogue-digital converter, so sums are exact in any order.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import polars as pl

from nilometer.catalog.extents import Sensor, Stream, stream_columns
from nilometer.kernels.arrays import Floats, Integers
from nilometer.simulated.disorder import Disorder, disorder
from nilometer.types import DAY, MINUTE, Column

START = 1_767_225_600_000_000
"""2026-01-01T00:00:00Z, a Thursday."""

GRAIN = 64


@dataclass(frozen=True)
class Generator:
    """The base class. `jitter` is the share of an interval by which a reading may be off the grid; `width`
    and `height` are the field's, in metres; `sensed` makes the stream a sensed one."""

    sensor_count: int = 10
    start: int = START
    duration: int = DAY
    interval: int = MINUTE
    seed: int = 0
    dials: Disorder = field(default_factory=Disorder)
    jitter: float = 0.0
    width: float = 1000.0
    height: float = 1000.0
    sensed: bool = False
    name: str = ""

    def __post_init__(self) -> None:
        if self.sensor_count < 1 or self.interval < 1 or self.duration < 0:
            raise ValueError("a generator needs a sensor, an interval and a duration")
        if not 0 <= self.jitter < 1:
            raise ValueError("jitter is a part of the interval")

    # ---- what a kind of field says -----------------------------------------------------------------------------------

    def columns(self) -> tuple[Column, ...]:
        """The declared columns besides time and id."""
        raise NotImplementedError

    def values(self, times: Integers, random: np.random.Generator) -> dict[str, npt.NDArray[np.generic]]:
        """The values of each column, with one row per moment and one column per sensor, like `times`."""
        raise NotImplementedError

    def locations(self) -> Floats:
        """The positions of the sensors, one row each: at random in the field."""
        random = np.random.default_rng((self.seed, 2))
        places = random.random((self.sensor_count, 2)) * np.array([self.width, self.height])
        return quantised(places)

    def attributes(self) -> list[tuple[tuple[str, object], ...]]:
        """The sensors' static attributes: none."""
        return [()] * self.sensor_count

    # ---- what it gives -----------------------------------------------------------------------------------------------

    def calm_frame(self) -> pl.DataFrame:
        """All readings (time, id, values) in the order (time, id), before any disorder."""
        random = np.random.default_rng((self.seed, 0))
        times = self.times(random)
        columns: dict[str, npt.NDArray[np.generic]] = {
            "time": times.ravel(),
            "id": np.tile(self.identifiers(), times.shape[0]),
        }
        columns |= {name: grid.ravel() for name, grid in self.values(times, random).items()}
        frame = pl.DataFrame(columns)
        return frame.sort("time", "id", maintain_order=True) if self.jitter else frame

    def frame(self) -> pl.DataFrame:
        """All readings (time, id, values) in the order of their arrival."""
        return disorder(self.calm_frame(), self.dials, self.seed)

    def batches(self, rows: int) -> Iterator[pl.DataFrame]:
        """The frame in pieces of at most `rows` rows."""
        yield from self.frame().iter_slices(rows)

    def stream(self) -> Stream:
        """The stream: its DELAY is the disorder's, and its KEY removes the duplicates."""
        return Stream(
            self.stream_name,
            stream_columns(self.columns()),
            every=self.interval if self.sensed else None,
            delay=self.dials.delay,
            key=("id", "time") if self.dials.duplicate else (),
            expect=None if self.sensed else self.interval,
        )

    def sensors(self) -> list[Sensor]:
        """The sensors, with their locations and attributes."""
        places = self.locations().tolist()
        return [
            Sensor(identifier, self.stream_name, (x, y), attributes)
            for identifier, (x, y), attributes in zip(
                self.identifiers().tolist(), places, self.attributes(), strict=True
            )
        ]

    @property
    def stream_name(self) -> str:
        """The stream's name: the kind of field, unless one was given."""
        return self.name or _snake(type(self).__name__)

    def identifiers(self) -> Integers:
        """The sensors' ids: 1, 2, 3 ..."""
        return np.arange(1, self.sensor_count + 1, dtype=np.int64)

    def times(self, random: np.random.Generator) -> Integers:
        """The times, with one row per moment and one column per sensor."""
        moments = self.start + np.arange(self.duration // self.interval, dtype=np.int64) * self.interval
        times = np.repeat(moments[:, None], self.sensor_count, axis=1)
        if self.jitter:
            times += random.integers(0, max(1, int(self.interval * self.jitter)), times.shape)
        return times


def quantised(values: Floats) -> Floats:
    """The nearest multiples of 1/64."""
    rounded: Floats = np.round(values * GRAIN) / GRAIN
    return rounded


def _snake(name: str) -> str:
    return "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in name).lstrip("_")
