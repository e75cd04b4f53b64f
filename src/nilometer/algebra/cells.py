"""Sensors -> cells of few sensors near each other: halved at the median of the wider side until a cell has few enough.

The law: cells depend on ids and places alone, each sensor is in one cell, and a cell has between half of `most` and `most`
sensors (fewer only if there are fewer). This is the partition of a k-d tree (Bentley 1975). Sensors without a place are
cut into runs by their ids.

>>> cells_of({1: (0.0, 0.0), 2: (9.0, 0.0), 3: (1.0, 0.0), 4: (8.0, 1.0), 5: None}, 2)
[[1, 3], [2, 4], [5]]
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

from nilometer.algebra.places import WGS84, Place


def cells_of(
    places: Mapping[Any, Place | None], most: int, coordinates: str | None = None
) -> list[list[Any]]:
    """The cells; the sensors of each in order."""
    placed = [
        (place[0], place[1], sensor) for sensor in sorted(places) if (place := places[sensor]) is not None
    ]
    nowhere = [sensor for sensor in sorted(places) if places[sensor] is None]
    cells = [sorted(sensor for _, _, sensor in cell) for cell in _halved(placed, most, coordinates)]
    return cells + [nowhere[start : start + most] for start in range(0, len(nowhere), most)]


def _halved(
    placed: list[tuple[float, float, Any]], most: int, coordinates: str | None
) -> Iterator[list[tuple[float, float, Any]]]:
    if not placed:
        return
    if len(placed) <= most:
        yield placed
        return
    xs, ys = [each[0] for each in placed], [each[1] for each in placed]
    high, wide = max(ys) - min(ys), max(xs) - min(xs)
    if coordinates == WGS84:
        wide *= math.cos(math.radians((min(ys) + max(ys)) / 2))
    axis = 0 if wide >= high else 1
    ordered = sorted(placed, key=lambda each: (each[axis], each[2]))
    middle = len(ordered) // 2
    yield from _halved(ordered[:middle], most, coordinates)
    yield from _halved(ordered[middle:], most, coordinates)
