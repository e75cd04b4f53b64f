"""A death -> the possible repairs, each with its cost and the lifetime it gives, and the best of them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from math import inf

from nilometer.catalog.near_misses import join_names
from nilometer.catalog.network import Network, NodeId
from nilometer.errors import NilometerError
from nilometer.placement import Placement, place
from nilometer.placement.sources import sources_of
from nilometer.sensornet.simulation.repair.dissemination import Dissemination, disseminate
from nilometer.sensornet.simulation.repair.overlay import Overlay, stand_in
from nilometer.sensornet.simulation.repair.rebuilt import pinned_sites, rebuilt
from nilometer.sensornet.simulation.repair.rerouting import reroute
from nilometer.sensornet.simulation.repair.surviving_plan import surviving_plan
from nilometer.sensornet.simulation.repair.survivors import survivors

STRATEGIES = ("local", "partial", "global")
"""The repair that must tell the least comes first."""

ALIKE = 0.001
"""Lifetimes that differ by a smaller share count as equal. Then the repair that tells less is better."""


@dataclass(frozen=True)
class Repair:
    """A way to go on. `lifetime`: seconds from now, after the dissemination, until the first node runs out of
    energy (None: no node can). If the repair is not feasible, `placement` is None and `reason` says why.
    `lost`: sources that are dead or cut off."""

    strategy: str
    placement: Placement | None
    dissemination: Dissemination
    lifetime: float | None
    lost: tuple[NodeId, ...]
    reason: str = ""

    @property
    def feasible(self) -> bool:
        """Whether it is possible."""
        return self.placement is not None


def repairs(
    placement: Placement,
    dead: Collection[NodeId],
    energy: Mapping[NodeId, float] | None = None,
    overlay: Overlay | None = None,
) -> tuple[Repair, ...]:
    """All three repairs, in the order of STRATEGIES. `energy`: joules left, by node; without it, the
    network's own figures."""
    network, cut_off = survivors(placement.network, dead, energy)
    alive = {node.id for node in network.nodes}
    lost = tuple(site for site in placement.routing.sources if site not in alive)
    plan = surviving_plan(placement.plan, placement.network, network)
    gone = [name for name in _sensed(placement) if not network.hosts(name)]
    if plan is None:
        reason = _nobody(gone, placement.network, cut_off)
        return tuple(Repair(way, None, Dissemination(), None, lost, reason) for way in STRATEGIES)

    def local() -> tuple[Placement, Dissemination]:
        found, instead = stand_in(placement, network, dead, overlay or Overlay({}))
        return found, disseminate(placement, found, prepared=instead)

    def partial() -> tuple[Placement, Dissemination]:
        sources = sources_of(placement.plan, network).sites(network)
        tree = reroute(placement.routing, network, dead, sources, placement.costs)
        pinned = {n: site for n, site in pinned_sites(placement).items() if site in alive}
        found = rebuilt(placement, network, tree, pinned)
        return found, disseminate(placement, found)

    def everything() -> tuple[Placement, Dissemination]:
        found = place(plan, network, placement.quality, placement.profile)
        return found, disseminate(placement, found, whole=True)

    ways: dict[str, Callable[[], tuple[Placement, Dissemination]]] = {
        "local": local,
        "partial": partial,
        "global": everything,
    }
    result = []
    for strategy in STRATEGIES:
        if gone and strategy != "global":
            reason = f"{_nobody(gone, placement.network, cut_off)}: what is left is another plan"
            result.append(Repair(strategy, None, Dissemination(), None, lost, reason))
            continue
        try:
            found, told = ways[strategy]()
            result.append(Repair(strategy, found, told, _lifetime(found, network, told), lost))
        except NilometerError as error:
            result.append(Repair(strategy, None, Dissemination(), None, lost, error.message))
    return tuple(result)


def _sensed(placement: Placement) -> list[str]:
    """The streams that the plan acquires in the network."""
    acquires = (acquire for fragment in placement.fragments.leaves for acquire in fragment.acquires)
    return list(dict.fromkeys(acquire.stream.name for acquire in acquires))


def _nobody(gone: list[str], before: Network, cut_off: Collection[NodeId]) -> str:
    """A sentence that says which nodes sense these streams and cannot be heard."""
    stranded = [site for site in before.hosts(gone[0]) if site in cut_off]
    if not stranded:
        return f"nobody senses '{gone[0]}' any more"
    names = join_names(map(str, stranded), "and")
    return f"no way to the sink is left for who senses '{gone[0]}': {names}"


def best_repair(found: Collection[Repair]) -> Repair | None:
    """The repair with which the network lives longest; among equals, the one that tells least."""
    feasible = [repair for repair in found if repair.feasible]
    if not feasible:
        return None
    longest = max(_or_ever(repair.lifetime) for repair in feasible)
    alike = [r for r in feasible if _or_ever(r.lifetime) >= longest * (1 - ALIKE) or longest == inf]
    return min(alike, key=lambda repair: repair.dissemination.packets)


def _or_ever(lifetime: float | None) -> float:
    return inf if lifetime is None else lifetime


def _lifetime(placement: Placement, network: Network, told: Dissemination) -> float | None:
    """Seconds until the first site runs out of energy."""
    period = placement.estimate.period
    found = []
    for site, plan in placement.sites.items():
        stock = network.node(site).energy
        if stock is not None and site != network.sink:
            found.append(max(0.0, stock - told.joules.get(site, 0.0)) / plan.energy.total * period)
    return min(found, default=None)
