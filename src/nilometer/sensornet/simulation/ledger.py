"""The energy that each node spent: joules by component, from the agenda (which says when processor and radio
are on) and from the packets that were actually sent.

Every period costs a site the same, except for its packets, so a stretch of many periods is one
multiplication. Nodes that take no part in the plan are switched off and cost nothing, as in SNEE's figures.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields

import numpy as np

from nilometer.catalog.network import Network, NodeId
from nilometer.kernels.arrays import Floats, Integers
from nilometer.placement import Energy, Placement
from nilometer.placement.acknowledgements import expected_sendings_of
from nilometer.sensornet.simulation.books import RadioBooks
from nilometer.sensornet.simulation.clocks import Clocks
from nilometer.sensornet.simulation.site_numbers import SiteNumbers

COMPONENTS: tuple[str, ...] = tuple(entry.name for entry in fields(Energy))
"""The components, in the order of the ledger's columns."""

_ACTIVE, _RECEIVE, _TRANSMIT = map(COMPONENTS.index, ("cpu_active", "radio_receive", "radio_transmit"))


class EnergyLedger:
    """Joules by node (in the network's order) and component. The sink does not run on a battery: its joules
    are counted, but its stock is unlimited."""

    def __init__(self, network: Network) -> None:
        self.nodes: tuple[NodeId, ...] = tuple(node.id for node in network.nodes)
        self._row = {node: row for row, node in enumerate(self.nodes)}
        self.joules: Floats = np.zeros((len(self.nodes), len(COMPONENTS)))
        self.once: Floats = np.zeros(len(self.nodes))  # joules outside any agenda, included in the sum
        self.seconds: Floats = np.zeros(len(self.nodes))  # the time in which a node took part
        self.stock: Floats = np.array(
            [np.inf if n.energy is None or n.id == network.sink else n.energy for n in network.nodes]
        )

    def add(self, numbers: SiteNumbers, books: RadioBooks, periods: Floats, clocks: Clocks | None) -> None:
        """Count `periods` periods of each site (by site number; a fraction for a site that died within
        one)."""
        rows = self.rows(numbers.sites)
        self.joules[rows] += _joules(numbers, books, periods, clocks)
        self.seconds[rows] += periods * numbers.placement.estimate.period

    def rows(self, sites: Sequence[NodeId]) -> Integers:
        """The places of nodes in the ledger."""
        return np.array([self._row[site] for site in sites], dtype=np.int64)

    def spend(self, node: NodeId, **joules: float) -> None:
        """Count energy that no agenda includes, by component."""
        for component, amount in joules.items():
            self.joules[self._row[node], COMPONENTS.index(component)] += amount
            self.once[self._row[node]] += amount

    def of(self, node: NodeId) -> Energy:
        """The energy that a node has spent."""
        return Energy(*map(float, self.joules[self._row[node]]))

    def left(self, node: NodeId) -> float:
        """The energy left in its battery."""
        row = self._row[node]
        return float(self.stock[row] - self.joules[row].sum())


def most_in_a_period(numbers: SiteNumbers, clocks: Clocks | None) -> Floats:
    """The most that each site can spend in a period: the maximum over sending as much as it can or nothing,
    and acknowledging all or nothing. (Listening may cost more than sending.)"""
    most: Floats = np.zeros(len(numbers))
    for sends in (True, False):
        for answers in (True, False):
            books = RadioBooks.empty(len(numbers))
            for transfer in numbers.placement.agenda.transfers:
                place = numbers.number[transfer.source]
                if sends:
                    books.sent[place] = transfer.sendings
                    books.bytes[place] = transfer.sendings * numbers.placement.costs.packet_payload
                if answers and transfer.reserved is not None:
                    books.acknowledged[numbers.number[transfer.target]] += transfer.reserved
            spent = _joules(numbers, books, np.ones(len(numbers)), clocks).sum(axis=1)
            most = np.maximum(most, spent)
    return most


def _joules(numbers: SiteNumbers, books: RadioBooks, periods: Floats, clocks: Clocks | None) -> Floats:
    """Joules as [site, component]."""
    placement = numbers.placement
    costs = placement.costs
    plans = [placement.sites[site] for site in numbers.sites]
    planned = np.array([[getattr(plan.energy, component) for component in COMPONENTS] for plan in plans])
    found: Floats = planned * periods[:, None]
    radio = np.array([plan.radio_time for plan in plans]) * periods
    longer = _listening(placement, numbers, clocks) * periods + _sending(numbers, books, periods)
    packets = books.sent * costs.transmit_packet + books.bytes * costs.transmit_byte
    transmitting = (packets + books.acknowledged * costs.transmit_acknowledgement) / 1000
    found[:, _RECEIVE] = costs.voltage * costs.radio_receive * (radio + longer - transmitting)
    found[:, _TRANSMIT] = costs.voltage * costs.radio_transmit * transmitting
    found[:, _ACTIVE] += costs.voltage * (costs.cpu_active - costs.cpu_sleep) * longer
    return found


def _sending(numbers: SiteNumbers, books: RadioBooks, periods: Floats) -> Floats:
    """How much longer than expected each site sends. Where packets are acknowledged, a site sleeps once all
    are."""
    placement = numbers.placement
    found = np.zeros(len(numbers))
    if placement.agenda.sleeps_alone:
        for transfer in placement.agenda.transfers:
            if transfer.reserved is not None:
                place = numbers.number[transfer.source]
                expected = expected_sendings_of(placement.network, transfer) * periods[place]
                found[place] += (books.sent[place] - expected) * transfer.beat / 1000
    return found


def _listening(placement: Placement, numbers: SiteNumbers, clocks: Clocks | None) -> Floats:
    """How much longer each site listens in a period because clocks drift: around the slot of each of its
    children."""
    found = np.zeros(len(numbers))
    if clocks is not None:
        agenda = placement.agenda
        more = clocks.listening(agenda.seconds(agenda.period))
        for transfer in agenda.transfers:
            found[numbers.number[transfer.target]] += more
    return found
