"""The mean time that each task of a site takes in a period: its expected work, not the time reserved for it.

The agenda reserves time for the most rows that an evaluation can have, and every slot has some slack. This
module gives the same operator models the rows that occur while every condition holds
(`placement.mean_volume`), and a slot takes only as long as its transmissions. Where packets are acknowledged,
that is the mean over the losses of the links, and at the receiver the whole slot. Tasks are distinguished by
their marks, as in the emulator.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import ceil, floor

from nilometer.catalog.network import NodeId
from nilometer.placement import CostParameters, Fragment, Placement
from nilometer.placement.acknowledgements import hop_of
from nilometer.placement.costs.aggregates import kept_float_steps
from nilometer.placement.costs.operators import duration
from nilometer.placement.mean_volume import (
    MeanVolume,
    Place,
    mean_fed,
    mean_rows,
    mean_volume_of,
    mean_volumes,
)
from nilometer.placement.packets import Load, bytes_for, packets_for
from nilometer.sensornet.motes.fields import passes_on, tuple_size
from nilometer.sensornet.motes.program import RECEIVE_MARK, SEND_MARK, producers_of
from nilometer.sensornet.motes.site import AgendaStep, Delivered, Motes
from nilometer.sensornet.motes.timekeeping import TICKS

Milliseconds = Mapping[int, float]
"""The time of each task of a site in one period, by mark."""


def expected_times(motes: Motes, costs: CostParameters | None = None) -> Mapping[NodeId, Milliseconds]:
    """The time that the tasks of every site take in a period."""
    work = _Work(
        motes, costs or motes.placement.costs, mean_volumes(motes.placement.placed, motes.typing.interval)
    )
    sent = {site: work.sending(site) for site in motes.placement.routing.post_order if motes.site(site).sends}
    found: dict[NodeId, dict[int, float]] = {}
    for identifier in motes.placement.routing.post_order:
        site = motes.site(identifier)
        times = {f.number + 1: work.computing(f, identifier) for f in (*site.leaves, *site.inner)}
        if site.sends:
            times[SEND_MARK] = sent[identifier]
        # A receiver listens from the start of the slot to the end of the last packet: as long as its child sends. One that
        # acknowledges listens to the end of the slot.
        for at, step in enumerate(step for step in site.steps if step.what == "receive"):
            times[RECEIVE_MARK + at] = _length(step) if motes.retries else sent[step.other]
        found[identifier] = times
    return found


def expected_energy(motes: Motes, times: Milliseconds) -> float:
    """Joules that the processor and radio of a site take in a period, given how long its tasks take. The
    processor computes in fragments, waits while the radio is on, and otherwise sleeps."""
    costs, agenda = motes.placement.costs, motes.placement.agenda
    sending = times.get(SEND_MARK, 0.0) / 1000
    receiving = sum(time for mark, time in times.items() if mark >= RECEIVE_MARK) / 1000
    computing = sum(time for mark, time in times.items() if mark < SEND_MARK) / 1000
    asleep = agenda.seconds(agenda.period) - sending - receiving - computing
    charge = (
        costs.cpu_active * computing
        + costs.cpu_idle * (sending + receiving)
        + costs.cpu_sleep * asleep
        + costs.radio_transmit * sending
        + costs.radio_receive * receiving
    )
    return costs.voltage * charge


@dataclass(frozen=True)
class _Work:
    motes: Motes
    costs: CostParameters
    given: Mapping[Place, MeanVolume]

    @property
    def placement(self) -> Placement:
        return self.motes.placement

    def computing(self, fragment: Fragment, site: NodeId) -> float:
        """Milliseconds of all evaluations of a fragment. For the fragment that delivers, those of the part
        below the gateway's, and of the serial line."""
        fed = mean_fed(self.placement.placed, fragment, site, self.given)
        trays = [
            len(self.motes.site(site).feeding(fragment.number, producers_of(fragment, number)))
            for number in fragment.producers
        ]
        if fragment.delivers:
            kinds = zip(self.motes.delivered, fed, trays, strict=True)
            return sum(self._handing_over(kind, rows, number) for kind, rows, number in kinds)
        interval, costs, root = self.motes.typing.interval, self.costs, fragment.root
        once = _looking(fed, trays, self.placement.beta, costs)
        for node, rows in mean_rows(root, interval, fed):
            once += 0.0 if passes_on(node) else duration(node, rows, interval, costs)
        kept = costs.keep_tuple + costs.calculate_float * kept_float_steps(root)
        return self.placement.beta * (once + kept * mean_volume_of(root, interval, iter(fed)).rows)

    def _handing_over(self, kind: Delivered, fed: MeanVolume, trays: int) -> float:
        """Milliseconds of all evaluations of one kind of rows that the sink hands to the gateway. The search
        for the next row overlaps with the transmission of the last one."""
        costs, beta = self.costs, self.placement.beta
        looking = beta * _looking((fed,), [trays], beta, costs)
        size = tuple_size(self.motes.typing.stored(kind.node, kind.ordered))
        return max(costs.deliver_tuple * (beta * fed.rows * size + costs.serial_frame), looking)

    def sending(self, site: NodeId) -> float:
        """Milliseconds of a slot, interpolated between the two nearest possible numbers of tuples in a
        period."""
        placed, beta = self.placement.placed, self.placement.beta
        tuples: dict[int, float] = {}
        for flow in placed.outgoing[site]:
            tuples[flow.fragment] = (
                tuples.get(flow.fragment, 0.0) + self.given[flow.fragment, flow.source].rows * beta
            )
        sizes = {flow.fragment: flow.size for flow in placed.outgoing[site]}
        over = max(number - floor(number) for number in tuples.values())
        fewer = [Load(floor(number + 1e-9), sizes[at]) for at, number in tuples.items()]
        more = [Load(ceil(number - 1e-9), sizes[at]) for at, number in tuples.items()]
        return (1 - over) * self._slot(site, fewer) + over * self._slot(site, more)

    def _slot(self, site: NodeId, loads: list[Load]) -> float:
        costs, wire = self.costs, self.placement.profile.wire
        # A slot without tuples still has one packet, which says that it is the last.
        packets = max(packets_for(loads, 1, costs.packet_room, wire), 1)
        content = bytes_for(loads, 1, packets, costs.packet_overhead, wire)
        once = packets * costs.send_packet + content * costs.transmit_byte
        if self.motes.retries:
            once = self._again(site, packets, once)
        apart = self.motes.timekeeping.guard_milliseconds  # in which the child sleeps
        return 2 * (costs.radio_sync_window - apart) + once

    def _again(self, site: NodeId, packets: int, once: float) -> float:
        """Milliseconds of packets that are sent until they are acknowledged. `once`: the time to send each of
        them once, in total."""
        costs = self.costs
        hop = hop_of(self.placement.network, site, self.placement.routing.parents[site])
        reserved = next(s.sendings for s in self.motes.site(site).steps if s.what == "send")
        sendings = hop.expected(packets, reserved or packets)
        answered = (
            sendings * hop.success
        )  # Wald: the mean number of transmissions times the share that succeeds
        waiting = answered * costs.transmit_acknowledgement
        waiting += (sendings - answered) * costs.await_acknowledgement
        return once * sendings / packets + waiting


def _length(step: AgendaStep) -> float:
    return (step.end - step.start) * 1000 / TICKS


def _looking(fed: tuple[MeanVolume, ...], trays: list[int], beta: int, costs: CostParameters) -> float:
    """Milliseconds that one evaluation takes to find its tuples among the waiting tuples of `beta`
    evaluations. A join searches the right trays again for each left tuple."""
    total, outer = 0.0, 1.0
    for volume, number in zip(fed, trays, strict=True):
        each = number * costs.open_tray + volume.rows * (costs.take_tuple + (beta - 1) * costs.scan_waiting)
        total, outer = total + outer * each, outer * volume.rows
    return total
