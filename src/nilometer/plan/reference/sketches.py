"""DDSketch and HyperLogLog in plain Python, one value at a time; and the hash of a value.

kernels/sketches.py says where they come from. Hashes are XXH64's rounds over the value's words, as everywhere in the
system: the hash is a part of what APPROX_COUNT_DISTINCT means.
"""

from __future__ import annotations

import bisect
import math
import struct
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cache
from typing import Any

ACCURACY = 0.01
GAMMA = (1 + ACCURACY) / (1 - ACCURACY)
LEAST = 1e-300

RANKS = 50
REGISTERS = 1 << 14

_WORD = (1 << 64) - 1
_PRIMES = (
    0x9E3779B185EBCA87,
    0xC2B2AE3D27D4EB4F,
    0x165667B19E3779F9,
    0x85EBCA77C2B2AE63,
    0x27D4EB2F165667C5,
)


# ---- DDSketch --------------------------------------------------------------------------------------------------------


@cache
def bounds() -> list[float]:
    """The upper bounds of the buckets, ascending."""
    found = [LEAST]
    while math.isfinite(found[-1]):
        found.append(found[-1] * GAMMA)
    return found


def bucket(value: float) -> int:
    """The number of a value's bucket: 0 is zero, negative ones mirror the positive ones."""
    place = bisect.bisect_left(bounds(), abs(float(value)))
    return place if value > 0 else -place


def middle(number: int) -> float:
    """The value that stands for a bucket."""
    if number == 0:
        return 0.0
    bound = bounds()[abs(number)]
    value = bounds()[abs(number) - 1] if math.isinf(bound) else bound * 2 / (GAMMA + 1)
    return math.copysign(value, number)


# ---- hashes ----------------------------------------------------------------------------------------------------------


def _rotated(value: int, bits: int) -> int:
    return (value << bits | value >> (64 - bits)) & _WORD


def _hash(start: int, words: Iterable[int]) -> int:
    one, two, three, four, five = _PRIMES
    value = (five + start) & _WORD
    for word in words:
        mixed = _rotated(word * two & _WORD, 31) * one & _WORD
        value = (_rotated(value ^ mixed, 27) * one + four) & _WORD
    value = (value ^ value >> 33) * two & _WORD
    value = (value ^ value >> 29) * three & _WORD
    return value ^ value >> 32


def hash_of(value: Any) -> int:
    """The hash of a value in 64 bits; equal numbers have the same one."""
    match value:
        case bool():
            return _hash(8, [0x74727565 if value else 0x66616C7365])
        case int():
            return _hash(8, [value & _WORD])
        case float() if -(2.0**63) <= value < 2.0**63 and value == math.floor(value):
            return _hash(8, [int(value) & _WORD])
        case float():
            return _hash(16, struct.unpack("<Q", struct.pack("<d", value)))
        case _:
            data = str(value).encode()
            return _hash(
                len(data), (int.from_bytes(data[at : at + 8], "little") for at in range(0, len(data), 8))
            )


# ---- HyperLogLog -----------------------------------------------------------------------------------------------------


def count_distinct(hashes: Iterable[int]) -> int:
    """The estimated number of different hashes."""
    registers = [0] * REGISTERS
    for hashed in hashes:
        rest = hashed % (1 << RANKS)
        index = hashed >> RANKS
        registers[index] = max(registers[index], RANKS - rest.bit_length() + 1)
    counts = Counter(registers)
    return cardinality([counts[rank] for rank in range(RANKS + 2)])


def cardinality(counts: Sequence[int]) -> int:
    """The estimated number of different values; counts[k] registers have the value k, of REGISTERS in all."""
    if counts[0] == REGISTERS:
        return 0
    total = REGISTERS * _tau(1 - counts[RANKS + 1] / REGISTERS)
    for rank in range(RANKS, 0, -1):
        total = 0.5 * (total + counts[rank])
    total += REGISTERS * _sigma(counts[0] / REGISTERS)
    return round(REGISTERS * REGISTERS / (2 * math.log(2)) / total)


def _sigma(x: float) -> float:
    """x + sum of x^(2^k) 2^(k-1) over k >= 1."""
    if x == 1:
        return math.inf
    weight, total = 1.0, x
    while True:
        x *= x
        before = total
        total += x * weight
        weight += weight
        if total == before:
            return total


def _tau(x: float) -> float:
    """(1 - x - sum of (1 - x^(2^-k))^2 2^-k over k >= 1) / 3."""
    if x in (0.0, 1.0):
        return 0.0
    weight, total = 1.0, 1 - x
    while True:
        x = math.sqrt(x)
        before = total
        weight *= 0.5
        total -= (1 - x) ** 2 * weight
        if total == before:
            return total / 3
