"""The ring of 64-bit identifiers: who is where, and which arc a key is on (Chord; algorithms, section 6.1).

Intervals are circular. `(a, a]` is the whole ring, and `(a, a)` the whole ring without a.

>>> in_arc(5, 3, 8), in_arc(3, 3, 8), in_arc(8, 3, 8), in_arc(1, 250, 3)
(True, False, True, True)
>>> inside(8, 3, 8), inside(9, 3, 3), inside(3, 3, 3)
(False, True, False)
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from nilometer.kernels.arrays import Words

BITS = 64


@dataclass(frozen=True, slots=True, order=True)
class Contact:
    """A peer: its place on the ring, its name, and the address where it is reached."""

    id: int
    name: str
    address: str


def contact(name: str, address: str) -> Contact:
    """The peer of this name and address; its place is a hash of both.

    >>> contact("roof", "127.0.0.1:7001").id == contact("roof", "127.0.0.1:7001").id
    True
    """
    digest = hashlib.blake2b(f"{name}\0{address}".encode(), digest_size=8).digest()
    return Contact(int.from_bytes(digest, "big"), name, address)


def in_arc(key: int, after: int, upto: int) -> bool:
    """Whether the key is in (after, upto]: it belongs to `upto` if `after` is its predecessor."""
    if after < upto:
        return after < key <= upto
    return key > after or key <= upto


def inside(key: int, after: int, before: int) -> bool:
    """Whether the key is in (after, before)."""
    if after < before:
        return after < key < before
    return key > after or key < before


def in_arcs(keys: Words, after: int, upto: int) -> npt.NDArray[np.bool_]:
    """`in_arc` for many keys.

    >>> in_arcs(np.array([1, 5, 9], dtype=np.uint64), 8, 3).tolist()
    [True, False, True]
    """
    low, high = np.uint64(after), np.uint64(upto)
    above, below = keys > low, keys <= high
    return np.asarray(above & below if after < upto else above | below)


def distance(start: int, end: int, bits: int = BITS) -> int:
    """How far `end` is from `start`, clockwise."""
    return (end - start) % (1 << bits)
