"""HEED: forms clusters from positions, energies and a cluster range (Younis and Fahmy 2004; SNJoin
section 7.2.3).

Nodes with more energy announce themselves as heads more often, the probabilities double from iteration to
iteration, and of heads that hear each other the cheaper one stays. Two details are easy to get wrong
(reference/algorithms.md 2.2):

- A tentative head steps down when it hears a cheaper one. Only nodes that are heads *now* count, not all that
  ever announced it.
- Nodes act one after the other, in random order, and are heard at once. In lock step, uncovered neighbours
  would all declare themselves in the last round. (With turns, no two heads that hear each other exist at
  once, and stepping down is for those who heard too late.)

The laws: every node is a head or within the range of its head; no two heads are within the range of each
other; there are no more than `iteration_bound` iterations.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import IntEnum, StrEnum

import numpy as np

from nilometer.errors import ConfigurationError
from nilometer.kernels.arrays import Booleans, Floats, Integers
from nilometer.sensornet.clusters.clusters import NO_HEAD, Clusters, clusters_of
from nilometer.sensornet.topology import distances_from


class MemberCost(StrEnum):
    """The cost by which heads are compared: a head is cheap if few members share it (DEGREE), if many do
    (DENSE), or if they reach it with little power (AMRP)."""

    DEGREE = "DEGREE"
    DENSE = "DENSE"
    AMRP = "AMRP"


@dataclass(frozen=True, slots=True)
class Heed:
    """The parameters. `cluster_range` is in the unit of the positions. `first_share` limits the first
    announcements, not the number of heads. `least_probability` bounds the iterations."""

    cluster_range: float
    first_share: float = 0.05
    least_probability: float = 1e-4
    cost: MemberCost = MemberCost.DEGREE

    def __post_init__(self) -> None:
        if not (self.cluster_range >= 0 and 0 < self.least_probability <= 1 and 0 < self.first_share <= 1):
            raise ConfigurationError(
                "HEED with impossible parameters",
                detail=f"range {self.cluster_range}, shares {self.first_share} and {self.least_probability}",
                hint="give a range of 0 or more, and probabilities above 0 and at most 1",
            )

    @property
    def iteration_bound(self) -> int:
        """The greatest number of iterations: those in which the least probability doubles up to 1, and the
        one that finds it at 1."""
        return math.ceil(math.log2(1 / self.least_probability)) + 1


@dataclass(frozen=True, eq=False)
class Formation:
    """The clusters, the number of iterations, and the number of heads that became heads only because no other
    head covered them."""

    clusters: Clusters
    iterations: int
    forced: int


class State(IntEnum):
    """The state of a node: no head, a tentative head, or a final one."""

    PLAIN = 0
    TENTATIVE = 1
    FINAL = 2


def form_clusters(
    positions: Floats,
    heed: Heed,
    seed: int,
    energies: Floats | None = None,
    taking_part: Booleans | None = None,
) -> Formation:
    """The clusters of the nodes that take part (None: all). `energies` are residual, as shares of a full
    battery (None: full)."""
    count = len(positions)
    nodes = np.arange(count) if taking_part is None else np.flatnonzero(taking_part)
    energy = np.ones(count) if energies is None else energies
    # Each node's neighbours, itself included: a turn looks at nothing else.
    in_range: dict[int, Integers] = {}
    for node in nodes.tolist():
        in_range[node] = nodes[distances_from(positions, node)[nodes] <= heed.cluster_range]
    rank = _ranks(positions, nodes, in_range, heed.cost)
    random = np.random.default_rng((seed, 2))
    state = np.zeros(count, dtype=np.int64)
    chance = np.maximum(heed.first_share * energy, heed.least_probability)
    working = nodes
    iterations = 0
    while len(working):
        iterations += 1
        working = random.permutation(working)
        draws = random.random(len(working))
        for node, draw in zip(working.tolist(), draws.tolist(), strict=True):
            state[node] = next_state(node, in_range[node], state, rank, float(chance[node]), draw)
        going_on = chance[working] < 1
        chance[working] = np.minimum(2 * chance[working], 1.0)
        working = working[going_on]
    head_of = np.full(count, NO_HEAD, dtype=np.int64)
    forced = 0
    for node in random.permutation(nodes).tolist():
        near = in_range[node]
        heads = near[state[near] == State.FINAL]
        if state[node] != State.FINAL and not len(heads):
            state[node] = State.FINAL
            forced += 1
    for node in nodes.tolist():
        near = in_range[node]
        heads = near[state[near] == State.FINAL]
        head_of[node] = node if state[node] == State.FINAL else heads[np.argmin(rank[heads])]
    return Formation(clusters_of(head_of), iterations, forced)


def next_state(node: int, near: Integers, state: Integers, rank: Integers, chance: float, draw: float) -> int:
    """The state of a node after its turn."""
    if state[node] == State.FINAL:
        return State.FINAL
    heads = near[state[near] != State.PLAIN]
    if len(heads):
        if heads[np.argmin(rank[heads])] != node:
            return State.PLAIN
        return State.FINAL if chance >= 1 else State.TENTATIVE
    if chance >= 1:
        return State.FINAL
    return State.TENTATIVE if draw <= chance else State.PLAIN


def _ranks(positions: Floats, nodes: Integers, in_range: dict[int, Integers], cost: MemberCost) -> Integers:
    """The ranks of the nodes by cost; of equal costs the smaller id comes first."""
    costs = np.zeros(len(positions))
    for node in nodes.tolist():
        near = in_range[node]
        others = len(near) - 1
        if cost is MemberCost.DEGREE:
            costs[node] = others
        elif cost is MemberCost.DENSE:
            costs[node] = 1 / others if others else math.inf
        else:
            # The least power that reaches a node grows with the square of the distance.
            away = distances_from(positions, node)[near]
            costs[node] = float((away**2).sum()) / others if others else 0.0
    rank = np.empty(len(positions), dtype=np.int64)
    rank[np.lexsort((np.arange(len(positions)), costs))] = np.arange(len(positions))
    return rank
