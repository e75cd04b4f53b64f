"""The nodes of a network as a clustered run needs them: numbers, places, links, radio and batteries.

Nodes are numbered in the order of their ids, numbers before text: the order of readings at equal times follows it. A
network of the catalog brings its links and costs. Without one, the sensors' places make a network: radios reach a
little farther than it takes to connect all of them, and the sink stands in the middle.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from nilometer.catalog.near_misses import join_names
from nilometer.catalog.network import CostProfile, Network, NodeId
from nilometer.catalog.profiles import DEFAULT_PROFILE, cost_profile
from nilometer.errors import ConfigurationError
from nilometer.kernels.arrays import Booleans, Floats
from nilometer.placement.cost_parameters import cost_parameters
from nilometer.sensornet.radio_network import (
    Power,
    Radio,
    Topology,
    least_range,
    linked_topology,
    placed_topology,
)
from nilometer.types import MILLISECOND

SINK = "sink"
"""The id of the sink of a network that is made of places."""

_FARTHER = 1.25
"""How much farther radios reach than the longest gap."""

_MODERN = "nrf52840"
"""The costs of a network that nobody described."""


@dataclass(frozen=True, eq=False)
class MoteField:
    """`ids` are in the order of the numbers. `sensing` says who senses the stream. `capacity` is in joules."""

    ids: tuple[NodeId, ...]
    topology: Topology
    sink: int
    sensing: Booleans
    radio: Radio
    power: Power
    capacity: Floats
    retries: int
    described: str

    def number(self, node: NodeId) -> int:
        """The number of a node."""
        if node not in self.ids:
            raise ConfigurationError(
                f"there is no node {node!r}",
                hint=f"nodes are {join_names(map(str, self.ids[:10]), 'and')} ...",
            )
        return self.ids.index(node)

    def cluster_range(self, share: float) -> float:
        """The range of clusters that have that share of the area in which the sensors stand."""
        sides = np.ptp(self.topology.positions[self.sensing], axis=0)
        # Sensors in a line have no area: their clusters have a share of its length.
        area = float(sides[0] * sides[1])
        return float(np.sqrt(share * area)) if area > 0 else share * float(sides.max(initial=0.0))


def ordered_ids(ids: set[NodeId]) -> tuple[NodeId, ...]:
    """Numbers first, then text."""
    return tuple(sorted(ids, key=lambda each: (isinstance(each, str), each)))


def field_of_network(network: Network, stream: str) -> MoteField:
    """The field of a network of the catalog, whose nodes have places."""
    ids = ordered_ids({node.id for node in network.nodes})
    hosts = set(network.hosts(stream))
    if not hosts:
        raise ConfigurationError(
            f"no node of network '{network.name}' senses '{stream}'",
            hint="list the stream at its nodes (streams = [...]), or give sensors the ids of nodes",
        )
    nowhere = [node for node in ids if node in hosts and network.node(node).location is None]
    if nowhere:
        raise ConfigurationError(
            f"{join_names(map(str, nowhere), 'and')} of network '{network.name}' have no location",
            detail="clusters are formed by distance",
            hint="give the nodes locations: location = [12.0, 3.5]",
        )
    number = {node: place for place, node in enumerate(ids)}
    pairs = {tuple(sorted((number[link.source], number[link.target]))) for link in network.links}
    links = []
    for one, other in sorted(pairs):
        there, back = network.link(ids[one], ids[other]), network.link(ids[other], ids[one])
        assert there is not None
        assert back is not None
        links.append((one, other, there.quality, back.quality))
    places = [network.node(node).location or (0.0, 0.0) for node in ids]
    topology = replace(linked_topology(len(ids), links), positions=np.array(places, dtype=np.float64))
    energies = [network.node(node).energy for node in ids]
    capacity = np.array([np.inf if each is None else each for each in energies])
    profile = network.profile if network.profile.parameters else cost_profile(DEFAULT_PROFILE)
    return MoteField(
        ids,
        topology,
        number[network.sink],
        np.array([node in hosts for node in ids]),
        radio_of(profile),
        power_of(profile),
        capacity,
        network.retries,
        f"network '{network.name}', {profile.name}",
    )


def field_of_places(places: Mapping[NodeId, tuple[float, float]], seed: int) -> MoteField:
    """The field of sensors at these places, in metres, which nobody has connected."""
    ids = (*ordered_ids(set(places)), SINK)
    sensors = np.array([places[node] for node in ids[:-1]], dtype=np.float64)
    positions = np.concatenate((sensors, sensors.mean(axis=0, keepdims=True)))
    reach = _FARTHER * least_range(positions) or 1.0
    profile = cost_profile(_MODERN)
    return MoteField(
        ids,
        placed_topology(positions, reach, seed),
        len(ids) - 1,
        np.arange(len(ids)) < len(ids) - 1,
        radio_of(profile),
        power_of(profile),
        np.full(len(ids), np.inf),
        0,
        f"a network made of the sensors' places: radios reach {reach:,.{0 if reach >= 100 else 3}f} m, the sink is in the middle, {profile.name}",
    )


def radio_of(profile: CostProfile) -> Radio:
    """The radio of a cost profile: a full packet takes the profile's time, a shorter message its share."""
    costs = cost_parameters(profile)
    milliseconds = costs.send_packet + costs.between_packets + costs.packet_payload * costs.transmit_byte
    return Radio(
        bytes_per_second=max(1, round(costs.packet_payload / milliseconds * 1_000)),
        latency=5 * MILLISECOND,
        packet=costs.packet_room,
        header=int(costs.packet_overhead),
    )


def power_of(profile: CostProfile) -> Power:
    """The power of a cost profile's radio."""
    costs = cost_parameters(profile)
    return Power(costs.voltage * costs.radio_transmit, costs.voltage * costs.radio_receive)
