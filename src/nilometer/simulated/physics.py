"""The world that sensors measure: a tick -> what every sensor would read up to it.

The law: the result of `readings` for a sensor and a moment does not depend on any command, so sensors that
obey and sensors that do not see the same world.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import polars as pl

from nilometer.catalog.extents import Sensor
from nilometer.kernels.arrays import Integers
from nilometer.simulated.programs import Program
from nilometer.types import Column


@dataclass(frozen=True)
class Readings:
    """The readings that could be sent in one step, in the order (time, sensor). `place` is the sensor's
    place, from 0. `level` is the lowest program (0 sends the least) that sends the row."""

    place: Integers
    time: Integers
    level: Integers
    values: pl.DataFrame


class Physics(Protocol):
    """A world with sensors in it. `every` is a sensor's own sampling interval, `step` the time between two
    steps (a multiple of it). `programs` are those that a sensor can run, from the one that sends the least to
    the one that sends all (empty: there is only one)."""

    @property
    def sensor_count(self) -> int:
        """The number of sensors; their ids are 1, 2, 3 ..."""

    @property
    def every(self) -> int:
        """A sensor's own sampling interval."""

    @property
    def step(self) -> int:
        """The time between two steps."""

    @property
    def programs(self) -> tuple[Program, ...]:
        """The programs that a sensor can run."""

    def columns(self) -> tuple[Column, ...]:
        """The declared columns besides time and id."""

    def sensors(self, stream: str) -> list[Sensor]:
        """The sensors, as sensors of that stream."""

    def readings(self, tick: int, level: Integers) -> Readings:
        """The readings of the step that ends at the tick (or, with one reading per step, lies at it). Rows
        above a sensor's level may be left out."""

    def masked(self, values: pl.DataFrame, level: Integers) -> pl.DataFrame:
        """The values without the columns that a program of that level, row by row, does not know."""
