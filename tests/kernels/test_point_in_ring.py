"""Points within rings: all at once they are those that the naive rule finds one by one."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from nilometer.algebra.geojson import within
from nilometer.kernels.point_in_ring import within_ring

corners = st.tuples(st.integers(-4, 4).map(float), st.floats(-4, 4))


@given(st.lists(corners, min_size=1, max_size=8), st.lists(corners, max_size=30))
def test_the_kernel_decides_as_the_naive_rule_does(
    ring: list[tuple[float, float]], points: list[tuple[float, float]]
) -> None:
    closed = [*ring, ring[0]]
    asked = [*points, *ring]
    x, y = np.array(asked).T
    assert within_ring(x, y, closed).tolist() == [within(point, closed) for point in asked]
