"""Sparse random projection: points of many columns -> points of few, with nearly the distances (Achlioptas, 2003).

Each column of a point goes with the sign + or - into a third of the columns of its image. The signs are a hash of the two
columns' numbers (splitmix64), so every host has the same ones. Sums run in the order of the columns, so that a point's image does not
depend on the points beside it.

>>> image = project(np.eye(900), 300)
>>> bool(abs(np.linalg.norm(image[0] - image[1]) - 2**0.5) < 0.2)
True
"""

from __future__ import annotations

import math

import numba
import numpy as np
import numpy.typing as npt

from nilometer.kernels.read_only import read_only

Points = npt.NDArray[np.float64]


def project(points: Points, columns: int) -> Points:
    """The images of points, one a row."""
    starts, targets, signs = _signs(points.shape[1], columns)
    images = np.zeros((len(points), columns))
    _project(read_only(points), starts, targets, signs * math.sqrt(3.0 / columns), images)
    return images


def _signs(width: int, columns: int) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], Points]:
    """For each column of a point, from `starts` on: the columns of its image into which it goes, and the signs."""
    words = (np.arange(width * columns, dtype=np.uint64) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    words = (words ^ (words >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    words = (words ^ (words >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    cells = ((words ^ (words >> np.uint64(31))) % np.uint64(6)).reshape(width, columns)
    rows, targets = np.nonzero(cells < 2)
    starts = np.searchsorted(rows, np.arange(width + 1)).astype(np.int64)
    return starts, targets.astype(np.int64), np.where(cells[rows, targets] == 0, 1.0, -1.0)


@numba.njit(cache=True)
def _project(points, starts, targets, factors, images):  # type: ignore[no-untyped-def]
    for row in range(len(points)):
        for column in range(points.shape[1]):
            value = points[row, column]
            if value != 0.0:
                for place in range(starts[column], starts[column + 1]):
                    images[row, targets[place]] += factors[place] * value
