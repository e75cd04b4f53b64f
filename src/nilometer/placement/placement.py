"""A placement: everything that steps 4 to 7 decide about a query, and the costs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from nilometer.catalog.network import Network, NodeId
from nilometer.placement.agenda import Agenda
from nilometer.placement.buffering import Scheduler
from nilometer.placement.cost_parameters import CostParameters
from nilometer.placement.fragments import FragmentTree
from nilometer.placement.placed_plan import PlacedPlan
from nilometer.placement.profiles import PlacementProfile
from nilometer.placement.quality import QualityOfService
from nilometer.placement.routing_tree import RoutingTree
from nilometer.placement.site_plan import Estimate, SitePlan
from nilometer.placement.workload import workload
from nilometer.plan import physical


@dataclass(frozen=True)
class Alternative:
    """Another way to divide the plan between the network and the gateway: `in_network` names the operators
    that run on motes. If this way is not feasible, `estimate` is None and `reason` says why."""

    name: str
    in_network: tuple[str, ...]
    estimate: Estimate | None
    chosen: bool
    reason: str


@dataclass(frozen=True)
class Placement:
    """`plan` is the physical plan as it was placed (after the choices that depend on the network). `sites`
    has an entry for every site of the routing tree, in post-order. `at_gateway` lists the operators that the
    gateway runs, each with the reason."""

    plan: physical.Node
    network: Network
    quality: QualityOfService
    profile: PlacementProfile
    costs: CostParameters
    routing: RoutingTree
    fragments: FragmentTree
    placed: PlacedPlan
    agenda: Agenda
    sites: Mapping[NodeId, SitePlan]
    estimate: Estimate
    alternatives: tuple[Alternative, ...] = ()
    at_gateway: tuple[tuple[str, str], ...] = ()

    @property
    def beta(self) -> int:
        """The buffering factor: how many evaluations are sent together."""
        return self.agenda.beta

    @property
    def interval(self) -> int:
        """Microseconds between acquisitions."""
        return self.placed.population.interval

    @property
    def scheduler(self) -> Scheduler:
        """Makes the agendas of this plan for other buffering factors."""
        work = workload(self.placed, self.costs, self.profile)
        return Scheduler(work, self.network, self.interval, self.costs, self.profile)
