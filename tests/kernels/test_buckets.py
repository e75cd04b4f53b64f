"""DDSketch's buckets: every value lies within 1 % of its bucket's middle, and buckets keep the order of values."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from nilometer.kernels.buckets import buckets_of, middles_of
from nilometer.plan.reference import sketches

values = st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=20)


@given(values)
def test_it_equals_its_naive_twin(numbers: list[float]) -> None:
    buckets = buckets_of(np.array(numbers))
    assert buckets.tolist() == list(map(sketches.bucket, numbers))
    assert middles_of(buckets).tolist() == [sketches.middle(bucket) for bucket in buckets.tolist()]


@given(values)
def test_the_middle_is_within_one_percent(numbers: list[float]) -> None:
    found = middles_of(buckets_of(np.array(numbers)))
    for value, middle in zip(numbers, found.tolist(), strict=True):
        # The middle of the last bucket is cut to the greatest FLOAT.
        if sketches.LEAST < abs(value) < 1.7e308:
            assert abs(value - middle) <= abs(value) * (sketches.ACCURACY + 1e-9)


@given(values)
def test_buckets_have_the_order_of_values(numbers: list[float]) -> None:
    assert buckets_of(np.array(sorted(numbers))).tolist() == sorted(buckets_of(np.array(numbers)).tolist())
