"""Weather with a daily course: temperature follows a sine with its peak in the afternoon, and humidity goes
against it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from nilometer.kernels.arrays import Integers
from nilometer.simulated.fields.generator import Generator, quantised
from nilometer.types import DAY, FLOAT, HOUR, Column


@dataclass(frozen=True)
class Diurnal(Generator):
    """temperature = mean + amplitude x daily course + the sensor's own offset + noise; humidity falls as it rises."""

    mean: float = 15.0
    amplitude: float = 8.0
    spread: float = 1.0
    noise: float = 0.25
    peak: int = 15 * HOUR

    def columns(self) -> tuple[Column, ...]:
        return (Column("temperature", FLOAT, "Cel"), Column("humidity", FLOAT, "%"))

    def values(self, times: Integers, random: np.random.Generator) -> dict[str, npt.NDArray[np.generic]]:
        course = np.cos(2 * np.pi * ((times % DAY) - self.peak) / DAY)
        offsets = random.normal(0.0, self.spread, self.sensor_count)
        temperature = self.mean + self.amplitude * course + offsets
        temperature += random.normal(0.0, self.noise, times.shape)
        humidity = 60.0 - 25.0 * course + random.normal(0.0, 4 * self.noise, times.shape)
        return {"temperature": quantised(temperature), "humidity": quantised(np.clip(humidity, 0.0, 100.0))}
