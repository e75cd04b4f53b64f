"""XXH64 against its naive twin."""

from __future__ import annotations

import struct

from hypothesis import given
from hypothesis import strategies as st

from nilometer.log.checksum import words_of, xxh64

PRIMES = (
    0x9E3779B185EBCA87,
    0xC2B2AE3D27D4EB4F,
    0x165667B19E3779F9,
    0x85EBCA77C2B2AE63,
    0x27D4EB2F165667C5,
)
MASK = 2**64 - 1


def naive(words: list[int]) -> int:
    """The specification, word for word."""
    one, two, three, four, five = PRIMES

    def rotate(value: int, bits: int) -> int:
        return (value << bits | value >> (64 - bits)) & MASK

    def mix(lane: int, word: int) -> int:
        return rotate((lane + word * two) & MASK, 31) * one & MASK

    rest = list(words)
    value = five
    if len(rest) >= 4:
        lanes = [(one + two) & MASK, two, 0, -one & MASK]
        while len(rest) >= 4:
            lanes = [mix(lane, word) for lane, word in zip(lanes, rest[:4], strict=True)]
            rest = rest[4:]
        value = sum(rotate(lane, bits) for lane, bits in zip(lanes, (1, 7, 12, 18), strict=True)) & MASK
        for lane in lanes:
            value = ((value ^ mix(0, lane)) * one + four) & MASK
    value = (value + 8 * len(words)) & MASK
    for word in rest:
        value = (rotate(value ^ mix(0, word), 27) * one + four) & MASK
    value = (value ^ value >> 33) * two & MASK
    value = (value ^ value >> 29) * three & MASK
    return value ^ value >> 32


@given(st.lists(st.integers(0, MASK), max_size=40), st.integers(0, 3))
def test_xxh64_is_its_naive_twin(words: list[int], before: int) -> None:
    data = words_of(struct.pack(f"<{len(words) + before}Q", *([7] * before), *words))
    assert int(xxh64(data, before, len(data))) == naive(words)


def test_xxh64_of_nothing_is_the_specification_s() -> None:
    assert int(xxh64(words_of(b""), 0, 0)) == 0xEF46DB3751D8E999
