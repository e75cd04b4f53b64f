"""Great-circle distances, against the plain formula."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nilometer.algebra import places
from nilometer.kernels.great_circle import central_angle

points = st.tuples(st.floats(-180, 180), st.floats(-90, 90))


@given(points, points)
def test_the_same_as_the_plain_formula(one: places.Place, other: places.Place) -> None:
    found = central_angle(*(np.array([value]) for value in (*one, *other)))
    assert places.EARTH_RADIUS * found[0] == pytest.approx(
        places.great_circle(one, other), rel=1e-9, abs=1e-6
    )
    assert places.great_circle(one, other) == pytest.approx(places.great_circle(other, one), rel=1e-12)
