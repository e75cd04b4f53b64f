"""HyperLogLog: hashes -> (register, rank) pairs; the pairs of each group -> an estimate of how many hashes
were different.

A pair is one number, register x 64 + rank. The estimate of a group depends only on the set of its pairs, so
pairs may be made in any order, on any host, and doubles may be dropped at any time: a group has at most
16,384 x 51 pairs. `plan.reference.sketches` has the naive twin.
"""

from __future__ import annotations

import math
from typing import Any

import numba
import numpy as np
import numpy.typing as npt

from nilometer.kernels.arrays import Integers, Words
from nilometer.kernels.read_only import read_only
from nilometer.kernels.sketches import INDEX_BITS, RANKS, REGISTERS

_SCALE = REGISTERS * REGISTERS / (2 * math.log(2))


def pairs_of(hashes: Words) -> npt.NDArray[np.int32]:
    """The pair of each hash: the upper bits are its register, the leading zeros of the rest its rank."""
    return np.asarray(_pairs_of(read_only(hashes)), dtype=np.int32)


def estimates(pairs: npt.NDArray[np.int32], offsets: Integers) -> Integers:
    """The estimate of each group, whose pairs are pairs[offsets[i]:offsets[i + 1]]; doubles do no harm."""
    return np.asarray(_estimates(read_only(pairs), read_only(offsets)), dtype=np.int64)


@numba.njit(cache=True)
def _pairs_of(hashes):  # type: ignore[no-untyped-def]
    pairs = np.empty(len(hashes), dtype=np.int32)
    for place in range(len(hashes)):
        rest = hashes[place] << np.uint64(INDEX_BITS)
        rank = 1
        while rank <= RANKS and not rest >> np.uint64(63):
            rest = rest << np.uint64(1)
            rank += 1
        pairs[place] = np.int32(hashes[place] >> np.uint64(RANKS)) * 64 + rank
    return pairs


@numba.njit(cache=True)
def _estimates(pairs, offsets):  # type: ignore[no-untyped-def]
    found = np.zeros(len(offsets) - 1, dtype=np.int64)
    registers = np.zeros(REGISTERS, dtype=np.int64)
    counts = np.zeros(RANKS + 2, dtype=np.int64)
    for group in range(len(found)):
        start, end = offsets[group], offsets[group + 1]
        if start == end:
            continue
        counts[:] = 0
        counts[0] = REGISTERS
        for place in range(start, end):
            register, rank = pairs[place] >> 6, pairs[place] & 63
            held = registers[register]
            if rank > held:
                counts[held] -= 1
                counts[rank] += 1
                registers[register] = rank
        for place in range(start, end):
            registers[pairs[place] >> 6] = 0
        total = REGISTERS * _tau(1 - counts[RANKS + 1] / REGISTERS)
        for rank in range(RANKS, 0, -1):
            total = 0.5 * (total + counts[rank])
        total += REGISTERS * _sigma(counts[0] / REGISTERS)
        found[group] = np.int64(np.rint(_SCALE / total))
    return found


@numba.njit(cache=True)
def _sigma(x: Any) -> Any:
    weight, total, before = 1.0, x, -1.0
    while total != before:
        x *= x
        before = total
        total += x * weight
        weight += weight
    return total


@numba.njit(cache=True)
def _tau(x: Any) -> Any:
    if x in (0.0, 1.0):
        return 0.0
    weight, total, before = 1.0, 1 - x, -1.0
    while total != before:
        x = math.sqrt(x)
        before = total
        weight *= 0.5
        total -= (1 - x) ** 2 * weight
    return total / 3
