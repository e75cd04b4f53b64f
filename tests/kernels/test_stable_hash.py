"""Stable hashes against a twin in plain integers, and against values that may never change: buckets on disk depend on them."""

from __future__ import annotations

import struct

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from nilometer.kernels import stable_hash

PRIMES = (0x9E3779B185EBCA87, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9, 0x85EBCA77C2B2AE63, 0x27D4EB2F165667C5)
MASK = 2**64 - 1

words = st.integers(0, MASK)
floats = st.one_of(
    st.floats(), st.integers(-(2**63), 2**63 - 1).map(float), st.sampled_from([-0.0, 0.5, 2.0**63])
)


def rotate(value: int, bits: int) -> int:
    return (value << bits | value >> (64 - bits)) & MASK


def mixed(value: int, word: int) -> int:
    lane = rotate(word * PRIMES[1] & MASK, 31) * PRIMES[0] & MASK
    return (rotate(value ^ lane, 27) * PRIMES[0] + PRIMES[3]) & MASK


def finished(value: int) -> int:
    value = (value ^ value >> 33) * PRIMES[1] & MASK
    value = (value ^ value >> 29) * PRIMES[2] & MASK
    return value ^ value >> 32


def hash_run(start: int, run: list[int]) -> int:
    value = (PRIMES[4] + start) & MASK
    for word in run:
        value = mixed(value, word)
    return finished(value)


def hash_float(value: float) -> int:
    if np.isfinite(value) and -(2**63) <= value < 2**63 and value == int(value):
        return hash_run(8, [int(value) & MASK])
    bits = 0x7FF8000000000000 if value != value else struct.unpack("<Q", struct.pack("<d", value))[0]
    return hash_run(16, [bits])


def hash_text(text: bytes) -> int:
    parts = [int.from_bytes(text[at : at + 8], "little") for at in range(0, len(text), 8)]
    return hash_run(len(text), parts)


def offsets_of(lengths: list[int]) -> np.ndarray:
    return np.concatenate(([0], np.cumsum(lengths, dtype=np.int64))).astype(np.int64)


@given(st.lists(words, max_size=20))
def test_words(values: list[int]) -> None:
    found = stable_hash.hash_words(np.array(values, dtype=np.uint64))
    assert found.tolist() == [hash_run(8, [value]) for value in values]


@given(st.lists(floats, max_size=20))
def test_floats(values: list[float]) -> None:
    found = stable_hash.hash_floats(np.array(values, dtype=np.float64))
    assert found.tolist() == [hash_float(value) for value in values]


@given(st.lists(st.binary(max_size=30), max_size=12))
def test_texts(values: list[bytes]) -> None:
    data = np.frombuffer(b"".join(values), dtype=np.uint8)
    found = stable_hash.hash_texts(data, offsets_of([len(value) for value in values]))
    assert found.tolist() == [hash_text(value) for value in values]


@given(st.lists(st.tuples(words, words), max_size=12))
def test_fold(pairs: list[tuple[int, int]]) -> None:
    one, other = (np.array([pair[side] for pair in pairs], dtype=np.uint64) for side in (0, 1))
    assert stable_hash.fold(one, other).tolist() == [finished(mixed(*pair)) for pair in pairs]


@given(st.lists(st.lists(words, max_size=4), max_size=8))
def test_fold_runs(runs: list[list[int]]) -> None:
    members = np.array([word for run in runs for word in run], dtype=np.uint64)
    found = stable_hash.fold_runs(members, offsets_of([len(run) for run in runs]))
    assert found.tolist() == [hash_run(len(run), run) for run in runs]


@given(st.lists(words, max_size=40), st.integers(1, 9))
def test_in_buckets(values: list[int], buckets: int) -> None:
    order, starts = stable_hash.in_buckets(np.array(values, dtype=np.uint64), buckets)
    found = [order[starts[bucket] : starts[bucket + 1]].tolist() for bucket in range(buckets)]
    chosen = [(value >> 32) * buckets >> 32 for value in values]
    assert found == [
        [place for place, bucket in enumerate(chosen) if bucket == wanted] for wanted in range(buckets)
    ]


def test_hashes_stay_what_they_are() -> None:
    integers = stable_hash.hash_words(np.array([0, 1, -1, 2**40], dtype=np.int64))
    texts = stable_hash.hash_texts(np.frombuffer(b"sensor-17red", dtype=np.uint8), offsets_of([9, 3, 0]))
    assert [f"{value:016x}" for value in (*integers.tolist(), *texts.tolist())] == [
        "34c96acdcadb1bbb",
        "9f29cb17a2a49995",
        "85d136adb773c6c9",
        "a13ea4c7924fd453",
        "2f8dfcf45b0604b7",
        "f32342be923d3df6",
        "ef46db3751d8e999",
    ]


def test_buckets_are_filled_evenly() -> None:
    hashes = stable_hash.hash_words(np.arange(160_000, dtype=np.int64))
    counts = np.diff(stable_hash.in_buckets(hashes, 16)[1])
    assert counts.min() > 9_500
    assert counts.max() < 10_500
