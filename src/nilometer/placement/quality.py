"""Expectations of the quality of service (SNEE Fig. 5): the bounds that a plan must meet, and the goal at
which it should be best."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum

from nilometer.errors import ConfigurationError
from nilometer.types import SECOND, format_duration

SIX_MONTHS = 15_778_463 * SECOND
"""Six months as section 6 of the paper counts them."""


class Measure(StrEnum):
    """The quantities that an expectation can be about."""

    ACQUISITION_INTERVAL = "acquisition interval"
    DELIVERY_TIME = "delivery time"
    LIFETIME = "lifetime"
    TOTAL_ENERGY = "total energy"


class Direction(StrEnum):
    """Whether a goal minimizes or maximizes."""

    MINIMIZE = "minimize"
    MAXIMIZE = "maximize"


@dataclass(frozen=True, slots=True)
class Bounds:
    """At least `low` and at most `high`, both inclusive; None means no bound. Times are microseconds,
    energies joules."""

    low: float | None = None
    high: float | None = None

    def __contains__(self, value: float) -> bool:
        return (self.low is None or value >= self.low) and (self.high is None or value <= self.high)

    def __bool__(self) -> bool:
        return self.low is not None or self.high is not None


@dataclass(frozen=True, slots=True)
class Goal:
    """The quantity at which the plan should be best, among the plans that meet every bound."""

    direction: Direction
    measure: Measure


@dataclass(frozen=True)
class QualityOfService:
    """The expectations of a plan. `total_energy` is the energy of all battery-powered sites over `duration`;
    `buffering_factor` fixes beta. Without a goal the plan buffers only as much as pays off; under profile
    `snee-2010`, as much as it may.

    >>> QualityOfService.of(delivery_time=24 * 3600 * SECOND).delivery_time
    Bounds(low=None, high=86400000000)
    """

    acquisition_interval: Bounds = Bounds()
    delivery_time: Bounds = Bounds()
    lifetime: Bounds = Bounds()
    total_energy: Bounds = Bounds()
    buffering_factor: int | None = None
    duration: int = SIX_MONTHS
    goal: Goal | None = None

    def __post_init__(self) -> None:
        for measure, bounds in self.bounds.items():
            for value in (bounds.low, bounds.high):
                if value is not None and not value > 0:
                    raise ConfigurationError(
                        f"a {measure} of {value} is not possible", hint="give more than 0"
                    )
            if bounds.low is not None and bounds.high is not None and bounds.low > bounds.high:
                raise ConfigurationError(
                    f"the expectations of the {measure} contradict each other",
                    detail=f"at least {_shown(measure, bounds.low)}, and at most {_shown(measure, bounds.high)}",
                    hint="leave one of the two out, or exchange them",
                )
        if self.buffering_factor is not None and self.buffering_factor < 1:
            raise ConfigurationError(
                f"a buffering factor of {self.buffering_factor} is not possible",
                hint="it is the number of evaluations that are sent together: 1 or more",
            )

    @classmethod
    def of(
        cls,
        *,
        acquisition_interval: int | None = None,
        delivery_time: int | None = None,
        lifetime: int | None = None,
        total_energy: float | None = None,
        buffering_factor: int | None = None,
        goal: Goal | None = None,
    ) -> QualityOfService:
        """The usual expectations: the acquisition interval is met exactly, the delivery time and the energy
        are upper bounds, and the lifetime is a lower bound."""
        return cls(
            Bounds(acquisition_interval, acquisition_interval),
            Bounds(high=delivery_time),
            Bounds(low=lifetime),
            Bounds(high=total_energy),
            buffering_factor,
            goal=goal,
        )

    def at_interval(self, interval: int) -> QualityOfService:
        """The same expectations at another acquisition interval. The buffering factor is then chosen anew."""
        return replace(self, acquisition_interval=Bounds(interval, interval), buffering_factor=None)

    @property
    def bounds(self) -> dict[Measure, Bounds]:
        """The bounds, by measure."""
        return {
            Measure.ACQUISITION_INTERVAL: self.acquisition_interval,
            Measure.DELIVERY_TIME: self.delivery_time,
            Measure.LIFETIME: self.lifetime,
            Measure.TOTAL_ENERGY: self.total_energy,
        }


def _shown(measure: Measure, value: float) -> str:
    return f"{value:g} J" if measure is Measure.TOTAL_ENERGY else format_duration(round(value))
