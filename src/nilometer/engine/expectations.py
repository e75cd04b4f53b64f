"""Expectations of the quality of service, as people write them -> a `QualityOfService`.

>>> expectations(acquisition_interval="1 SECOND..1 MINUTE", goal="maximize lifetime").acquisition_interval
Bounds(low=1000000, high=60000000)
"""

from __future__ import annotations

from pathlib import Path

from nilometer.engine.snee_qos import read_qos
from nilometer.errors import ConfigurationError
from nilometer.placement import Bounds, Direction, Goal, Measure, QualityOfService
from nilometer.plan.bind.parameters import given_duration

_SENSELESS = {
    Goal(Direction.MINIMIZE, Measure.LIFETIME): Direction.MAXIMIZE,
    Goal(Direction.MAXIMIZE, Measure.TOTAL_ENERGY): Direction.MINIMIZE,
}
"""Goals that only waste could serve, each with the goal that was meant."""


def expectations(
    *,
    acquisition_interval: str | None = None,
    delivery_time: str | None = None,
    lifetime: str | None = None,
    total_energy: float | None = None,
    buffering_factor: int | None = None,
    goal: str | None = None,
    qos: str | None = None,
) -> QualityOfService:
    """Reads durations like `given_duration`. An acquisition interval may be a range, `A..B`. `qos` is a file of
    SNEE's; what is said beside it replaces what it says."""
    of_file = QualityOfService() if qos is None else read_qos(Path(qos))
    return QualityOfService(
        acquisition_interval=_range(acquisition_interval, "the acquisition interval")
        or of_file.acquisition_interval,
        delivery_time=Bounds(high=_duration(delivery_time, "the delivery time")) or of_file.delivery_time,
        lifetime=Bounds(low=_duration(lifetime, "the lifetime")) or of_file.lifetime,
        total_energy=Bounds(high=total_energy) or of_file.total_energy,
        buffering_factor=of_file.buffering_factor if buffering_factor is None else buffering_factor,
        duration=of_file.duration,
        goal=_goal(goal) or of_file.goal,
    )


def _range(text: str | None, what: str) -> Bounds:
    if text is None:
        return Bounds()
    low, dots, high = (part.strip() for part in text.partition(".."))
    if not dots:
        exactly = _duration(low, what)
        return Bounds(exactly, exactly)
    if not low and not high:
        raise ConfigurationError(
            f"{what} is a length of time, or a range",
            detail=f"found '{text}'",
            hint="write it as '1m..1h', or '1m..'",
        )
    return Bounds(_duration(low or None, what), _duration(high or None, what))


def _duration(text: str | None, what: str) -> int | None:
    return None if text is None else given_duration(text, what)


def _goal(text: str | None) -> Goal | None:
    if text is None:
        return None
    direction, _, measure = " ".join(text.lower().replace("_", " ").split()).partition(" ")
    if direction not in list(Direction) or measure not in list(Measure):
        raise ConfigurationError(
            f"'{text}' is no goal", hint=f"write minimize or maximize, and one of {', '.join(Measure)}"
        )
    goal = Goal(Direction(direction), Measure(measure))
    if goal in _SENSELESS:
        raise ConfigurationError(
            f"'{text}' is a goal that only makes a plan worse", hint=f"write '{_SENSELESS[goal]} {measure}'"
        )
    return goal
