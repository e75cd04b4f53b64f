"""A workload and a buffering factor -> an agenda (SNEE step 7, when-scheduling, Fig. 21).

`serial_agenda` is SNEE's, as in its released code: a transfer starts when the last task anywhere in the
network has ended, and costs in milliseconds are added to times in 1/1024 s without conversion.
`concurrent_agenda` is ours: a transfer starts as soon as its sender has all its inputs, both ends are free,
and no site that it would disturb is on the air. Radios wake before their slot and stay on from one slot to
the next.
"""

from __future__ import annotations

from math import ceil
from typing import NamedTuple

from nilometer.catalog.network import Network, NodeId
from nilometer.placement.acknowledgements import hop_of
from nilometer.placement.agenda import Agenda, FragmentTask, Transfer
from nilometer.placement.concurrent_transfers import schedule_transfers
from nilometer.placement.cost_parameters import CostParameters
from nilometer.placement.packets import bytes_for, packets_for
from nilometer.placement.placed_plan import Flow
from nilometer.placement.profiles import PlacementProfile
from nilometer.placement.workload import Job, Workload
from nilometer.types import SECOND


def build_agenda(
    work: Workload,
    network: Network,
    interval: int,
    beta: int,
    costs: CostParameters,
    profile: PlacementProfile,
) -> Agenda:
    """The agenda of a period of `beta` evaluations, `interval` microseconds apart. It may take longer than
    its period."""
    clock = _Clock(network, costs, profile)
    alpha = -(-interval * profile.tick_rate // SECOND)
    if profile.serial:
        return _serial_agenda(work, alpha, beta, clock)
    return _concurrent_agenda(work, network, alpha, beta, clock)


class _Sending(NamedTuple):
    """The packets of a hop and the ticks of its slot; the transmissions reserved for them (None: one each),
    and the milliseconds of each."""

    packets: int
    length: int
    reserved: int | None = None
    beat: float = 0.0

    def between(self, site: NodeId, parent: NodeId, start: int, flows: tuple[Flow, ...]) -> Transfer:
        """The transfer that starts at that time."""
        end = start + self.length
        return Transfer(site, parent, start, end, flows, self.packets, self.reserved, self.beat)


class _Clock:
    """Milliseconds of the cost models -> ticks of the agenda."""

    def __init__(self, network: Network, costs: CostParameters, profile: PlacementProfile) -> None:
        self.network = network
        self.costs = costs
        self.profile = profile
        self.shortest = self.ticks(costs.minimum_timer_interval)
        self.turn_on, self.turn_off = self.ticks(costs.turn_on_radio), self.ticks(costs.turn_off_radio)
        guard = costs.call_method + costs.signal_event + 2 * costs.radio_sync_window
        if profile.serial:  # SNEE adds waking and sleeping to every slot
            guard += costs.turn_on_radio + costs.turn_off_radio
            self.turn_on = self.turn_off = 0
        self.overhead = self.ticks(guard)

    def ticks(self, milliseconds: float) -> int:
        """Rounded up. The paper's code takes one millisecond for one tick of 1/1024 s."""
        exact = (
            milliseconds if self.profile.paper_arithmetic else milliseconds * self.profile.tick_rate / 1000
        )
        return ceil(exact - 1e-9)

    def task(self, milliseconds: float) -> int:
        """The length of a fragment's task."""
        reserved = milliseconds * (1 + self.costs.task_margin)
        return max(self.shortest, self.ticks(reserved)) if milliseconds > 0 else 0

    def transfer(self, work: Workload, site: NodeId, beta: int) -> _Sending:
        """The packets of a hop and the ticks that they take."""
        costs, loads = self.costs, work.sites[site].loads
        packets = packets_for(loads, beta, costs.packet_room, self.profile.wire)
        sent = bytes_for(loads, beta, packets, costs.packet_overhead, self.profile.wire)
        each = costs.send_packet + costs.between_packets
        if not self.network.retries:
            return _Sending(packets, self.slot(packets * each + sent * costs.transmit_byte))
        reserved = hop_of(self.network, site, work.placed.routing.parents[site]).reserved(packets)
        longest = min(costs.packet_payload, sent)
        beat = each + longest * costs.transmit_byte + costs.await_acknowledgement
        return _Sending(packets, self.slot(reserved * beat), reserved, beat)

    def slot(self, milliseconds: float) -> int:
        """The length of a slot in which a site sends for that long."""
        costs = self.costs
        return self.overhead + self.ticks(milliseconds * (1 + costs.slot_margin) + costs.slot_slack)

    def job(self, work: Workload, job: Job, beta: int) -> int:
        """The length of a task that runs once for all evaluations of a period."""
        if job.fragment != 0:
            return self.task(job.together(beta))
        return self._delivery(work, job, beta)

    def _delivery(self, work: Workload, job: Job, beta: int) -> int:
        """The length of DELIVER's task: its computation and the serial line."""
        costs = self.costs
        if self.profile.paper_arithmetic:
            rows = work.delivered[0].rows
            once = int(job.milliseconds + costs.deliver_tuple * work.serial_packets_per_row * rows)
            return max(self.shortest, once * beta + self.overhead)
        content = sum(load.tuples(beta) * load.size for load in work.delivered)
        frames = len(work.delivered) * int(costs.serial_frame)
        packets = -(-(content + frames) // int(costs.serial_payload))
        return self.task(job.together(beta) + costs.deliver_tuple * packets)


def _acquisitions(work: Workload, clock: _Clock) -> tuple[list[FragmentTask], dict[NodeId, int]]:
    """The tasks of every evaluation, and when each site is free again in it."""
    tasks: list[FragmentTask] = []
    free: dict[NodeId, int] = {}
    for site, site_work in work.sites.items():
        free[site] = 0
        for job in site_work.leaves:
            end = free[site] + clock.task(job.milliseconds)
            tasks.append(FragmentTask(site, job.fragment, free[site], end))
            free[site] = end
    return tasks, free


def _serial_agenda(work: Workload, alpha: int, beta: int, clock: _Clock) -> Agenda:
    routing = work.placed.routing
    acquisitions, free = _acquisitions(work, clock)
    last = alpha * (beta - 1)
    free = {site: last + end for site, end in free.items()}
    latest = max(free.values())
    tasks: list[FragmentTask] = []
    transfers: list[Transfer] = []
    for site, site_work in work.sites.items():
        for job in site_work.others:
            length = clock.job(work, job, beta)
            tasks.append(FragmentTask(site, job.fragment, free[site], free[site] + length))
            free[site] += length
            latest = max(latest, free[site])
        if site_work.loads:
            sent = clock.transfer(work, site, beta)
            parent = routing.parents[site]
            transfers.append(sent.between(site, parent, latest, work.placed.outgoing[site]))
            latest += sent.length
            free[site] = free[parent] = latest
    return _agenda(work, alpha, beta, clock, acquisitions, tasks, transfers)


def _concurrent_agenda(work: Workload, network: Network, alpha: int, beta: int, clock: _Clock) -> Agenda:
    routing = work.placed.routing
    acquisitions, acquired = _acquisitions(work, clock)
    last = alpha * (beta - 1)
    computing: dict[NodeId, list[tuple[int, int]]] = {}
    sending: dict[NodeId, _Sending] = {}
    for site, site_work in work.sites.items():
        computing[site] = [(job.fragment, clock.job(work, job, beta)) for job in site_work.others]
        if site_work.loads:
            sending[site] = clock.transfer(work, site, beta)
    lengths = {site: sent.length for site, sent in sending.items()}
    thinking = {site: sum(length for _, length in jobs) for site, jobs in computing.items()}
    # A radio needs time to wake, even for a site that has nothing to do before its first slot.
    ready = {site: max(end, clock.turn_on) for site, end in acquired.items()}
    starts = schedule_transfers(network, routing, ready, thinking, lengths)
    tasks: list[FragmentTask] = []
    transfers: list[Transfer] = []
    gathered = dict(acquired)
    for site in routing.post_order:
        at = last + gathered[site]
        for fragment, length in computing[site]:
            tasks.append(FragmentTask(site, fragment, at, at + length))
            at += length
        if site in sending:
            sent, parent = sending[site], routing.parents[site]
            transfers.append(sent.between(site, parent, last + starts[site], work.placed.outgoing[site]))
            gathered[parent] = max(gathered[parent], starts[site] + sent.length)
    return _agenda(work, alpha, beta, clock, acquisitions, tasks, transfers)


def _agenda(
    work: Workload,
    alpha: int,
    beta: int,
    clock: _Clock,
    acquisitions: list[FragmentTask],
    tasks: list[FragmentTask],
    transfers: list[Transfer],
) -> Agenda:
    return Agenda(
        tuple(work.sites),
        alpha,
        beta,
        clock.profile.tick_rate,
        tuple(acquisitions),
        tuple(tasks),
        tuple(sorted(transfers, key=lambda transfer: transfer.start)),
        clock.profile.sleeps_alone,
        clock.turn_on,
        clock.turn_off,
    )
