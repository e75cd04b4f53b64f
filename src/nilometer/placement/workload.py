"""A placed plan -> the work and the memory of each site, in numbers: everything that scheduling needs and
that beta does not change."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from nilometer.catalog.network import NodeId
from nilometer.placement.cost_parameters import CostParameters
from nilometer.placement.costs.aggregates import kept_float_steps
from nilometer.placement.costs.memory import memory
from nilometer.placement.costs.operators import acquisition, duration
from nilometer.placement.costs.rows import Rows, operator_rows
from nilometer.placement.costs.serial_line import serial_packets_per_row
from nilometer.placement.fragments import Fragment
from nilometer.placement.packets import Load, check_fits, loads_of
from nilometer.placement.placed_plan import PlacedPlan
from nilometer.placement.population import Population
from nilometer.placement.profiles import PlacementProfile
from nilometer.placement.tuple_layout import tuple_layout
from nilometer.placement.volume import Volume, volume_of
from nilometer.placement.where import fed_volumes
from nilometer.plan import physical


@dataclass(frozen=True, slots=True)
class Job:
    """A fragment at a site: the milliseconds of one evaluation, those of them in which the sensor board
    works, and the bytes it keeps. `scanning`: milliseconds that one evaluation takes to skip the waiting
    tuples of one other evaluation."""

    fragment: int
    milliseconds: float
    sensing: float
    ram: int
    scanning: float = 0.0

    def together(self, beta: int) -> float:
        """Milliseconds of all evaluations of a period. Each evaluation looks through the waiting tuples of
        all of them."""
        return (self.milliseconds + self.scanning * beta) * beta


@dataclass(frozen=True, slots=True)
class SiteWork:
    """The work of a site. `leaves` run in every evaluation, `others` once in a period for all its
    evaluations. `loads` cross the hop to its parent. `buffer` is the number of bytes it keeps per evaluation
    of a period."""

    leaves: tuple[Job, ...]
    others: tuple[Job, ...]
    loads: tuple[Load, ...]
    buffer: int

    @property
    def ram(self) -> int:
        """The bytes of its fragments, which do not depend on beta."""
        return sum(job.ram for job in (*self.leaves, *self.others))


@dataclass(frozen=True)
class Workload:
    """The work of every site, in post-order. `delivered` is the load of the sink's serial line."""

    placed: PlacedPlan
    sites: Mapping[NodeId, SiteWork]
    delivered: tuple[Load, ...]
    serial_packets_per_row: int


def workload(placed: PlacedPlan, costs: CostParameters, profile: PlacementProfile) -> Workload:
    """The work of each site; refuses a tuple that no packet can hold."""
    wire = profile.wire
    for fragment in placed.fragments:
        if any(flow.fragment == fragment.number and not flow.local for flow in placed.flows):
            check_fits(
                f"fragment {fragment.name} ({', '.join(fragment.root.schema.names)})",
                tuple_layout(fragment.root, wire, placed.population).size,
                costs.packet_room,
                wire,
                fixed=profile.in_network,
            )
    known: dict[tuple[int, tuple[Volume, ...]], Job] = {}
    sites: dict[NodeId, SiteWork] = {}
    for site in placed.routing.post_order:
        jobs: list[tuple[Fragment, Job]] = []
        for fragment in placed.fragments_at[site]:
            incoming = (
                (flow.fragment, Volume(flow.rows, flow.windows, flow.stride))
                for flow in placed.incoming[site]
                if flow.consumer == fragment.number
            )
            fed = fed_volumes(fragment, incoming)
            key = (fragment.number, fed)
            if key not in known:
                known[key] = _job(fragment, fed, placed.population, costs, profile)
            jobs.append((fragment, known[key]))
        passing = placed.outgoing[site]
        kept = [*passing, *placed.incoming[site]]
        sites[site] = SiteWork(
            tuple(job for fragment, job in jobs if fragment.is_leaf),
            tuple(job for fragment, job in jobs if not fragment.is_leaf),
            loads_of(passing, wire),
            sum(-(-flow.rows * flow.size // flow.stride) for flow in kept),
        )
    first = placed.fragments[0]
    if first.host == "mote":
        row = next(i.rows for i in placed.instances if i.fragment == 0)
        delivered: tuple[Load, ...] = (Load(row, tuple_layout(first.root, wire, placed.population).size),)
    else:
        delivered = loads_of(placed.incoming[placed.routing.sink], wire)
    return Workload(placed, sites, delivered, serial_packets_per_row(first.root, costs))


def _job(
    fragment: Fragment,
    fed: tuple[Volume, ...],
    population: Population,
    costs: CostParameters,
    profile: PlacementProfile,
) -> Job:
    paper, interval = profile.paper_arithmetic, population.interval
    total, sensing, ram = 0.0, 0.0, 0
    if fragment.host != "mote":
        return Job(fragment.number, 0.0, 0.0, 0)  # the gateway's time and memory do not count for the network
    for node, rows in _rows(fragment, fed, interval):
        total += duration(node, rows, interval, costs, paper=paper)
        if paper:
            total = int(total)  # the code adds into an integer
        if isinstance(node, physical.SpAcquire):
            sensing += acquisition(node, costs)
        ram += memory(node, rows, population, costs, profile.wire)
    if not fragment.delivers:
        kept = costs.keep_tuple + costs.calculate_float * kept_float_steps(fragment.root)
        total += kept * volume_of(fragment.root, interval, iter(fed)).rows
    if paper:
        return Job(fragment.number, int(total), sensing, ram)
    opened, scanned = _looked_through(fed)
    total += costs.open_tray * opened + costs.take_tuple * scanned
    return Job(fragment.number, total, sensing, ram, costs.scan_waiting * scanned)


def _looked_through(fed: tuple[Volume, ...]) -> tuple[int, int]:
    """How often one evaluation searches for its tuples among those that wait, and how many tuples it looks at
    while those of one evaluation wait. A join looks at the right tuples again for each left one. Tuples that
    came by radio may wait apart from those made at the site."""
    opened, looked, outer = 0, 0, 1
    for volume in fed:
        opened += 2 * outer
        looked += outer * volume.rows
        outer *= max(volume.rows, 1)
    return opened, looked


def _rows(fragment: Fragment, fed: tuple[Volume, ...], interval: int) -> list[tuple[physical.Node, Rows]]:
    """The operators of a fragment, inputs first, each with the most rows of an evaluation."""

    def given(node: physical.Node, below: tuple[Volume, ...]) -> Volume:
        alone = node.with_inputs(tuple(map(physical.Exchange, node.inputs))) if below else node
        return volume_of(alone, interval, iter(below))

    return operator_rows(fragment.root, fed, given)
