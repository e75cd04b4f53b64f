"""Stripes and buckets against their naive twins: whoever is in reach has a copy at one's home, once."""

from __future__ import annotations

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st

from nilometer.kernels.stripes import buckets_of, spread, stripes

values = st.lists(
    st.floats(allow_nan=False, width=64) | st.integers(-40, 40).map(float), min_size=1, max_size=20
)
reaches = st.lists(st.tuples(st.integers(-50, 50), st.integers(0, 9)), min_size=1, max_size=20)


@given(values, st.sampled_from((0.25, 1.0, 3.0, 1e-300, 1e300)))
def test_stripes_rise_with_the_values(numbers: list[float], width: float) -> None:
    ordered = np.sort(np.array(numbers))
    found = stripes(ordered, width)
    assert (np.diff(found.astype(np.float64)) >= 0).all()


def test_what_is_no_number_has_a_stripe() -> None:
    found = stripes(np.array([np.nan, np.inf, -np.inf, -0.1, 0.9]), 0.5)
    assert found.tolist() == [0, 2**62, -(2**62), -1, 1]


@given(reaches, st.integers(1, 7))
@example([(-(2**62), 2**62)], 3)
def test_a_row_is_once_in_the_bucket_of_each_of_its_stripes(
    rows: list[tuple[int, int]], buckets: int
) -> None:
    low = np.array([first for first, _ in rows], dtype=np.int64)
    high = low + np.array([more for _, more in rows], dtype=np.int64)
    order, starts = spread(low, high, buckets)
    for bucket in range(buckets):
        found = order[starts[bucket] : starts[bucket + 1]].tolist()
        assert found == naive(low.tolist(), high.tolist(), bucket, buckets)


def naive(low: list[int], high: list[int], bucket: int, buckets: int) -> list[int]:
    found = []
    for row, (first, last) in enumerate(zip(low, high, strict=True)):
        touched = range(first, min(last, first + 100) + 1)
        homes = {int(buckets_of(np.array([stripe]), buckets)[0]) for stripe in touched}
        if last - first >= buckets - 1 or bucket in homes:
            found.append(row)
    return found
