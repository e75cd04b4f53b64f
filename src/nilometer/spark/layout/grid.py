"""A grid of buckets, by which a join of several streams is divided if no one key is in all of them.

    WINDOW = 5 SECONDS WHERE a.x = b.x AND b.y = c.y          x in a and b, y in b and c

Each key is a dimension of the grid. A row of b has both keys, and goes to one bucket. A row of a has no y: it has a copy in
each bucket of its x. So every result is found in exactly one bucket, that of its row of b, and nothing is joined twice. This
is the HyperCube partitioning (Afrati and Ullman 2010, Beame, Koutris and Suciu 2013). An input without any key is a dimension
by itself, divided by its sources.

>>> chain = ((0,), (0, 1), (1,))
>>> shares_of(chain, 16), shares_of(chain, 5), shares_of(((0,), (1,)), 4)
((4, 4), (2, 2), (2, 2))
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from math import prod

import numpy as np
import polars as pl

from nilometer.algebra import JoinKind
from nilometer.expressions import Expression
from nilometer.kernels.arrays import Integers
from nilometer.operators.value_hashes import hashes_of
from nilometer.plan import physical
from nilometer.spark.layout.below import equalities
from nilometer.spark.layout.rewriting import has_source, source_of


@dataclass(frozen=True)
class Grid:
    """The place of an input in a join's grid. `inputs` are the dimensions of each input of the join, ascending; this is the
    input with the number `port`. Its keys are in the order of its dimensions."""

    inputs: tuple[tuple[int, ...], ...]
    port: int

    def shares(self, buckets: int) -> tuple[int, ...]:
        """How many parts each dimension has."""
        return shares_of(self.inputs, buckets)

    def copies(self, buckets: int) -> int:
        """How many buckets get each row."""
        own = self.inputs[self.port]
        return prod(share for place, share in enumerate(self.shares(buckets)) if place not in own)

    def spread(self, keys: Sequence[pl.Series], buckets: int) -> tuple[Integers, Integers]:
        """The rows bucket by bucket, in order within each, and where each bucket begins and the last ends."""
        shares = self.shares(buckets)
        strides = [prod(shares[:place]) for place in range(len(shares))]
        own = self.inputs[self.port]
        cells = np.zeros(len(keys[0]), dtype=np.int64)
        for place, values in zip(own, keys, strict=True):
            # Of two keys with equal values, other parts of the hash are used, so that all of the grid is filled.
            hashes = hashes_of(values) // np.uint64(strides[place])
            cells += (hashes % np.uint64(shares[place])).astype(np.int64) * strides[place]
        others = [place for place in range(len(shares)) if place not in own]
        offsets = [
            sum(number * strides[place] for number, place in zip(numbers, others, strict=True))
            for numbers in product(*(range(shares[place]) for place in others))
        ]
        chosen = (cells[None, :] + np.array(offsets, dtype=np.int64)[:, None]).ravel()
        order = np.argsort(chosen, kind="stable")
        return order % len(cells), np.searchsorted(chosen[order], np.arange(buckets + 1))


Gridded = tuple[tuple[tuple[Expression, ...], Grid], ...]
"""For each input of a join, its keys and its place in the grid."""


def grid_of(node: physical.Node) -> Gridded | None:
    """The grid that divides a join of streams; None if there is none. A join that also gives rows without a partner has none:
    the buckets with the copies of such a row would all give it. Nor has one whose memory is bounded: copies would count."""
    if (
        not isinstance(node, physical.WindowJoin)
        or node.kind is not JoinKind.INNER
        or node.memory is not None
    ):
        return None
    dimensions = [dict(each) for each in equalities(node).classes()]
    for port, child in enumerate(node.inputs):
        if not any(port in dimension for dimension in dimensions):
            if not has_source(child):
                return None
            dimensions.append({port: source_of(child)})
    ports = range(len(node.inputs))
    inputs = tuple(
        tuple(place for place, dimension in enumerate(dimensions) if port in dimension) for port in ports
    )
    return tuple(
        (tuple(dimensions[place][port] for place in inputs[port]), Grid(inputs, port)) for port in ports
    )


@lru_cache(maxsize=1_000)
def shares_of(inputs: tuple[tuple[int, ...], ...], buckets: int) -> tuple[int, ...]:
    """The parts of each dimension: those with which a bucket gets the fewest rows, if all inputs have as many."""
    dimensions = 1 + max(place for own in inputs for place in own)

    def load(shares: tuple[int, ...]) -> tuple[float, int]:
        return sum(1 / prod(shares[place] for place in own) for own in inputs), prod(shares)

    return min(_factors(dimensions, buckets), key=load)


def _factors(dimensions: int, product_: int) -> list[tuple[int, ...]]:
    """All numbers of parts whose product is at most this."""
    if not dimensions:
        return [()]
    return [
        (share, *rest)
        for share in range(1, product_ + 1)
        for rest in _factors(dimensions - 1, product_ // share)
    ]
