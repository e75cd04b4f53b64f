"""How a phenomenon moves: a Kalman filter of constant velocity on its middle, in metres from where it was born.

The two axes are alike and independent, so one covariance serves both. With s the distance of neighbours and d the
interval of evaluations:

    r = (s / 2)^2        v0 = s / d        q = v0^2 / (10 d)        P0 = diag(r, v0^2)

A definition may set each of them: PRECISION is the root of r, SPEED is v0, and STEADY the 10 in q. MERGE and SPLIT restart the covariance of the velocity, not the state.

>>> motion = Motion.born((0.0, 0.0))
>>> for step in range(1, 30):
...     motion = motion.moved((10.0 * step, 0.0), Noise.of(neighbours=20.0, seconds=1.0))
>>> round(motion.velocity[0], 2)
10.0
"""

from __future__ import annotations

from dataclasses import dataclass

from nilometer.algebra.places import Place

STEADY = 10.0
"""After so many evaluations a velocity has changed by about its first size."""


@dataclass(frozen=True)
class Noise:
    """The interval of evaluations in seconds, and the variances of a measured middle (r), of the first velocity
    (v0^2) and of the acceleration (q)."""

    seconds: float
    measured: float
    first_velocity: float
    acceleration: float

    @classmethod
    def of(
        cls,
        neighbours: float,
        seconds: float,
        precision: float | None = None,
        speed: float | None = None,
        steady: float | None = None,
    ) -> Noise:
        """From the distance of neighbours in metres, and from what the definition sets: PRECISION in metres, SPEED in
        metres a second, STEADY in evaluations."""
        velocity = neighbours / seconds if speed is None else speed
        measured = neighbours / 2 if precision is None else precision
        evaluations = STEADY if steady is None else steady
        return cls(seconds, measured**2, velocity**2, velocity**2 / (evaluations * seconds))


@dataclass(frozen=True)
class Motion:
    """The state of the filter: place and velocity in the plane of the origin; P as (place, both, velocity).
    `fresh`: nothing has been measured but where it was born."""

    x: float
    y: float
    velocity: Place
    place_variance: float
    covariance: float
    velocity_variance: float
    fresh: bool = True

    @classmethod
    def born(cls, place: Place) -> Motion:
        """The state before the first movement; its covariance is set with it."""
        return cls(place[0], place[1], (0.0, 0.0), 0.0, 0.0, 0.0)

    def moved(self, place: Place, noise: Noise, shaken: bool = False) -> Motion:
        """The state one evaluation later, at which the middle was measured here."""
        place_variance, both, velocity_variance = self._covariance(noise, shaken)
        d, q = noise.seconds, noise.acceleration
        predicted = place_variance + 2 * d * both + d * d * velocity_variance + q * d**3 / 3
        both = both + d * velocity_variance + q * d * d / 2
        velocity_variance = velocity_variance + q * d
        total = predicted + noise.measured
        gain, turn = (predicted / total, both / total) if total else (1.0, 0.0)
        x, y = self.x + d * self.velocity[0], self.y + d * self.velocity[1]
        away = place[0] - x, place[1] - y
        return Motion(
            x + gain * away[0],
            y + gain * away[1],
            (self.velocity[0] + turn * away[0], self.velocity[1] + turn * away[1]),
            (1 - gain) * predicted,
            (1 - gain) * both,
            velocity_variance - turn * both,
            False,
        )

    def _covariance(self, noise: Noise, shaken: bool) -> tuple[float, float, float]:
        if self.fresh:
            return noise.measured, 0.0, noise.first_velocity
        if shaken:
            return self.place_variance, 0.0, noise.first_velocity
        return self.place_variance, self.covariance, self.velocity_variance
