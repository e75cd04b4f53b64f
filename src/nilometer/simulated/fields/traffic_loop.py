"""Induction loops along a road: vehicles counted in each interval and their mean speed, with two rush hours
on workdays.

Speed falls with density by Greenshields' law, v = free x (1 - density / jam). Counts are Poisson with mean v
x density x interval x lanes.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from nilometer.kernels.arrays import Floats, Integers
from nilometer.simulated.fields.generator import Generator, quantised
from nilometer.types import DAY, FLOAT, HOUR, INT, MINUTE, Column


@dataclass(frozen=True)
class TrafficLoop(Generator):
    """Speeds in km/h, densities in vehicles per kilometre and lane; the road runs along x."""

    free_speed: float = 110.0
    jam_density: float = 120.0
    night_density: float = 3.0
    rush_density: float = 70.0
    lanes: int = 2
    morning: int = 8 * HOUR
    evening: int = 17 * HOUR + 30 * MINUTE
    noise: float = 3.0

    def columns(self) -> tuple[Column, ...]:
        return (Column("speed", FLOAT, "km/h"), Column("vehicles", INT))

    def locations(self) -> Floats:
        """Positions evenly spaced along the road."""
        x = np.linspace(0.0, self.width, self.sensor_count)
        return quantised(np.column_stack([x, np.full(self.sensor_count, self.height / 2)]))

    def attributes(self) -> list[tuple[tuple[str, object], ...]]:
        """The place of each loop on the road, in metres."""
        return [(("post", float(x)),) for x in self.locations()[:, 0]]

    def values(self, times: Integers, random: np.random.Generator) -> dict[str, npt.NDArray[np.generic]]:
        density = self.density(times) * random.uniform(0.85, 1.15, self.sensor_count)
        density = np.clip(density, 0.0, self.jam_density * 0.97)
        speed = self.free_speed * (1 - density / self.jam_density)
        vehicles = random.poisson(density * speed * self.lanes * (self.interval / HOUR))
        measured = speed + random.normal(0.0, self.noise, times.shape)
        return {"speed": quantised(np.clip(measured, 1.0, None)), "vehicles": vehicles.astype(np.int64)}

    def density(self, times: Integers) -> Floats:
        """The mean density at a time: a night level, a daytime level, and the rush hours of Monday to
        Friday."""
        clock = (times % DAY) / HOUR
        workday = ((times // DAY + 3) % 7) < 5  # the epoch was a Thursday
        daytime = 12.0 / (1 + np.exp(-(clock - 6.0) * 2)) / (1 + np.exp((clock - 21.0) * 2))
        rush = _bell(clock, self.morning / HOUR) + _bell(clock, self.evening / HOUR)
        density: Floats = self.night_density + daytime + np.where(workday, self.rush_density * rush, 0.0)
        return density


def _bell(clock: Floats, peak: float) -> Floats:
    return np.exp(-((clock - peak) ** 2) / 1.5)
