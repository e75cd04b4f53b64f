"""A network and costs -> the cost of sending a packet over each link, for routing (SNEE section 5.2.1: the
total energy cost).

A packet costs the sender E_tx and the receiver E_rx. Over a lossy link it is sent 1/quality times on average.
Where hops are acknowledged, the acknowledgement must arrive too (the expected transmissions of De Couto et
al., 2003). A joule weighs more at a node with little energy left than at one with much, so that nodes wear
out together. `Link.cost` is the user's own factor.
"""

from __future__ import annotations

from collections.abc import Mapping

from nilometer.catalog.network import Network, NodeId
from nilometer.placement.cost_parameters import CostParameters

Weights = Mapping[NodeId, tuple[tuple[NodeId, float], ...]]
"""For each node, the nodes that hear it and the cost of a packet to each."""


def link_weights(network: Network, costs: CostParameters) -> Weights:
    """The weights of all links, in joules of the node with the most energy; a node without energy has
    none."""
    listening = (costs.send_packet - costs.transmit_packet) * costs.radio_receive
    sending = (costs.transmit_packet + costs.transmit_byte * costs.packet_payload) * costs.radio_transmit
    sent = (listening + sending) * costs.voltage / 1000
    heard = (costs.send_packet + costs.transmit_byte * costs.packet_payload) * costs.radio_receive
    heard *= costs.voltage / 1000
    wear = _wear(network)
    found: dict[NodeId, tuple[tuple[NodeId, float], ...]] = {}
    for node in network.nodes:
        hearers = []
        for neighbour in network.neighbours(node.id):
            link = network.link(node.id, neighbour)
            if link is not None and node.id in wear and neighbour in wear:
                joules = sent * wear[node.id] + heard * wear[neighbour]
                back = network.link(neighbour, node.id) if network.retries else None
                through = link.quality * (1.0 if back is None else back.quality)
                hearers.append((neighbour, link.cost * joules / through))
        found[node.id] = tuple(hearers)
    return found


def _wear(network: Network) -> dict[NodeId, float]:
    """How much more a joule weighs at a node than at the node with the most energy. The sink does not run on
    a battery."""
    stocks = [node.energy for node in network.nodes if node.energy is not None and node.id != network.sink]
    most = max(stocks, default=0.0)
    wear = {}
    for node in network.nodes:
        if node.energy is None or node.id == network.sink:
            wear[node.id] = 1.0
        elif node.energy > 0:
            wear[node.id] = most / node.energy
    return wear
