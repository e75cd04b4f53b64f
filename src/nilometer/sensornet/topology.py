"""Positions and a radio range -> which nodes hear each other, and how well.

A link's quality is the probability that a packet arrives. It is 1 in the near half of the range and falls
towards its edge, with separate noise in each direction: the connected and the transitional region that Woo,
Tong and Culler measured (the routing that SNJoin section 7.2.3 refers to). Links are stored by their first
node: those of node i are `starts[i]:starts[i + 1]`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from nilometer.errors import ConfigurationError
from nilometer.kernels.arrays import Floats, Integers

EDGE_QUALITY = 0.5
"""The share of packets that arrive at the very edge of the range."""

NOISE = 0.1
LEAST_QUALITY = 0.05


@dataclass(frozen=True, eq=False)
class Topology:
    """Nodes 0 ... n - 1 and their links. `forward` is the quality from the node that stores the link,
    `backward` the quality towards it."""

    positions: Floats
    starts: Integers
    targets: Integers
    forward: Floats
    backward: Floats

    @property
    def nodes(self) -> int:
        """The number of nodes."""
        return len(self.positions)

    def neighbours(self, node: int) -> Integers:
        """The nodes that it hears, ascending."""
        return self.targets[self.starts[node] : self.starts[node + 1]]

    def quality(self, node: int, other: int) -> tuple[float, float]:
        """The quality of the link from one node to the other, and back."""
        start, end = int(self.starts[node]), int(self.starts[node + 1])
        place = start + int(np.searchsorted(self.targets[start:end], other))
        return float(self.forward[place]), float(self.backward[place])

    def distances(self, node: int) -> Floats:
        """The distances from this node to every node."""
        return distances_from(self.positions, node)

    def without(self, dead: Iterable[int]) -> Topology:
        """The same nodes, but no node hears the dead ones any more."""
        gone = np.zeros(self.nodes, dtype=np.bool_)
        gone[list(dead)] = True
        owners = np.repeat(np.arange(self.nodes), np.diff(self.starts))
        kept = ~(gone[owners] | gone[self.targets])
        return _held(
            self.positions, owners[kept], self.targets[kept], self.forward[kept], self.backward[kept]
        )


def placed_topology(positions: Floats, radio_range: float, seed: int) -> Topology:
    """Nodes at these positions, which hear each other up to that distance."""
    count = len(positions)
    lower: list[Integers] = []
    upper: list[Integers] = []
    lengths: list[Floats] = []
    for node in range(count):
        away = distances_from(positions, node)[node + 1 :]
        near = np.flatnonzero(away <= radio_range)
        lower.append(np.full(len(near), node, dtype=np.int64))
        upper.append(near + node + 1)
        lengths.append(away[near])
    first, second, length = (
        np.concatenate(parts) if parts else np.empty(0) for parts in (lower, upper, lengths)
    )
    random = np.random.default_rng((seed, 1))
    ideal = 1.0 - (1.0 - EDGE_QUALITY) * np.clip(2.0 * length / radio_range - 1.0, 0.0, 1.0)
    noise = random.normal(0.0, NOISE, (2, len(length))) * (length > radio_range / 2)
    there, back = np.clip(ideal + noise, LEAST_QUALITY, 1.0)
    return _held(
        positions,
        np.concatenate((first, second)).astype(np.int64),
        np.concatenate((second, first)).astype(np.int64),
        np.concatenate((there, back)),
        np.concatenate((back, there)),
    )


def linked_topology(count: int, links: Iterable[tuple[int, int, float, float]]) -> Topology:
    """Nodes without positions, with these links: (from, to, quality there, quality back)."""
    rows = list(links)
    for source, target, there, back in rows:
        if not (0 <= source < count and 0 <= target < count and source != target):
            raise ConfigurationError(
                f"a link {source} - {target} among {count} nodes", hint="name two of the nodes"
            )
        if not (0 < there <= 1 and 0 < back <= 1):
            raise ConfigurationError(
                f"link {source} - {target} has a quality out of range",
                detail=f"qualities are {there} and {back}",
                hint="quality is the probability that a packet arrives: above 0 and at most 1",
            )
    owners = np.array([row[0] for row in rows] + [row[1] for row in rows], dtype=np.int64)
    targets = np.array([row[1] for row in rows] + [row[0] for row in rows], dtype=np.int64)
    forward = np.array([row[2] for row in rows] + [row[3] for row in rows], dtype=np.float64)
    backward = np.array([row[3] for row in rows] + [row[2] for row in rows], dtype=np.float64)
    return _held(np.zeros((count, 2)), owners, targets, forward, backward)


def uniform_positions(count: int, seed: int) -> Floats:
    """That many random positions in the unit square."""
    return np.random.default_rng((seed, 0)).random((count, 2))


def least_range(positions: Floats) -> float:
    """The shortest radio range at which every node reaches every other: the longest edge of the minimum
    spanning tree."""
    count = len(positions)
    if count < 2:
        return 0.0
    away = distances_from(positions, 0)
    waiting = np.ones(count, dtype=np.bool_)
    waiting[0] = False
    longest = 0.0
    for _ in range(count - 1):
        node = int(np.argmin(np.where(waiting, away, np.inf)))
        longest = max(longest, float(away[node]))
        waiting[node] = False
        away = np.minimum(away, distances_from(positions, node))
    return longest


def distances_from(positions: Floats, node: int) -> Floats:
    """The distances from one position to all of them."""
    # The order is the same for every pair and both directions: a node that hears another must be heard by it.
    offsets = np.abs(positions - positions[node])
    away: Floats = np.hypot(offsets[:, 0], offsets[:, 1])
    return away


def _held(
    positions: Floats, owners: Integers, targets: Integers, forward: Floats, backward: Floats
) -> Topology:
    order = np.lexsort((targets, owners))
    starts = np.zeros(len(positions) + 1, dtype=np.int64)
    np.cumsum(np.bincount(owners, minlength=len(positions)), out=starts[1:])
    return Topology(positions, starts, targets[order], forward[order], backward[order])
