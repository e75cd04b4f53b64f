"""The routes of least expected transmissions from one node to every other (Woo, Tong, Culler 2003).

A link costs 1 / (p_forward * p_backward): the number of times a packet is sent until it and its
acknowledgement arrive. Routes are found by Dijkstra's algorithm. Of routes with equal cost the one with fewer
hops wins, then the one found from the smaller node.

>>> from nilometer.sensornet.topology import linked_topology
>>> routes = find_routes(linked_topology(3, [(0, 2, 0.5, 0.5), (0, 1, 1, 1), (1, 2, 1, 0.5)]), 0)
>>> routes.path(2), float(routes.transmissions[2])
((0, 1, 2), 3.0)
"""

from __future__ import annotations

from dataclasses import dataclass

import numba
import numpy as np

from nilometer.errors import ConfigurationError
from nilometer.kernels.arrays import Floats, Integers
from nilometer.kernels.read_only import read_only
from nilometer.sensornet.topology import Topology


@dataclass(frozen=True, eq=False)
class Routes:
    """The routes from one source to every node: expected transmissions (infinite: unreachable), hops (-1:
    unreachable) and the previous node."""

    source: int
    transmissions: Floats
    hops: Integers
    before: Integers

    def reaches(self, target: int) -> bool:
        """Whether the target can be reached."""
        return bool(self.hops[target] >= 0)

    def path(self, target: int) -> tuple[int, ...]:
        """The nodes from the source to the target, both included."""
        if not self.reaches(target):
            raise ConfigurationError(
                f"no route from node {self.source} to node {target}",
                hint="give the radios a longer range, or more nodes between the two",
            )
        nodes = [target]
        while nodes[-1] != self.source:
            nodes.append(int(self.before[nodes[-1]]))
        return tuple(reversed(nodes))


def find_routes(topology: Topology, source: int) -> Routes:
    """The routes from this node."""
    costs = 1.0 / (topology.forward * topology.backward)
    found = _dijkstra(read_only(topology.starts), read_only(topology.targets), read_only(costs), source)
    return Routes(source, *found)


@numba.njit(cache=True)
def _dijkstra(starts, targets, costs, source):  # type: ignore[no-untyped-def]
    # A scan for the nearest node, not a heap: fields have a few thousand nodes, with dozens of links each.
    count = len(starts) - 1
    total = np.full(count, np.inf)
    hops = np.full(count, -1, dtype=np.int64)
    before = np.full(count, -1, dtype=np.int64)
    settled = np.zeros(count, dtype=np.bool_)
    total[source] = 0.0
    hops[source] = 0
    while True:
        node = -1
        for other in range(count):
            if settled[other] or hops[other] < 0:
                continue
            if (
                node < 0
                or total[other] < total[node]
                or (total[other] == total[node] and hops[other] < hops[node])
            ):
                node = other
        if node < 0:
            return total, hops, before
        settled[node] = True
        for place in range(starts[node], starts[node + 1]):
            target = targets[place]
            cost = total[node] + costs[place]
            fewer = cost == total[target] and hops[node] + 1 < hops[target]
            if not settled[target] and (cost < total[target] or fewer):
                total[target] = cost
                hops[target] = hops[node] + 1
                before[target] = node
