"""Hashes values to 64 bits, the same on every machine and for ever, and divides hashes into buckets.

Whole numbers, bit patterns and texts are mixed with XXH64's rounds and primes; hashes of several columns are
folded into one. A bucket is the upper part of hash x buckets, so that any number of buckets is filled evenly.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
import numpy.typing as npt

from nilometer.kernels.arrays import Integers, Words
from nilometer.kernels.read_only import read_only

PRIME_1 = np.uint64(0x9E3779B185EBCA87)
PRIME_2 = np.uint64(0xC2B2AE3D27D4EB4F)
PRIME_3 = np.uint64(0x165667B19E3779F9)
PRIME_4 = np.uint64(0x85EBCA77C2B2AE63)
PRIME_5 = np.uint64(0x27D4EB2F165667C5)
LIMIT = 2.0**63
NOT_A_NUMBER = np.uint64(0x7FF8000000000000)


def hash_words(words: npt.NDArray[Any]) -> Words:
    """The hashes of 64-bit words, whatever they represent."""
    return np.asarray(_hash_words(read_only(words.view(np.uint64))), dtype=np.uint64)


def hash_floats(values: npt.NDArray[np.float64]) -> Words:
    """The hashes of floats: a whole number has the hash of the equal integer, any other float that of its
    bits."""
    return np.asarray(_hash_floats(read_only(values), read_only(values.view(np.uint64))), dtype=np.uint64)


def hash_texts(data: npt.NDArray[np.uint8], offsets: Integers) -> Words:
    """The hashes of texts: the bytes data[offsets[i]:offsets[i + 1]] of each."""
    return np.asarray(_hash_texts(read_only(data), read_only(offsets)), dtype=np.uint64)


def fold(first: Words, second: Words) -> Words:
    """One hash of two, in this order."""
    return np.asarray(_fold(read_only(first), read_only(second)), dtype=np.uint64)


def fold_runs(hashes: Words, offsets: Integers) -> Words:
    """One hash of each run hashes[offsets[i]:offsets[i + 1]], of its length and of its members in order."""
    return np.asarray(_fold_runs(read_only(hashes), read_only(offsets)), dtype=np.uint64)


def in_buckets(hashes: Words, buckets: int) -> tuple[npt.NDArray[np.uint32], Integers]:
    """The places of the hashes bucket by bucket, in order within each, and where each bucket begins and the
    last ends."""
    order, starts = _in_buckets(read_only(hashes), np.uint64(buckets))
    return order, starts


@numba.njit(cache=True, inline="always")
def _rotate(value, bits):  # type: ignore[no-untyped-def]
    return (value << np.uint64(bits)) | (value >> np.uint64(64 - bits))


@numba.njit(cache=True, inline="always")
def _round(value, word):  # type: ignore[no-untyped-def]
    return _rotate(value ^ (_rotate(word * PRIME_2, 31) * PRIME_1), 27) * PRIME_1 + PRIME_4


@numba.njit(cache=True, inline="always")
def _finish(value):  # type: ignore[no-untyped-def]
    value = (value ^ (value >> np.uint64(33))) * PRIME_2
    value = (value ^ (value >> np.uint64(29))) * PRIME_3
    return value ^ (value >> np.uint64(32))


@numba.njit(cache=True)
def _hash_words(words):  # type: ignore[no-untyped-def]
    hashes = np.empty(len(words), dtype=np.uint64)
    for place in range(len(words)):
        hashes[place] = _finish(_round(PRIME_5 + np.uint64(8), words[place]))
    return hashes


@numba.njit(cache=True)
def _hash_floats(values, words):  # type: ignore[no-untyped-def]
    hashes = np.empty(len(words), dtype=np.uint64)
    for place in range(len(words)):
        value = values[place]
        if -LIMIT <= value < LIMIT and value == np.floor(value):
            # Also -0.0, which is 0.
            hashes[place] = _finish(_round(PRIME_5 + np.uint64(8), np.uint64(np.int64(value))))
        else:
            word = words[place] if value == value else NOT_A_NUMBER
            hashes[place] = _finish(_round(PRIME_5 + np.uint64(16), word))
    return hashes


@numba.njit(cache=True)
def _hash_texts(data, offsets):  # type: ignore[no-untyped-def]
    hashes = np.empty(len(offsets) - 1, dtype=np.uint64)
    for place in range(len(hashes)):
        start, end = offsets[place], offsets[place + 1]
        value = PRIME_5 + np.uint64(end - start)
        at = start
        while at < end:
            word = np.uint64(0)
            for byte in range(min(8, end - at)):
                word |= np.uint64(data[at + byte]) << np.uint64(8 * byte)
            value = _round(value, word)
            at += 8
        hashes[place] = _finish(value)
    return hashes


@numba.njit(cache=True)
def _fold(first, second):  # type: ignore[no-untyped-def]
    hashes = np.empty(len(first), dtype=np.uint64)
    for place in range(len(first)):
        hashes[place] = _finish(_round(first[place], second[place]))
    return hashes


@numba.njit(cache=True)
def _fold_runs(members, offsets):  # type: ignore[no-untyped-def]
    hashes = np.empty(len(offsets) - 1, dtype=np.uint64)
    for place in range(len(hashes)):
        start, end = offsets[place], offsets[place + 1]
        value = PRIME_5 + np.uint64(end - start)
        for at in range(start, end):
            value = _round(value, members[at])
        hashes[place] = _finish(value)
    return hashes


@numba.njit(cache=True)
def _in_buckets(hashes, buckets):  # type: ignore[no-untyped-def]
    count = len(hashes)
    chosen = np.empty(count, dtype=np.int32)
    starts = np.zeros(int(buckets) + 1, dtype=np.int64)
    for place in range(count):
        # Only the upper half of the hash is used, so that the product fits 64 bits.
        bucket = np.int32(((hashes[place] >> np.uint64(32)) * buckets) >> np.uint64(32))
        chosen[place] = bucket
        starts[bucket + 1] += 1
    for place in range(int(buckets)):
        starts[place + 1] += starts[place]
    following = starts.copy()
    order = np.empty(count, dtype=np.uint32)
    for place in range(count):
        bucket = chosen[place]
        order[following[bucket]] = place
        following[bucket] += 1
    return order, starts
