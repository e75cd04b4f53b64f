"""The order in which a probing sequence visits the heads: always the nearest one not visited yet, or, as a
distributed MJoin does it, by the average selectivity of their members (SNJoin section 7.2.3).

>>> tour(np.array([[0.0, 9.0, 1.0], [9.0, 0.0, 2.0], [1.0, 2.0, 0.0]]), 0).tolist()
[2, 1]
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from nilometer.kernels.arrays import Floats, Integers
from nilometer.sensornet.clusters.clusters import NO_HEAD, Clusters
from nilometer.sensornet.radio_network import Network
from nilometer.sensornet.snjoin.readings import Readings


def head_distances(network: Network, heads: Integers) -> Floats:
    """Expected transmissions between each pair of heads."""
    return np.array([network.routes(head).transmissions[heads] for head in heads.tolist()])


def tour(distances: Floats, origin: int) -> Integers:
    """The other heads, by place, in the order of a walk that starts at the origin."""
    waiting = np.ones(len(distances), dtype=np.bool_)
    here, order = origin, []
    for _ in range(len(distances) - 1):
        waiting[here] = False
        here = int(np.argmin(np.where(waiting, distances[here], np.inf)))
        order.append(here)
    return np.array(order, dtype=np.int64)


def selective_tours(clusters: Clusters, seen: Readings) -> list[Integers]:
    """For each head, the others in descending order of the average selectivity of their members, by readings that
    were seen before. The selectivity of a member, for a head, is the probability that a reading of the member has
    the value of a reading in the head's cluster. Of equal clusters the first comes first."""
    places = clusters.places()
    distinct, code = np.unique(seen.value, return_inverse=True)
    # shares[node, value]: which part of a node's readings has the value.
    shares = np.zeros((len(clusters.head_of), len(distinct)))
    np.add.at(shares, (seen.stream, code), 1.0)
    own = np.zeros((clusters.count, len(distinct)))
    for place in range(clusters.count):
        own[place] = shares[places == place].sum(axis=0)
    own /= np.maximum(own.sum(axis=1, keepdims=True), 1.0)
    shares /= np.maximum(shares.sum(axis=1, keepdims=True), 1.0)
    members = np.stack(
        [shares[(places == place) & (places != NO_HEAD)].mean(axis=0) for place in range(clusters.count)]
    )
    selectivity = own @ members.T
    orders = np.argsort(-selectivity, axis=1, kind="stable")
    return [order[order != place] for place, order in enumerate(orders)]


def longest_tour(network: Network, heads: Integers, tours: list[Integers], size: int) -> int:
    """Microseconds until a message of that size has reached the last head of the longest tour. A query's
    `delay` must cover it."""
    longest = 0
    for origin, order in enumerate(tours):
        nodes = heads[np.concatenate((np.array([origin], dtype=np.int64), order))].tolist()
        longest = max(longest, sum(network.delay(a, b, size) for a, b in pairwise(nodes)))
    return longest
