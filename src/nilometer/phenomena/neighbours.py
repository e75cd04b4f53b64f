"""Who is next to whom: all sources, those within a distance, or those that a table names.

`place` and `forget` keep the index up to date; `of(source)` is the set of its neighbours among the sources that are
known. Within a distance, sources are found in the cells of a grid around them, and then by the exact distance, `<=`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from itertools import product
from typing import Protocol

from nilometer.algebra.places import EARTH_RADIUS, WGS84, Place, distance
from nilometer.algebra.regions import unit_vector
from nilometer.errors import ResourceError

Source = int | str
Cell = tuple[float, ...]

MOST_EDGES = 50_000_000
"""The most pairs of neighbouring candidates."""


class Neighbours(Protocol):
    """The neighbours of sources."""

    def place(self, source: Source, place: Place | None) -> None:
        """The source is known, and here."""

    def forget(self, source: Source) -> None:
        """The source is not known any more."""

    def of(self, source: Source) -> set[Source] | None:
        """Its neighbours among those known; None: all."""


class Everyone:
    """All sources are neighbours."""

    def place(self, source: Source, place: Place | None) -> None:
        pass

    def forget(self, source: Source) -> None:
        pass

    def of(self, source: Source) -> set[Source] | None:  # noqa: ARG002 - whoever asks
        return None


class Listed:
    """The neighbours that a table names, in either direction."""

    def __init__(self, pairs: Iterable[tuple[Source, Source]] = ()) -> None:
        self._of: dict[Source, set[Source]] = {}
        for one, other in pairs:
            if None not in (one, other):
                self._of.setdefault(one, set()).add(other)
                self._of.setdefault(other, set()).add(one)

    def place(self, source: Source, place: Place | None) -> None:
        pass

    def forget(self, source: Source) -> None:
        pass

    def of(self, source: Source) -> set[Source] | None:
        return self._of.get(source, set())


class Near:
    """The sources at most `reach` apart. A source without a place has no neighbours."""

    def __init__(self, reach: float, coordinates: str | None) -> None:
        self._reach = reach
        self._coordinates = coordinates
        self._side = reach
        if coordinates == WGS84:
            # The chord of the reach, for cells in space. Half the globe and more is one cell.
            self._side = (
                2 * EARTH_RADIUS * math.sin(min(reach / (2 * EARTH_RADIUS), math.pi / 2)) * (1 + 1e-9)
            )
        self._cells: dict[Cell, set[Source]] = {}
        self._placed: dict[Source, tuple[Place, Cell]] = {}
        self._of: dict[Source, set[Source]] = {}
        self._edges = 0

    def place(self, source: Source, place: Place | None) -> None:
        known = self._placed.get(source)
        if known is not None and known[0] == place:
            return
        self.forget(source)
        if place is None:
            return
        cell = self._cell(place)
        mine = set()
        for around in self._around(cell):
            for other in self._cells.get(around, ()):
                if distance(self._coordinates, place, self._placed[other][0]) <= self._reach:
                    mine.add(other)
        for other in mine:
            self._of[other].add(source)
        self._edges += len(mine)
        if self._edges > MOST_EDGES:
            raise ResourceError(
                f"PH_TRACK would keep {self._edges:,} pairs of neighbours",
                detail=f"the limit is {MOST_EDGES:,}",
                hint="use a shorter distance: NEIGHBOURS WITHIN ...",
            )
        self._of[source] = mine
        self._placed[source] = place, cell
        self._cells.setdefault(cell, set()).add(source)

    def forget(self, source: Source) -> None:
        known = self._placed.pop(source, None)
        if known is None:
            return
        held = self._cells[known[1]]
        held.discard(source)
        if not held:
            del self._cells[known[1]]
        mine = self._of.pop(source)
        for other in mine:
            self._of[other].discard(source)
        self._edges -= len(mine)

    def of(self, source: Source) -> set[Source] | None:
        return self._of.get(source, set())

    def _cell(self, place: Place) -> Cell:
        if self._side == 0:
            return (place[0] + 0.0, place[1] + 0.0)
        if self._coordinates == WGS84:
            return tuple(math.floor(EARTH_RADIUS * part / self._side) for part in unit_vector(place))
        quotients = (part / self._side for part in place)
        return tuple(math.floor(each) if math.isfinite(each) else each for each in quotients)

    def _around(self, cell: Cell) -> Iterator[Cell]:
        if self._side == 0:
            return iter((cell,))
        return product(*((part - 1, part, part + 1) for part in cell))
