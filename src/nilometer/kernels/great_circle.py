"""The angles between many pairs of points on a sphere, by the haversine formula (algebra/places.py).

>>> central_angle(np.array([0.0]), np.array([0.0]), np.array([0.0]), np.array([90.0])).round(6).tolist()
[1.570796]
"""

from __future__ import annotations

import numpy as np

from nilometer.kernels.arrays import Floats


def central_angle(east: Floats, north: Floats, other_east: Floats, other_north: Floats) -> Floats:
    """The angle, in radians, between points of longitude (east) and latitude (north) in degrees."""
    east, north, other_east, other_north = map(np.radians, (east, north, other_east, other_north))
    along = np.sin((other_north - north) / 2) ** 2
    across = np.cos(north) * np.cos(other_north) * np.sin((other_east - east) / 2) ** 2
    found: Floats = 2 * np.arcsin(np.minimum(1.0, np.sqrt(along + across)))
    return found
