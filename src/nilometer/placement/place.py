"""A physical plan, a network and expectations -> a placement: SNEE's steps 4 to 7, with a comparison of the
alternatives."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from nilometer.catalog.network import Network
from nilometer.errors import InfeasibleError, UnsupportedError
from nilometer.placement.abilities import MOTE_KINDS, Ability, forced_to_the_gateway, why_not_on_a_mote
from nilometer.placement.attributes_by_id import attributes_by_id
from nilometer.placement.buffering import Scheduler, choose_buffering
from nilometer.placement.choosing import PlacementOrRefusal, alternatives_of, best_of, nearer
from nilometer.placement.cost_parameters import CostParameters, cost_parameters
from nilometer.placement.cuts import Cut, cuts_of
from nilometer.placement.fit_acquisitions import fit_acquisitions
from nilometer.placement.limit_acquisitions import Sensors, limit_acquisitions
from nilometer.placement.node_paths import NodePath, inputs_with_paths, walk_with_paths
from nilometer.placement.partition import partition
from nilometer.placement.placement import Placement
from nilometer.placement.profiles import DEFAULT, PlacementProfile
from nilometer.placement.quality import Direction, Goal, Measure, QualityOfService
from nilometer.placement.routing import routing_trees
from nilometer.placement.routing_tree import RoutingTree
from nilometer.placement.sources import Sources, at_interval, declared_interval, sources_of
from nilometer.placement.where import place_fragments
from nilometer.placement.workload import workload
from nilometer.plan import physical
from nilometer.types import DAY, MILLISECOND

GATEWAY_ROWS_PER_SECOND = 100_000.0
"""The readings per second that placement trusts one gateway process with. Measured, it takes several times as
many (`nilometer bench operators`)."""

LONGEST_INTERVAL = DAY
"""The longest acquisition interval that is tried where the shortest is wanted."""


def place(
    plan: physical.Node,
    network: Network,
    quality: QualityOfService | None = None,
    profile: PlacementProfile = DEFAULT,
    *,
    rates: Mapping[str, float] | None = None,
    sensors: Sensors | None = None,
    why_not: Ability = why_not_on_a_mote,
) -> Placement:
    """Decide which site does what, and when. `rates`: readings per second of the streams outside the network,
    by alias. If one gateway cannot take them all, Spark runs the rest of the plan. `sensors`: the declared
    sensors, whose attributes may select nodes. `why_not`: what motes cannot run. Raises `InfeasibleError` if
    an expectation cannot be met, with the binding reason and the nearest value that can be met, and
    `UnsupportedError` if the network cannot run the query at all."""
    problem = _Problem(network, _within(plan, quality or QualityOfService()), profile, rates or {}, why_not)
    plan = limit_acquisitions(plan, network, sensors)
    if sensors is not None:  # a mote may know its own attributes, but can only send numbers
        plan = attributes_by_id(plan, network, sensors, MOTE_KINDS)
    bounds, goal = problem.quality.acquisition_interval, problem.quality.goal
    if not bounds and (goal is None or goal.measure is not Measure.ACQUISITION_INTERVAL):
        return problem.solved(plan)  # as the streams declare
    low, high = _intervals(plan, problem.quality)
    # Only who asks for the shortest interval, and sets no limit, accepts one longer than the streams declare.
    unlimited = bounds.high is None and goal == Goal(Direction.MINIMIZE, Measure.ACQUISITION_INTERVAL)
    return _at_the_shortest(plan, problem, low, high, LONGEST_INTERVAL if unlimited else high)


def _intervals(plan: physical.Node, quality: QualityOfService) -> tuple[int, int]:
    """The range in which to search for the shortest feasible acquisition interval. It normally starts at the
    interval that the streams declare, as far as the bounds allow, and ends at the longest allowed. If the
    goal favours a longer interval, the range is only the longest."""
    declared, bounds, goal = declared_interval(plan), quality.acquisition_interval, quality.goal
    low, high = round(bounds.low or MILLISECOND), round(bounds.high or max(declared, bounds.low or 0))
    match goal:
        case Goal(Direction.MINIMIZE, Measure.ACQUISITION_INTERVAL):
            return low, high
        case Goal(_, Measure.ACQUISITION_INTERVAL | Measure.LIFETIME | Measure.TOTAL_ENERGY):
            return high, high
        case _:
            return min(max(declared, low), high), high


def _within(plan: physical.Node, quality: QualityOfService) -> QualityOfService:
    """The expectations with the query's own DELIVER WITHIN, unless they ask for a shorter delivery time."""
    within = plan.within if isinstance(plan, physical.Deliver) else None
    high = quality.delivery_time.high
    if within is None or (high is not None and high <= within):
        return quality
    return replace(quality, delivery_time=replace(quality.delivery_time, high=within))


def _at_the_shortest(plan: physical.Node, problem: _Problem, low: int, high: int, longest: int) -> Placement:
    """The placement at the shortest feasible acquisition interval from `low` to `high`, to the millisecond. If
    there is none, `high` is doubled, up to `longest`. The last refusal is the one that no interval mends."""
    try:
        return problem.solved(at_interval(plan, low))
    except InfeasibleError:
        if low >= high >= longest:
            raise
    best: Placement | None = None
    while best is None:
        try:
            best = problem.solved(at_interval(plan, high))
        except InfeasibleError:
            if high >= longest:
                raise
            low, high = high, min(2 * high, longest)
    while high - low > MILLISECOND:
        middle = (low + high) // 2 // MILLISECOND * MILLISECOND
        if middle <= low:
            break
        try:
            best, high = problem.solved(at_interval(plan, middle)), middle
        except InfeasibleError:
            low = middle
    return best


@dataclass(frozen=True)
class _Problem:
    """The inputs of a placement, besides the plan."""

    network: Network
    quality: QualityOfService
    profile: PlacementProfile
    rates: Mapping[str, float]
    why_not: Ability

    def solved(self, plan: physical.Node) -> Placement:
        """The best placement of a plan at its own acquisition interval."""
        sources = sources_of(plan, self.network)
        plan = fit_acquisitions(plan, sources, self.why_not)
        forced = forced_to_the_gateway(plan, sources, self.why_not)
        cuts = cuts_of(plan, frozenset(forced), sources)
        if self.profile.paper_arithmetic:
            cuts = cuts[:1]  # SNEE knows only this cut
        trees = routing_trees(self.network, sources.sites(self.network), self.costs, self.profile)
        tried: list[tuple[Cut, PlacementOrRefusal]] = []
        for cut in cuts:
            tried.append((cut, self._on_the_best_of(trees, cut, sources)))
            if self.profile.in_network and not forced and isinstance(tried[0][1], Placement):
                break  # the whole plan fits into the network
        chosen_cut, chosen = best_of(tried, self.quality)
        reasons = _reasons(chosen_cut, forced, tried[0][1])
        return replace(chosen, alternatives=alternatives_of(tried, chosen, self.quality), at_gateway=reasons)

    @property
    def costs(self) -> CostParameters:
        """The costs of the actions of the network's motes."""
        return cost_parameters(self.network.profile)

    def _on_the_best_of(
        self, trees: tuple[RoutingTree, ...], cut: Cut, sources: Sources
    ) -> PlacementOrRefusal:
        found: PlacementOrRefusal | None = None
        for tree in trees[:1] if cut.control else trees:
            try:
                candidate: PlacementOrRefusal = self._on(tree, cut, sources)
            except (InfeasibleError, UnsupportedError) as error:
                candidate = error
            found = candidate if found is None else nearer(found, candidate, self.quality)
        assert found is not None
        return found

    def _on(self, routing: RoutingTree, cut: Cut, sources: Sources) -> Placement:
        """Steps 5 to 7 on one routing tree."""
        interval, costs, profile = sources.interval, self.costs, self.profile
        many = sources.rows_per_second(self.rates) > GATEWAY_ROWS_PER_SECOND
        fragments = partition(
            cut.plan,
            interval,
            at_sink=cut.at_sink,
            every_growth=profile.keeps_exchanges,
            rest_on="spark" if many else "gateway",
        )
        placed = place_fragments(fragments, routing, sources.sensed_at, interval, profile.wire)
        work = workload(placed, costs, profile)
        scheduled = choose_buffering(Scheduler(work, self.network, interval, costs, profile), self.quality)
        return Placement(
            cut.plan,
            self.network,
            self.quality,
            profile,
            costs,
            routing,
            fragments,
            placed,
            scheduled.agenda,
            scheduled.sites,
            scheduled.estimate,
        )


def _reasons(
    cut: Cut, forced: Mapping[NodePath, str], most: PlacementOrRefusal
) -> tuple[tuple[str, str], ...]:
    """The reason for each operator that a cut leaves to the gateway. `most`: the result of the cut with the
    most in the network."""

    def reason(path: NodePath, node: physical.Node) -> str:
        if path in forced:
            return forced[path]
        if isinstance(most, Placement):
            return "cheaper than in the network"
        if all(below in cut.at_sink for below, _ in inputs_with_paths(path, node)):
            return "what it reads is made there"
        return f"in the network {most.message}"

    return tuple(
        (node.operator, reason(path, node))
        for path, node in walk_with_paths(cut.plan)
        if path in cut.at_sink and not (isinstance(node, physical.TimeWindow) and node.elided)
    )
