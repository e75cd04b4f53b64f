"""Placement: a physical plan and a network -> who does what, where and when (SNEE steps 4 to 7).

    place(plan, network, quality, profile) -> Placement

A `Placement` holds the four results in the order of their making, each a frozen value with a file of its own:

- `routing` (`RoutingTree`): the parent of each site that takes part; `post_order`, `path(site, ancestor)`.
- `fragments` (`FragmentTree` of `Fragment`): the plan cut at EXCHANGE. `fragment.operators` are the nodes of
  `plan.physical`, parents first; `fragment.with_exchanges` also shows where rows of its `producers` come in.
  Fragment 0 delivers, at the sink; if its `host` is not `mote` it is what the gateway (or Spark) runs.
- `placed` (`PlacedPlan`): an `Instance` for each fragment and site, a `Flow` from each instance to the one that consumes it,
  with its path, tuples an evaluation and bytes a tuple. `fragments_at[site]`, `outgoing[site]`, `incoming[site]`.
- `agenda` (`Agenda`): `acquisitions` (in every evaluation), `tasks` and `transfers` (once in a period), in ticks.
  `column[site]` is what a site does, `acquisitions_at[site]` what it does in every evaluation.

and beside them `sites[site]` (`SitePlan`: RAM, times, packets, energy by component), `estimate` (`Estimate`: of the network),
`costs` (`CostParameters`), and `alternatives` that were weighed.

SNEE's running example under `snee-2010` (Figs. 15, 17, 22): `routing.parents[6] == 3`; `fragments[1]` is the join,
`placed.sites_of[1] == (3,)`; `agenda.beta == 29`; the first transfer is `Transfer(source=6, target=3, ...)` with one flow
of F3, 29 packets, and starts at `agenda.milliseconds(transfer.start) == 25_200_034`.
A simulator runs `acquisitions` at `n * alpha + start` for each evaluation n < beta, then `tasks` and `transfers`; a code
generator reads `fragments_at[site]`, `column[site]` and `outgoing[site]`.

Importing this package imports neither Polars nor Spark.
"""

from nilometer.placement.agenda import Agenda, FragmentTask, Sleep, Task, Transfer
from nilometer.placement.cost_parameters import CostParameters, cost_parameters
from nilometer.placement.fragments import Fragment, FragmentTree
from nilometer.placement.place import place
from nilometer.placement.placed_plan import Flow, Instance, PlacedPlan
from nilometer.placement.placement import Alternative, Placement
from nilometer.placement.profiles import PLACEMENT_PROFILES, PlacementProfile, placement_profile
from nilometer.placement.quality import Bounds, Direction, Goal, Measure, QualityOfService
from nilometer.placement.routing_tree import RoutingTree
from nilometer.placement.site_plan import Energy, Estimate, SitePlan
from nilometer.placement.wire_format import WireFormat

__all__ = [
    "PLACEMENT_PROFILES",
    "Agenda",
    "Alternative",
    "Bounds",
    "CostParameters",
    "Direction",
    "Energy",
    "Estimate",
    "Flow",
    "Fragment",
    "FragmentTask",
    "FragmentTree",
    "Goal",
    "Instance",
    "Measure",
    "PlacedPlan",
    "Placement",
    "PlacementProfile",
    "QualityOfService",
    "RoutingTree",
    "SitePlan",
    "Sleep",
    "Task",
    "Transfer",
    "WireFormat",
    "cost_parameters",
    "place",
    "placement_profile",
]
