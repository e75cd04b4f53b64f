"""The placements that were tried -> the best one by the expectations, and what EXPLAIN says about the
others."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import inf

from nilometer.errors import InfeasibleError, UnsupportedError
from nilometer.placement.buffering import worth
from nilometer.placement.cuts import Cut
from nilometer.placement.placement import Alternative, Placement
from nilometer.placement.quality import Measure, QualityOfService
from nilometer.placement.site_plan import Estimate

PlacementOrRefusal = Placement | InfeasibleError | UnsupportedError
"""A placement, or the reason why there is none."""

ALIKE = 0.01
"""Estimates that differ by a smaller share count as equal."""


def best_of(
    tried: Sequence[tuple[Cut, PlacementOrRefusal]], quality: QualityOfService
) -> tuple[Cut, Placement]:
    """The best placement that may be chosen. If there is none, raises the refusal that comes nearest to the
    expectations."""
    found: tuple[Cut, PlacementOrRefusal] | None = None
    for cut, outcome in tried:
        if cut.control:
            continue
        if found is None or nearer(found[1], outcome, quality) is outcome:
            found = (cut, outcome)
    assert found is not None
    cut, outcome = found
    if not isinstance(outcome, Placement):
        raise outcome
    return cut, outcome


def nearer(
    one: PlacementOrRefusal, other: PlacementOrRefusal, quality: QualityOfService
) -> PlacementOrRefusal:
    """The better of two; a placement is better than a refusal."""
    if isinstance(one, Placement) and isinstance(other, Placement):
        return other if _better(other.estimate, one.estimate, quality) else one
    if isinstance(one, Placement) or isinstance(other, Placement):
        return one if isinstance(one, Placement) else other
    return other if _distance(other) < _distance(one) else one


def alternatives_of(
    tried: Sequence[tuple[Cut, PlacementOrRefusal]], chosen: Placement, quality: QualityOfService
) -> tuple[Alternative, ...]:
    """The placements that were tried, with the reasons for or against each."""
    return tuple(_alternative(cut, outcome, chosen, quality) for cut, outcome in tried)


def _alternative(
    cut: Cut, outcome: PlacementOrRefusal, chosen: Placement, quality: QualityOfService
) -> Alternative:
    if not isinstance(outcome, Placement):
        return Alternative(cut.name, cut.in_network, None, False, outcome.message)
    name, value, _ = _measure(quality)
    if outcome is chosen:
        return Alternative(cut.name, cut.in_network, outcome.estimate, True, f"best {name}")
    if cut.control:
        reason = "a control: it is never chosen"
    else:
        ours, best = value(outcome.estimate), value(chosen.estimate)
        difference = abs(ours / best - 1) if best not in (0, inf) else 0.0
        reason = f"{name} {difference:.1%} {'lower' if ours < best else 'higher'}"
        if difference < 0.0005:
            reason = f"the same {name}"
        if difference <= ALIKE:
            reason += ", and more energy in all"
    return Alternative(cut.name, cut.in_network, outcome.estimate, False, reason)


def _better(one: Estimate, other: Estimate, quality: QualityOfService) -> bool:
    """Whether `one` is better at the goal, or is within one percent of `other` and takes less energy."""
    _, value, sign = _measure(quality)
    mine, its = value(one), value(other)
    if abs(mine - its) > ALIKE * max(abs(mine), abs(its)):
        return sign * mine > sign * its
    return one.energy_without_board / one.period < other.energy_without_board / other.period


def _measure(quality: QualityOfService) -> tuple[str, Callable[[Estimate], float], int]:
    """The quantity to compare: its name, how to read it, and 1 if more is better."""
    goal = quality.goal
    if goal is None or goal.measure in (Measure.LIFETIME, Measure.ACQUISITION_INTERVAL):
        return "lifetime", worth, 1
    if goal.measure is Measure.TOTAL_ENERGY:
        return "energy", lambda estimate: estimate.energy / estimate.period, -1
    return "delivery time", lambda estimate: estimate.delivery_time, -1


def _distance(error: InfeasibleError | UnsupportedError) -> tuple[float, float]:
    """How far a refusal is from a plan; fewer bounds kept are farther than any gap."""
    return (-error.kept, error.gap) if isinstance(error, InfeasibleError) else (inf, inf)
