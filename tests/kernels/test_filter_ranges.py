"""One sorted search for many ranges, against a look at every value."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from nilometer.kernels.filter_ranges import Ranges, filter_ranges

small = st.integers(-4, 4)
bounds = st.tuples(st.none() | small, st.booleans(), st.none() | small, st.booleans())


def inside(value: int, one: tuple[Any, bool, Any, bool]) -> bool:
    low, low_closed, high, high_closed = one
    above = low is None or value > low or (low_closed and value == low)
    return above and (high is None or value < high or (high_closed and value == high))


@given(st.lists(small), st.lists(bounds, max_size=8), st.booleans())
def test_like_looking_at_each(
    values: list[int], ranges: list[tuple[Any, bool, Any, bool]], floats: bool
) -> None:
    ordered = np.array(sorted(values), dtype=np.float64 if floats else np.int64)
    starts, ends = filter_ranges(ordered, Ranges.of(ranges))
    for one, start, end in zip(ranges, starts, ends, strict=True):
        assert ordered[start:end].tolist() == [value for value in sorted(values) if inside(value, one)]
