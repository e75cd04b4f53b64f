"""Clusters: sensors, each with the head it sends its readings to."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nilometer.errors import ConfigurationError
from nilometer.kernels.arrays import Integers

NO_HEAD = -1
"""Stands for no head: the node takes no part, like the sink."""


@dataclass(frozen=True, eq=False)
class Clusters:
    """`heads` are nodes, ascending. `head_of` gives each node's head, or NO_HEAD. A head is its own head."""

    heads: Integers
    head_of: Integers

    def __post_init__(self) -> None:
        if len(self.heads) == 0 or np.any(np.diff(self.heads) <= 0):
            raise ConfigurationError(
                "clusters without heads, or with heads out of order", hint="list each head once"
            )
        used = np.unique(self.head_of[self.head_of != NO_HEAD])
        if not np.array_equal(used, self.heads) or not np.array_equal(self.head_of[self.heads], self.heads):
            raise ConfigurationError(
                "a node belongs to a head that is none",
                hint="every head is its own head, and nobody else is a head",
            )

    @property
    def count(self) -> int:
        """The number of clusters."""
        return len(self.heads)

    def places(self) -> Integers:
        """For each node, the index of its head among the heads, or NO_HEAD."""
        place: Integers = np.searchsorted(self.heads, self.head_of)
        return np.where(self.head_of == NO_HEAD, NO_HEAD, place)

    def members(self, head: int) -> Integers:
        """The nodes of a head's cluster, itself included."""
        return np.flatnonzero(self.head_of == head)


def clusters_of(head_of: Integers) -> Clusters:
    """The clusters that follow from each node's head."""
    return Clusters(np.unique(head_of[head_of != NO_HEAD]), head_of)
