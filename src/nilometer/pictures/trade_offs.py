"""A query's own placement and its alternatives -> lifetime and energy over delivery time and acquisition
interval.

The delivery time depends on the buffering: the same plan is scheduled for other buffering factors, as far as
memory and time allow. The acquisition interval may change the plan itself, so the query is planned again.
Infeasible plans are left out.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from nilometer.errors import InfeasibleError, UnsupportedError
from nilometer.pictures.curves import Curve, draw_curves
from nilometer.placement import Placement
from nilometer.placement.buffering import buffered_otherwise
from nilometer.placement.site_plan import Estimate
from nilometer.types import SECOND

Replan = Callable[[int], Placement]
"""Returns the placement of the same query at another acquisition interval, in microseconds; raises if there
is none."""

Point = tuple[float, Estimate]
"""Seconds, and the estimate at that value."""

OCTAVES = range(-4, 6)
"""The acquisition intervals that are drawn: these powers of two, times the plan's own interval."""


def draw_trade_offs(placement: Placement, replan: Replan, path: Path) -> None:
    """Draw four panels. A labelled point marks the plan itself."""
    own = placement.estimate
    deliveries = by_delivery(placement)
    intervals = by_interval(placement, replan)
    panels = [
        *_panels("delivery time", deliveries, (own.delivery_time, own)),
        *_panels("acquisition interval", intervals, (placement.interval / SECOND, own)),
    ]
    draw_curves(panels, path)


def by_delivery(placement: Placement) -> list[Point]:
    """The same plan with less and with more buffering."""
    estimates = [scheduled.estimate for scheduled in buffered_otherwise(placement.scheduler)]
    return [(estimate.delivery_time, estimate) for estimate in estimates]


def by_interval(placement: Placement, replan: Replan) -> list[Point]:
    """Plans that take readings more often, and less often."""
    found: list[Point] = []
    for octave in OCTAVES:
        interval = round(placement.interval * 2.0**octave)
        try:
            found.append((interval / SECOND, replan(interval).estimate))
        except (InfeasibleError, UnsupportedError):
            continue
    return found


def _panels(what: str, points: Sequence[Point], own: Point) -> list[Curve]:
    def line(measure: Callable[[Estimate], float | None]) -> list[tuple[float, float]]:
        drawn = [(seconds, measure(estimate)) for seconds, estimate in points]
        return [(at, value) for at, value in drawn if value is not None]

    def this_plan(measure: Callable[[Estimate], float | None]) -> list[tuple[float, float]]:
        value = measure(own[1])
        return [] if value is None else [(own[0], value)]

    days = {"sensor boards always on": _days, "sensor boards off between readings": _days_without_board}
    joules = {"sensor boards always on": _joules, "sensor boards off between readings": _joules_without_board}
    return [
        Curve(
            f"lifetime against {what}",
            what,
            "days",
            {name: line(measure) for name, measure in days.items()} | {"this plan": this_plan(_days)},
            durations=True,
            marked="this plan",
        ),
        Curve(
            f"energy against {what}",
            what,
            "J a day, all nodes but the sink",
            {name: line(measure) for name, measure in joules.items()} | {"this plan": this_plan(_joules)},
            durations=True,
            marked="this plan",
        ),
    ]


def _days(estimate: Estimate) -> float | None:
    return None if estimate.lifetime is None else estimate.lifetime / 86400


def _days_without_board(estimate: Estimate) -> float | None:
    return None if estimate.lifetime_without_board is None else estimate.lifetime_without_board / 86400


def _joules(estimate: Estimate) -> float:
    return estimate.energy * 86400 / estimate.period


def _joules_without_board(estimate: Estimate) -> float:
    return estimate.energy_without_board * 86400 / estimate.period
