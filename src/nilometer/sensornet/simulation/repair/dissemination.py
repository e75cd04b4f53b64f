"""Two placements -> the cost of turning one into the other: packets from the sink, hop by hop, and bytes
written into flash.

A site whose program changes gets the whole program. One packet is enough for a site that gets other
neighbours, starts or stops taking part, or gets other times. (The released code of SNEE counts in the same
way.)
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import pairwise

from nilometer.catalog.network import NodeId
from nilometer.errors import NilometerError
from nilometer.placement import FragmentTask, Placement, Transfer
from nilometer.sensornet.motes.estimate import flash_estimate
from nilometer.sensornet.motes.site import motes_of

FLASH_CURRENT = 0.015
"""Amperes while flash is written (Mica2)."""
FLASH_CYCLES = 20
"""Processor cycles to write a byte into flash."""

RUNTIME_BYTES, OPERATOR_BYTES = 1500, 250
"""The approximate bytes of a mote's program where the code generator has none: runtime, and each operator."""


@dataclass(frozen=True)
class Dissemination:
    """Which nodes are told what, the packets (each counted on every hop), and the joules of each node,
    including the sink."""

    reprogrammed: tuple[NodeId, ...] = ()
    redirected: tuple[NodeId, ...] = ()
    activated: tuple[NodeId, ...] = ()
    deactivated: tuple[NodeId, ...] = ()
    shifted: tuple[NodeId, ...] = ()
    packets: int = 0
    joules: Mapping[NodeId, float] = field(default_factory=dict)

    @property
    def energy(self) -> float:
        """Joules of all nodes together."""
        return sum(self.joules.values())


def program_bytes(placement: Placement) -> Mapping[NodeId, int]:
    """The size of each site's program, as the code generator expects it."""
    try:
        motes = motes_of(placement)
        return {site: flash_estimate(motes, site) for site in placement.routing.post_order}
    except NilometerError:
        operators = {
            site: sum(len(fragment.operators) for fragment in fragments)
            for site, fragments in placement.placed.fragments_at.items()
        }
        return {site: RUNTIME_BYTES + OPERATOR_BYTES * (1 + count) for site, count in operators.items()}


def disseminate(
    old: Placement,
    new: Placement,
    *,
    prepared: Mapping[NodeId, NodeId] | None = None,
    whole: bool = False,
) -> Dissemination:
    """The dissemination from the old placement to the new one. `prepared`: nodes that already hold another
    node's program, so that all slots stay. `whole`: the compiler made all programs again, so every site whose
    neighbours or flows changed gets its program again."""
    stand_ins = {spare: site for site, spare in (prepared or {}).items()}
    reprogrammed: list[NodeId] = []
    redirected: list[NodeId] = []
    activated: list[NodeId] = []
    shifted: list[NodeId] = []
    for site in reversed(new.routing.post_order):
        if site == new.routing.sink:
            continue
        if site in stand_ins:
            activated.append(site)
        elif site not in old.routing or not _program(new, site) <= _program(old, site):
            reprogrammed.append(site)
        elif (
            _program(new, site) != _program(old, site)
            or _hears(old, site) != _hears(new, site)
            or (_loads(old, site) != _loads(new, site) and prepared is None)
        ):
            (reprogrammed if whole else redirected).append(site)
        elif _times(old, site) != _times(new, site):
            shifted.append(site)
    alive = {node.id for node in new.network.nodes}
    deactivated = [s for s in old.routing.post_order if s not in new.routing and s in alive]
    bill = _Bill(new)
    sizes = program_bytes(new) if reprogrammed else {}
    for site in reprogrammed:
        bill.image(site, sizes[site])
    for site in (*redirected, *activated, *shifted):
        bill.note(site)
    for site in deactivated:
        bill.note(
            old.routing.parents[site] if old.routing.parents.get(site) in new.routing else new.routing.sink, 1
        )
    return Dissemination(
        tuple(reprogrammed),
        tuple(redirected),
        tuple(activated),
        tuple(deactivated),
        tuple(shifted),
        bill.packets,
        bill.joules,
    )


def preloaded(placement: Placement, spares: Mapping[NodeId, tuple[NodeId, ...]]) -> Dissemination:
    """The cost of preparing spares: the program of each site goes to each of its stand-ins, by way of the
    site's parent."""
    bill = _Bill(placement)
    told = []
    sizes = program_bytes(placement)
    for site, nodes in spares.items():
        for spare in nodes:
            bill.image(placement.routing.parents[site], sizes[site], last=spare)
            told.append(spare)
    return Dissemination(reprogrammed=tuple(told), packets=bill.packets, joules=bill.joules)


class _Bill:
    """Packets and joules, summed along the routing tree."""

    def __init__(self, placement: Placement) -> None:
        self._placement = placement
        self.packets = 0
        self.joules: dict[NodeId, float] = {}
        costs = placement.costs
        on_air = costs.transmit_packet + costs.transmit_byte * costs.packet_payload
        whole = costs.send_packet + costs.transmit_byte * costs.packet_payload
        processor = costs.cpu_active * whole
        heard = costs.radio_receive * whole
        sent = costs.radio_transmit * on_air + costs.radio_receive * (whole - on_air)
        self._sending = costs.voltage * (sent + processor) / 1000
        self._hearing = costs.voltage * (heard + processor) / 1000

    def note(self, site: NodeId, further: int = 0) -> None:
        """One packet to a site, and on to a neighbour of it."""
        self._carry(site, 1)
        if further:
            self.packets += 1
            self._spend(site, self._sending)

    def image(self, site: NodeId, size: int, last: NodeId | None = None) -> None:
        """A program to a site (or to its neighbour `last`), written into flash there."""
        costs = self._placement.costs
        packets = -(-size // costs.packet_room)
        self._carry(site, packets)
        if last is not None:
            self.packets += packets
            self._spend(site, packets * self._sending)
            self._spend(last, packets * self._hearing)
        flash = costs.voltage * FLASH_CURRENT * FLASH_CYCLES * size / costs.clock_rate
        self._spend(site if last is None else last, flash)

    def _carry(self, site: NodeId, packets: int) -> None:
        routing = self._placement.routing
        path = routing.path(site, routing.sink)
        self.packets += packets * (len(path) - 1)
        for hearer, sender in pairwise(path):
            self._spend(sender, packets * self._sending)
            self._spend(hearer, packets * self._hearing)

    def _spend(self, node: NodeId, joules: float) -> None:
        self.joules[node] = self.joules.get(node, 0.0) + joules


def _program(placement: Placement, site: NodeId) -> frozenset[int]:
    """The fragments that decide a site's code. A fragment that is no longer needed (merging what comes from
    only one child) does no harm, and stays until the compiler makes all programs again."""
    return frozenset(fragment.number for fragment in placement.placed.fragments_at[site])


def _hears(placement: Placement, site: NodeId) -> object:
    """The site to which it sends, and those it hears."""
    return placement.routing.parents[site], frozenset(placement.routing.children[site])


def _loads(placement: Placement, site: NodeId) -> object:
    """The most tuples that it sends."""
    flows = placement.placed.outgoing[site]
    return sorted((flow.fragment, flow.consumer, flow.rows) for flow in flows)


def _times(placement: Placement, site: NodeId) -> object:
    def slot(task: FragmentTask | Transfer) -> tuple[int, int]:
        return task.start, task.end

    agenda = placement.agenda
    return agenda.beta, tuple(map(slot, agenda.column[site])), tuple(map(slot, agenda.acquisitions_at[site]))
