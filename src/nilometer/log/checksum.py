"""XXH64 over words, and the walk along a run of records; compiled, because a scan checks every byte it
returns.

XXH64 (the xxHash specification) with seed 0 over whole 64-bit words, to which records are padded. zlib's
CRC-32 runs at 1.5 GB/s here, which would take the whole time of a scan; this runs at 8 GB/s. The law: `walk`
stops at the first record that is incomplete or wrong; every record before it has been checked to the last
bit.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np

from nilometer.kernels.arrays import Words

PRIME_1 = np.uint64(0x9E3779B185EBCA87)
PRIME_2 = np.uint64(0xC2B2AE3D27D4EB4F)
PRIME_3 = np.uint64(0x165667B19E3779F9)
PRIME_4 = np.uint64(0x85EBCA77C2B2AE63)
PRIME_5 = np.uint64(0x27D4EB2F165667C5)
ZERO = np.uint64(0)
LOW = np.uint64(0xFFFFFFFF)

HEADER_WORDS = 16
"""The number of words of a record's header: checksum, magic and kind, length in bytes, ... (record.py)."""

STEP_WORDS = 8
"""Records begin at multiples of this many words, so that Arrow buffers are aligned in a memory map."""

MAGIC = int.from_bytes(b"NLG1", "little")


def words_of(buffer: Any) -> Words:
    """A buffer as words; read-only, so that the kernels are compiled only once."""
    words: Words = np.frombuffer(buffer, dtype=np.uint64)
    words.flags.writeable = False
    return words


def checksum_of(data: bytes) -> int:
    """The checksum of any bytes: of their length, then of the bytes padded to whole words."""
    padded = len(data).to_bytes(8, "little") + data + bytes(-len(data) % 8)
    words = words_of(padded)
    return int(xxh64(words, 0, len(words)))


@numba.njit(cache=True, inline="always")
def _rotate(value, bits):  # type: ignore[no-untyped-def]
    return (value << np.uint64(bits)) | (value >> np.uint64(64 - bits))


@numba.njit(cache=True, inline="always")
def _mix(lane, word):  # type: ignore[no-untyped-def]
    return _rotate(lane + word * PRIME_2, 31) * PRIME_1


@numba.njit(cache=True)
def xxh64(words, start, end):  # type: ignore[no-untyped-def]
    """XXH64 of words[start:end]."""
    at = start
    if end - start >= 4:
        one, two, three, four = PRIME_1 + PRIME_2, PRIME_2, ZERO, ZERO - PRIME_1
        while at + 4 <= end:
            one = _mix(one, words[at])
            two = _mix(two, words[at + 1])
            three = _mix(three, words[at + 2])
            four = _mix(four, words[at + 3])
            at += 4
        value = _rotate(one, 1) + _rotate(two, 7) + _rotate(three, 12) + _rotate(four, 18)
        for lane in (one, two, three, four):
            value = (value ^ _mix(ZERO, lane)) * PRIME_1 + PRIME_4
    else:
        value = PRIME_5
    value += np.uint64(end - start) * np.uint64(8)
    while at < end:
        value = _rotate(value ^ _mix(ZERO, words[at]), 27) * PRIME_1 + PRIME_4
        at += 1
    value = (value ^ (value >> np.uint64(33))) * PRIME_2
    value = (value ^ (value >> np.uint64(29))) * PRIME_3
    return value ^ (value >> np.uint64(32))


@numba.njit(cache=True)
def record_words(words, at):  # type: ignore[no-untyped-def]
    """The length in words of the record that begins there; 0 if there is no complete and correct one."""
    size = len(words)
    if at + HEADER_WORDS > size or words[at + 1] & LOW != np.uint64(MAGIC):
        return 0
    length = words[at + 2]
    step = np.uint64(8 * STEP_WORDS)
    if length < np.uint64(8 * HEADER_WORDS) or length % step != ZERO or length > np.uint64(8 * (size - at)):
        return 0
    count = np.int64(length // np.uint64(8))
    return count if xxh64(words, at + 1, at + count) == words[at] else 0


@numba.njit(cache=True)
def walk(words, start):  # type: ignore[no-untyped-def]
    """Where the records from `start` on begin, and where the last one ends (both in words)."""
    starts = np.empty(max(0, len(words) - start) // HEADER_WORDS, dtype=np.int64)
    count, at = 0, start
    while True:
        length = record_words(words, at)
        if length == 0:
            return starts[:count], at
        starts[count] = at
        count += 1
        at += length


@numba.njit(cache=True)
def next_record(words, start):  # type: ignore[no-untyped-def]
    """Where the next complete record at or after `start` begins, in words; -1 if there is none."""
    at = start
    while at + HEADER_WORDS <= len(words):
        if record_words(words, at) != 0:
            return at
        at += STEP_WORDS
    return -1
