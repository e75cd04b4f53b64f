"""The worlds of our generators with one reading per sensor and tick: a moving plume, and the weather of the
day.

Each tick has its own random numbers, so its values do not depend on earlier ticks.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import polars as pl

from nilometer.catalog.extents import Sensor
from nilometer.kernels.arrays import Integers
from nilometer.simulated.fields.diurnal import Diurnal
from nilometer.simulated.fields.generator import Generator, quantised
from nilometer.simulated.fields.moving_plume import MovingPlume
from nilometer.simulated.physics import Readings
from nilometer.simulated.programs import Program
from nilometer.types import SECOND, Column

Values = dict[str, npt.NDArray[np.generic]]


@dataclass(frozen=True)
class Grid:
    """One reading per sensor and interval. `generator.jitter` puts each sensor off the grid, always by the
    same share of the interval."""

    generator: Generator

    programs: tuple[Program, ...] = ()

    @property
    def sensor_count(self) -> int:
        """The number of sensors."""
        return self.generator.sensor_count

    @property
    def every(self) -> int:
        """A sensor's own sampling interval."""
        return self.generator.interval

    @property
    def step(self) -> int:
        """The time between two steps, which equals `every`."""
        return self.generator.interval

    def columns(self) -> tuple[Column, ...]:
        """The columns of the generator."""
        return self.generator.columns()

    def sensors(self, stream: str) -> list[Sensor]:
        """The sensors of the generator."""
        return replace(self.generator, name=stream).sensors()

    def readings(self, tick: int, level: Integers) -> Readings:  # noqa: ARG002
        """One reading of each sensor."""
        times = tick + self._offsets()
        random = np.random.default_rng((self.generator.seed, 5, max(0, tick)))
        values = self.values(times, random)
        order = np.argsort(times, kind="stable")
        frame = pl.DataFrame({name: column.ravel()[order] for name, column in values.items()})
        return Readings(order, times[order], np.zeros(len(order), np.int64), frame)

    def values(self, times: Integers, random: np.random.Generator) -> Values:
        """The values of each column at one time per sensor."""
        return self.generator.values(times[None, :], random)

    def masked(self, values: pl.DataFrame, level: Integers) -> pl.DataFrame:  # noqa: ARG002
        """The values unchanged: there is one program, and it knows all columns."""
        return values

    def _offsets(self) -> Integers:
        random = np.random.default_rng((self.generator.seed, 6))
        room = max(1, int(self.generator.interval * self.generator.jitter))
        return random.integers(0, room, self.generator.sensor_count)


@dataclass(frozen=True)
class PlumeGrid(Grid):
    """Puffs without end. Only those that can still be over the field are computed."""

    def values(self, times: Integers, random: np.random.Generator) -> Values:
        plume = self.generator
        assert isinstance(plume, MovingPlume)
        size = 3 * float(np.hypot(plume.width, plume.height))
        over = size / max(1e-3, float(np.hypot(*plume.wind))) * SECOND
        first = max(0, int(times.min() - plume.start - over) // plume.release)
        start = plume.start + first * plume.release
        now = replace(plume, start=start, duration=max(1, int(times.max()) - start + 1))
        return now.values(times[None, :], random)


@dataclass(frozen=True)
class DiurnalGrid(Grid):
    """Each sensor keeps its own offset from tick to tick."""

    def values(self, times: Integers, random: np.random.Generator) -> Values:
        diurnal = self.generator
        assert isinstance(diurnal, Diurnal)
        own = np.random.default_rng((diurnal.seed, 7)).normal(0.0, diurnal.spread, diurnal.sensor_count)
        values = replace(diurnal, spread=0.0).values(times[None, :], random)
        temperature = values["temperature"].astype(np.float64) + own
        return values | {"temperature": quantised(temperature)}
