"""The filter of a phenomenon's middle is the textbook's, in matrices; regions are hulls, by brute force."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nilometer.algebra.geojson import rings, within
from nilometer.algebra.motion import Motion, Noise
from nilometer.algebra.places import WGS84, Place, great_circle
from nilometer.algebra.prediction import scale_of
from nilometer.algebra.regions import from_plane, hull, middle, region_of, ring_area, to_plane

small = st.integers(-4, 4).map(float)
places = st.lists(st.tuples(small, small), min_size=1, max_size=12)


@given(
    st.lists(st.tuples(st.floats(-100, 100), st.floats(-100, 100), st.booleans()), min_size=1, max_size=12),
    st.floats(0.5, 50),
    st.floats(0.5, 100),
)
def test_the_filter_is_kalman_s(steps: list[tuple[float, float, bool]], reach: float, seconds: float) -> None:
    noise = Noise.of(reach, seconds)
    motion = Motion.born((0.0, 0.0))
    state, covariance = np.zeros((2, 2)), np.diag([noise.measured, noise.first_velocity])
    move = np.array([[1.0, seconds], [0.0, 1.0]])
    acceleration = noise.acceleration * np.array(
        [[seconds**3 / 3, seconds**2 / 2], [seconds**2 / 2, seconds]]
    )
    look = np.array([[1.0, 0.0]])
    for x, y, shaken in steps:
        motion = motion.moved((x, y), noise, shaken)
        if shaken:
            covariance = np.diag([covariance[0, 0], noise.first_velocity])
        state, covariance = move @ state, move @ covariance @ move.T + acceleration
        gain = covariance @ look.T / (look @ covariance @ look.T + noise.measured)
        state = state + gain @ (np.array([[x, y]]) - look @ state)
        covariance = (np.eye(2) - gain @ look) @ covariance
    assert (motion.x, motion.y) == pytest.approx(tuple(state[0]), rel=1e-6, abs=1e-6)
    assert motion.velocity == pytest.approx(tuple(state[1]), rel=1e-6, abs=1e-6)


@given(places)
def test_a_hull_is_the_corners_that_no_triangle_covers(found: list[Place]) -> None:
    corners = hull(found)
    assert set(corners) <= set(found)
    count = len(corners)
    if count < 3:
        return
    for place in found:
        turns = [_turn(corners[n], corners[(n + 1) % count], place) for n in range(count)]
        assert min(turns) >= 0, "outside"
    for n, corner in enumerate(corners):
        assert _turn(corners[n - 1], corner, corners[(n + 1) % count]) > 0, "no corner"
    assert corners[0] == min(corners)


def _turn(a: Place, b: Place, c: Place) -> float:
    return (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])


def test_areas_of_the_plane_and_of_the_globe() -> None:
    assert ring_area([(0.0, 0.0), (4.0, 0.0), (4.0, 2.0), (0.0, 2.0)], None) == 8.0
    degree = great_circle((0.0, 0.0), (0.0, 1.0))
    ring = [(0.0, 60.0), (1.0, 60.0), (1.0, 61.0), (0.0, 61.0)]
    assert ring_area(ring, WGS84) == pytest.approx(degree**2 * math.cos(math.radians(60.5)), rel=1e-4)
    assert region_of([(0.0, 0.0), (2.0, 0.0), (0.0, 2.0)], "km", 1000.0)[1] == 2_000_000.0


def test_regions_of_few_places_and_across_the_180th_meridian() -> None:
    assert region_of([], WGS84) == (None, None)
    assert region_of([(1.0, 2.0)], WGS84) == ("POINT (1.0 2.0)", 0.0)
    assert region_of([(179.0, 0.0), (-179.0, 0.0)], WGS84) == (None, None)
    found = middle([(179.0, 0.0), (-179.0, 0.0)], WGS84)
    assert found is not None
    assert abs(found[0]) == pytest.approx(180.0)


def test_shapely_s_regions_agree_with_ours() -> None:
    corners = [(0.0, 0.0), (10.0, 0.0), (10.0, 10.0), (0.0, 10.0), (5.0, 5.0)]
    ours, area = region_of(corners, "m")
    assert region_of(corners, "m", concave=1.0)[1] == pytest.approx(area, rel=1e-9)
    wide, larger = region_of(corners, "m", buffer=1.0)
    assert larger == pytest.approx(100 + 40 + math.pi, rel=0.01)
    assert ours is not None
    assert within((0.5, 0.5), rings(wide)[0])


@given(st.tuples(st.floats(-170, 170), st.floats(-70, 70)), st.tuples(st.floats(-3, 3), st.floats(-3, 3)))
def test_the_plane_that_touches_the_globe_and_back(origin: Place, away: Place) -> None:
    place = origin[0] + away[0], origin[1] + away[1]
    assert from_plane(to_plane(place, origin, WGS84), origin, WGS84) == pytest.approx(place, abs=1e-9)


def test_extents_go_on_within_bounds() -> None:
    assert scale_of([4.0], 3) == 1.0
    assert scale_of([0.0, 0.0], 3) == 1.0
    assert scale_of([1.0, 100.0], 5, growth=1.0) == 2.0
    assert scale_of([100.0, 1.0], 5) == 0.5
