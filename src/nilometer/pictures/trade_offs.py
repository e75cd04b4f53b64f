"""A query's own placement against what else could be expected of it -> lifetime and energy over delivery time and acquisition interval.

How long answers may wait is how much is buffered: the same plan is scheduled for other buffering factors, as far as memory and time allow.
How often readings are taken may change the plan itself: it is planned anew. What cannot be is left out.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median

from nilometer.errors import InfeasibleError, UnsupportedError
from nilometer.pictures.curves import Curve, draw_curves
from nilometer.placement import Placement
from nilometer.placement.buffering import buffered_otherwise
from nilometer.placement.site_plan import Estimate
from nilometer.types import DAY, HOUR, MINUTE, SECOND

Replan = Callable[[int], Placement]
"""The placement of the same query at another acquisition interval, in microseconds; raises where there is none."""

Point = tuple[float, Estimate]
"""Seconds, and what is estimated there."""

OCTAVES = range(-4, 6)
"""Acquisition intervals that are drawn: powers of two times the plan's own."""


def draw_trade_offs(placement: Placement, replan: Replan, path: Path) -> None:
    """Four panels. The plan itself is the point called so."""
    own = placement.estimate
    deliveries = by_delivery(placement)
    intervals = by_interval(placement, replan)
    panels = [
        *_panels("delivery time", deliveries, (own.delivery_time, own)),
        *_panels("acquisition interval", intervals, (placement.interval / SECOND, own)),
    ]
    draw_curves(panels, path)


def by_delivery(placement: Placement) -> list[Point]:
    """The same plan, buffered for less and for longer."""
    estimates = [scheduled.estimate for scheduled in buffered_otherwise(placement.scheduler)]
    return [(estimate.delivery_time, estimate) for estimate in estimates]


def by_interval(placement: Placement, replan: Replan) -> list[Point]:
    """Plans for readings that are taken more often, and less."""
    found: list[Point] = []
    for octave in OCTAVES:
        interval = round(placement.interval * 2.0**octave)
        try:
            found.append((interval / SECOND, replan(interval).estimate))
        except (InfeasibleError, UnsupportedError):
            continue
    return found


def _panels(what: str, points: Sequence[Point], own: Point) -> list[Curve]:
    unit, length = _unit([x for x, _ in points])
    x = f"{what} ({unit})"

    def line(measure: Callable[[Estimate], float | None]) -> list[tuple[float, float]]:
        drawn = [(seconds / length, measure(estimate)) for seconds, estimate in points]
        return [(at, value) for at, value in drawn if value is not None]

    def this_plan(measure: Callable[[Estimate], float | None]) -> list[tuple[float, float]]:
        value = measure(own[1])
        return [] if value is None else [(own[0] / length, value)]

    days = {"sensor boards always on": _days, "sensor boards off between readings": _days_without_board}
    joules = {"sensor boards always on": _joules, "sensor boards off between readings": _joules_without_board}
    return [
        Curve(
            f"lifetime against {what}",
            x,
            "days",
            {name: line(measure) for name, measure in days.items()} | {"this plan": this_plan(_days)},
        ),
        Curve(
            f"energy against {what}",
            x,
            "J a day, all nodes but the sink",
            {name: line(measure) for name, measure in joules.items()} | {"this plan": this_plan(_joules)},
        ),
    ]


def _unit(seconds: Sequence[float]) -> tuple[str, float]:
    """The unit in which most of them are numbers that one can read."""
    middle = median(seconds or [1.0])
    for name, length in (("days", DAY), ("hours", HOUR), ("minutes", MINUTE)):
        if middle >= 2 * length / SECOND:
            return name, length / SECOND
    return "seconds", 1.0


def _days(estimate: Estimate) -> float | None:
    return None if estimate.lifetime is None else estimate.lifetime / 86400


def _days_without_board(estimate: Estimate) -> float | None:
    return None if estimate.lifetime_without_board is None else estimate.lifetime_without_board / 86400


def _joules(estimate: Estimate) -> float:
    return estimate.energy * 86400 / estimate.period


def _joules_without_board(estimate: Estimate) -> float:
    return estimate.energy_without_board * 86400 / estimate.period
