"""What there is to be sensed, whoever senses it: a tick -> what every sensor would read up to it.

The law: what `step` gives for a sensor and a moment does not depend on what any sensor was told, so that sensors that obey
and sensors that do not see the same world.
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
    """What could be sent in one step, in the order (time, sensor). `place` is the sensor's, from 0; `level` is the least program
    (0 sends the least) that sends the row."""

    place: Integers
    time: Integers
    level: Integers
    values: pl.DataFrame


class Physics(Protocol):
    """A world with sensors in it. `every` is a sensor's own sampling interval, `step` the time between two steps (a multiple of
    it); `programs` are what a sensor can run, from the one that sends the least to the one that sends all (empty: one)."""

    @property
    def sensor_count(self) -> int:
        """How many sensors there are; their ids are 1, 2, 3 ..."""

    @property
    def every(self) -> int:
        """A sensor's own sampling interval."""

    @property
    def step(self) -> int:
        """The time between two steps."""

    @property
    def programs(self) -> tuple[Program, ...]:
        """What a sensor can run."""

    def columns(self) -> tuple[Column, ...]:
        """The declared columns beside time and id."""

    def sensors(self, stream: str) -> list[Sensor]:
        """The sensors, as sensors of that stream."""

    def readings(self, tick: int, level: Integers) -> Readings:
        """What the sensors see in the step that ends (or, with one reading a step, stands) at the tick; rows above a sensor's
        level may be left out."""

    def masked(self, values: pl.DataFrame, level: Integers) -> pl.DataFrame:
        """The values without what a program of that level, row by row, does not know."""
