"""Codes against a dict."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from nilometer.kernels.codes import Codes

values = st.one_of(st.none(), st.integers(-3, 3), st.integers(-(2**63), 2**63 - 1))


def encode(codes: Codes, batch: list[int | None]) -> tuple[list[int], list[int]]:
    known = np.array([value is not None for value in batch], dtype=np.bool_)
    found, new = codes.encode(np.array([value or 0 for value in batch], dtype=np.int64), known)
    return found.tolist(), new.tolist()


@given(st.lists(st.lists(values, max_size=20), max_size=4))
def test_encode(batches: list[list[int | None]]) -> None:
    codes, twin = Codes(), {}
    for batch in batches:
        before = len(twin)
        expected = [twin.setdefault(value, len(twin)) for value in batch]
        assert encode(codes, batch) == (expected, [value or 0 for value in list(twin)[before:]])
        assert codes.null == twin.get(None)


def test_growing() -> None:
    codes = Codes()
    many = np.arange(100_000, dtype=np.int64) * 1_000_003
    for batch in (many, many[::-1], many + 1):
        found, _ = codes.encode(batch, None)
        assert len(np.unique(found)) == 100_000
    assert (codes.encode(many, None)[0] == np.arange(100_000)).all()
    fresh = Codes()
    fresh.null = 3
    fresh.assign(many[:3], np.array([0, 1, 2]))
    assert encode(fresh, [None, 0, 5]) == ([3, 0, 4], [5])
