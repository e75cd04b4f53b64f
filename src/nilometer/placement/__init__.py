"""Placement: a physical plan and a network -> which site does what, and when (SNEE steps 4 to 7).

    place(plan, network, quality, profile) -> Placement

A `Placement` holds four results, in the order in which they are made. Each is a frozen value with a file of
its own:

- `routing` (`RoutingTree`): the parent of each site that takes part; `post_order`, `path(site, ancestor)`.
- `fragments` (`FragmentTree` of `Fragment`): the plan cut at EXCHANGE. `fragment.operators` are the nodes of
  `plan.physical`, parents first; `fragment.with_exchanges` also shows where the rows of its `producers` come
  in. Fragment 0 delivers the answer at the sink. If its `host` is not `mote`, the gateway (or Spark) runs it.
- `placed` (`PlacedPlan`): an `Instance` for each fragment and site, and a `Flow` from each instance to its
  consumer, with the path, the tuples per evaluation and the bytes per tuple. `fragments_at[site]`,
  `outgoing[site]`, `incoming[site]`.
- `agenda` (`Agenda`): `acquisitions` (in every evaluation), `tasks` and `transfers` (once in a period), in
  ticks. `column[site]` lists what a site does once in a period, `acquisitions_at[site]` what it does in every
  evaluation.

Beside them it holds `sites[site]` (`SitePlan`: RAM, times, packets, energy by component), `estimate`
(`Estimate`: the whole network), `costs` (`CostParameters`), and the `alternatives` that were compared.

SNEE's running example under `snee-2010` (Figs. 15, 17, 22): `routing.parents[6] == 3`; `fragments[1]` is the
join, `placed.sites_of[1] == (3,)`; `agenda.beta == 29`; the first transfer is `Transfer(source=6, target=3,
...)` with one flow of F3, 29 packets, and starts at `agenda.milliseconds(transfer.start) == 25_200_034`. A
simulator runs `acquisitions` at `n * alpha + start` for each evaluation n < beta, then `tasks` and
`transfers`; a code generator reads `fragments_at[site]`, `column[site]` and `outgoing[site]`.

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
