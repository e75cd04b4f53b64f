"""The ways of readings from sensors to their heads, of which there are many alike: they are counted in bulk.

Readings wait for no radio: they are short and spread over time. With losses, a reading arrives with the probability of
its way; it is sent as often as expected.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from math import prod

import numpy as np

from nilometer.kernels.acknowledged_sendings import expected_sendings
from nilometer.kernels.arrays import Booleans, Floats, Integers
from nilometer.sensornet.clusters.clusters import Clusters
from nilometer.sensornet.radio_network import EnergyMeter, Network, Radio, Traffic


@dataclass(frozen=True, eq=False)
class Ways:
    """For each node its way to its head: hops (0: it is its own head, or has none), transmissions of a packet over all
    links, the probability that it arrives, and the path with the transmissions over each link."""

    radio: Radio
    hops: Integers
    transmissions: Floats
    arrives: Floats
    paths: dict[int, tuple[tuple[int, ...], tuple[float, ...]]]

    @classmethod
    def of(cls, network: Network, clusters: Clusters) -> Ways:
        """The ways of the members of all clusters. Refuses a member that cannot reach its head."""
        count = network.topology.nodes
        hops, transmissions, arrives = np.zeros(count, dtype=np.int64), np.zeros(count), np.ones(count)
        paths = {}
        for head in clusters.heads.tolist():
            for node in clusters.members(head).tolist():
                if node == head:
                    continue
                # A link costs the same in both directions, and so does the route; the error names both ends.
                path = tuple(reversed(network.path(head, node)))
                links = tuple(reversed(network.links(head, node)))
                if network.losses is not None:
                    qualities = [network.topology.quality(*pair) for pair in pairwise(path)]
                    retries = network.losses.retries
                    links = tuple(
                        expected_sendings(1, there * back, retries, retries + 1) for there, back in qualities
                    )
                    arrives[node] = prod(network.losses.arrives(there) for there, _ in qualities)
                hops[node], transmissions[node] = len(links), sum(links)
                paths[node] = path, links
        return cls(network.radio, hops, transmissions, arrives, paths)

    def takes(self, size: int) -> Integers:
        """The microseconds that a message of that size takes from each node."""
        pairs = zip(self.hops.tolist(), self.transmissions.tolist(), strict=True)
        return np.array(
            [self.radio.delay(size, hops, sent) if hops else 0 for hops, sent in pairs], dtype=np.int64
        )

    def traffic(self, streams: Integers, size: int, delay: int) -> Traffic:
        """The traffic of one message of each of these streams, which took that long together."""
        carried = int(self.hops[streams].sum())
        return Traffic(
            int(np.count_nonzero(self.hops[streams])),
            carried,
            carried * self.radio.bytes_on_air(size),
            float(self.transmissions[streams].sum()),
            delay,
        )

    def charge(self, energy: EnergyMeter, streams: Integers, size: int) -> None:
        """Charge one message of each of these streams."""
        for node, messages in zip(
            *(each.tolist() for each in np.unique(streams, return_counts=True)), strict=True
        ):
            if node in self.paths:
                energy.charge(*self.paths[node], size, messages)

    def through(self, node: int) -> Booleans:
        """The nodes whose way leads over this one, or ends there."""
        found = np.zeros(len(self.hops), dtype=np.bool_)
        found[[member for member, (path, _) in self.paths.items() if node in path[1:]]] = True
        return found
