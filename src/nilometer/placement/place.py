"""A physical plan, a network and expectations -> a placement: SNEE's steps 4 to 7, with the alternatives weighed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from math import inf

from nilometer.catalog.network import Network
from nilometer.errors import InfeasibleError, NilometerError, UnsupportedError
from nilometer.placement.abilities import forced_to_the_gateway
from nilometer.placement.buffering import Scheduler, choose_buffering, worth
from nilometer.placement.cost_parameters import CostParameters, cost_parameters
from nilometer.placement.cuts import Cut, cuts_of
from nilometer.placement.partition import partition
from nilometer.placement.placement import Alternative, Placement
from nilometer.placement.profiles import DEFAULT, PlacementProfile
from nilometer.placement.quality import Direction, Measure, QualityOfService
from nilometer.placement.routing import routing_trees
from nilometer.placement.routing_tree import RoutingTree
from nilometer.placement.site_plan import Estimate
from nilometer.placement.sources import Sources, at_interval, sources_of
from nilometer.placement.where import place_fragments
from nilometer.placement.workload import workload
from nilometer.plan import physical
from nilometer.types import MILLISECOND, SECOND

ALIKE = 0.01
"""Estimates that differ by less are taken for equal."""


def place(
    plan: physical.Node,
    network: Network,
    quality: QualityOfService | None = None,
    profile: PlacementProfile = DEFAULT,
) -> Placement:
    """Decide who does what, where and when. Refuses, with the binding reason and the nearest value that can be kept, what
    cannot be (`InfeasibleError`), and with `UnsupportedError` what the network cannot do at all."""
    expected = _within(plan, quality or QualityOfService())
    bounds = expected.acquisition_interval
    if not bounds:
        return _place_at(plan, network, expected, profile)
    declared = _declared_interval(plan)
    interval = round(min(max(declared, bounds.low or 0), bounds.high or declared))
    goal = expected.goal
    if goal is not None and goal.measure is Measure.ACQUISITION_INTERVAL:
        if goal.direction is Direction.MINIMIZE:
            return _fastest(plan, network, expected, profile)
        interval = round(bounds.high or declared)
    elif goal is not None and goal.measure in (Measure.LIFETIME, Measure.TOTAL_ENERGY):
        interval = round(bounds.high or max(declared, bounds.low or 0))
    return _place_at(at_interval(plan, interval), network, expected, profile)


def _within(plan: physical.Node, quality: QualityOfService) -> QualityOfService:
    """The expectations with the query's own DELIVER WITHIN, unless a shorter delivery time is expected."""
    within = plan.within if isinstance(plan, physical.Deliver) else None
    high = quality.delivery_time.high
    if within is None or (high is not None and high <= within):
        return quality
    return replace(quality, delivery_time=replace(quality.delivery_time, high=within))


def _fastest(
    plan: physical.Node, network: Network, quality: QualityOfService, profile: PlacementProfile
) -> Placement:
    """The shortest acquisition interval within the bounds that can be kept, to the millisecond."""
    bounds = quality.acquisition_interval
    low = max(1, round((bounds.low or MILLISECOND) / MILLISECOND))
    high = round((bounds.high or _declared_interval(plan)) / MILLISECOND)
    best = _place_at(at_interval(plan, high * MILLISECOND), network, quality, profile)
    while low < high:
        middle = (low + high) // 2
        try:
            best = _place_at(at_interval(plan, middle * MILLISECOND), network, quality, profile)
            high = middle
        except InfeasibleError:
            low = middle + 1
    return best


def _declared_interval(plan: physical.Node) -> int:
    found = [
        node.every for node in physical.walk_plan(plan) if isinstance(node, physical.SpAcquire) and node.every
    ]
    return min(found, default=SECOND)


def _place_at(
    plan: physical.Node, network: Network, quality: QualityOfService, profile: PlacementProfile
) -> Placement:
    costs = cost_parameters(network.profile)
    sources = sources_of(plan, network)
    forced = forced_to_the_gateway(plan, sources)
    cuts = cuts_of(plan, frozenset(forced), sources)
    if profile.paper_arithmetic or profile.in_network:
        cuts = cuts[:1]
    trees = routing_trees(network, sources.sites(network), costs, profile)
    tried: list[tuple[Cut, Placement | NilometerError]] = []
    for cut in cuts:
        routes = trees if not cut.control else trees[:1]
        tried.append((cut, _best_route(cut, network, quality, profile, costs, sources, routes)))
    chosen = _choose(tried, quality)
    cut = next(cut for cut, placement in tried if placement is chosen)
    reasons = tuple(
        (node.operator, forced.get(id(node), "cheaper than in the network"))
        for node in physical.walk_plan(cut.plan)
        if id(node) in cut.at_sink and not (isinstance(node, physical.TimeWindow) and node.elided)
    )
    alternatives = tuple(_alternative(cut, placement, chosen, quality) for cut, placement in tried)
    return replace(chosen, alternatives=alternatives, at_gateway=reasons)


def _best_route(
    cut: Cut,
    network: Network,
    quality: QualityOfService,
    profile: PlacementProfile,
    costs: CostParameters,
    sources: Sources,
    trees: tuple[RoutingTree, ...],
) -> Placement | NilometerError:
    found: Placement | NilometerError | None = None
    for tree in trees:
        try:
            placement = _place_on(cut, network, quality, profile, costs, sources, tree)
        except (InfeasibleError, UnsupportedError) as error:
            found = error if found is None else _nearer(found, error)
            continue
        if not isinstance(found, Placement) or _better(placement.estimate, found.estimate, quality):
            found = placement
    assert found is not None
    return found


def _place_on(
    cut: Cut,
    network: Network,
    quality: QualityOfService,
    profile: PlacementProfile,
    costs: CostParameters,
    sources: Sources,
    routing: RoutingTree,
) -> Placement:
    fragments = partition(
        cut.plan, sources.interval, at_sink=cut.at_sink, every_growth=profile.keeps_exchanges
    )
    placed = place_fragments(fragments, routing, sources.sensed_at, sources.interval, profile.wire)
    work = workload(placed, sources.interval, costs, profile)
    scheduler = Scheduler(work, network, sources.interval, costs, profile)
    scheduled = choose_buffering(scheduler, quality)
    return Placement(
        cut.plan,
        network,
        quality,
        profile,
        costs,
        routing,
        fragments,
        placed,
        scheduled.agenda,
        scheduled.sites,
        scheduled.estimate,
    )


# ---- choosing --------------------------------------------------------------------------------------------------------


def _choose(tried: list[tuple[Cut, Placement | NilometerError]], quality: QualityOfService) -> Placement:
    best: Placement | None = None
    for cut, placement in tried:
        if cut.control or isinstance(placement, NilometerError):
            continue
        if best is None or _better(placement.estimate, best.estimate, quality):
            best = placement
    if best is not None:
        return best
    refusals = [refusal for cut, refusal in tried if isinstance(refusal, NilometerError) and not cut.control]
    raise min(refusals, key=_gap)


def _nearer(found: Placement | NilometerError, error: NilometerError) -> Placement | NilometerError:
    return found if isinstance(found, Placement) or _gap(found) <= _gap(error) else error


def _gap(error: NilometerError) -> float:
    return error.gap if isinstance(error, InfeasibleError) else inf


def _alternative(
    cut: Cut, placement: Placement | NilometerError, chosen: Placement, quality: QualityOfService
) -> Alternative:
    if isinstance(placement, NilometerError):
        return Alternative(cut.name, cut.in_network, None, False, str(placement).splitlines()[0])
    if placement is chosen:
        return Alternative(cut.name, cut.in_network, placement.estimate, True, f"best {_measure(quality)[0]}")
    if cut.control:
        reason = "a control: it is never chosen"
    else:
        ours, best = _measure(quality)[1](placement.estimate), _measure(quality)[1](chosen.estimate)
        difference = abs(ours / best - 1)
        reason = f"{_measure(quality)[0]} {difference:.1%} {'lower' if ours < best else 'higher'}"
        if difference <= ALIKE:
            reason += ", and more energy in all"
    return Alternative(cut.name, cut.in_network, placement.estimate, False, reason)


def _better(one: Estimate, other: Estimate, quality: QualityOfService) -> bool:
    """Whether one is better by what is asked for, or as good to within a percent and takes less energy."""
    _, value, sign = _measure(quality)
    mine, its = value(one), value(other)
    if abs(mine - its) > ALIKE * max(abs(mine), abs(its)):
        return sign * mine > sign * its
    return one.energy_without_board / one.period < other.energy_without_board / other.period


def _measure(quality: QualityOfService) -> tuple[str, Callable[[Estimate], float], int]:
    """What is compared: its name, how it is read, and 1 if more is better."""
    goal = quality.goal
    if goal is None or goal.measure in (Measure.LIFETIME, Measure.ACQUISITION_INTERVAL):
        return "lifetime", worth, 1
    if goal.measure is Measure.TOTAL_ENERGY:
        return "energy", lambda estimate: estimate.energy / estimate.period, -1
    return "delivery time", lambda estimate: estimate.delivery_time, -1
