"""WITHIN e: which neighbours are linked by their readings.

Two neighbours are linked if each has at least `strength` readings in the window with a partner of the other within e, and
at least that `share` of all its readings there, in per cent.
Each source's readings are kept in order, so that a pair is compared in one walk over both.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import Counter
from collections.abc import Iterable, Sequence
from math import ceil

from nilometer.errors import ResourceError
from nilometer.phenomena.neighbours import Neighbours, Source

MOST_SOURCES = 2_000
"""The most sources of which all are neighbours; the pairs grow with their square."""


class Links:
    """The readings of sources in the window, and the links between them."""

    def __init__(self, epsilon: float, strength: int, share: float = 0.0) -> None:
        self._epsilon = epsilon
        self._strength = strength
        self._share = share
        self._heard: Counter[Source] = Counter()
        self.values: dict[Source, list[float]] = {}
        self._linked: dict[Source, set[Source]] = {}

    def enough(self, source: Source) -> int:
        """How many alike readings it needs."""
        return max(self._strength, ceil(self._share * self._heard[source] / 100))

    def add(self, source: Source, value: float | None) -> None:
        """A reading enters the window. One without a value is only counted."""
        self._heard[source] += 1
        if value is None:
            return
        insort(self.values.setdefault(source, []), value)

    def remove(self, source: Source, value: float | None) -> None:
        """A reading leaves the window."""
        self._heard[source] -= 1
        if not self._heard[source]:
            del self._heard[source]
        if value is None:
            return
        values = self.values[source]
        del values[bisect_left(values, value)]
        if not values:
            del self.values[source]

    def of(self, source: Source) -> set[Source]:
        """Those a source is linked with."""
        return self._linked.get(source, set())

    def compare(self, sources: Iterable[Source], neighbours: Neighbours) -> set[Source]:
        """Find the links of these sources anew. Returns them and all whose links have changed."""
        changed = set(sources)
        for source in tuple(changed):
            for other in self._linked.pop(source, ()):
                self._linked[other].discard(source)
                changed.add(other)
        for source in tuple(changed):
            mine = self.values.get(source)
            needed = self.enough(source)
            if mine is None or len(mine) < needed:
                continue
            for other in self._around(source, neighbours):
                theirs = self.values.get(other)
                if other == source or theirs is None:
                    continue
                if self._enough(mine, theirs, needed) and self._enough(theirs, mine, self.enough(other)):
                    self._linked.setdefault(source, set()).add(other)
                    self._linked.setdefault(other, set()).add(source)
                    changed.add(other)
        return changed

    def _around(self, source: Source, neighbours: Neighbours) -> Iterable[Source]:
        found = neighbours.of(source)
        if found is not None:
            return found
        if len(self.values) > MOST_SOURCES:
            raise ResourceError(
                f"WITHIN would compare each of {len(self.values):,} sensors with all others",
                detail=f"the limit is {MOST_SOURCES:,}",
                hint="say who is compared with whom: NEIGHBOURS WITHIN 60 KM, or NEIGHBOURS BY a table",
            )
        return list(self.values)

    def _enough(self, values: Sequence[float], partners: Sequence[float], needed: int) -> bool:
        """Whether enough of the values, in order, have a partner within epsilon."""
        count, place = 0, 0
        for value in values:
            while place < len(partners) and value - partners[place] > self._epsilon:
                place += 1
            if place < len(partners) and abs(value - partners[place]) <= self._epsilon:
                count += 1
                if count >= needed:
                    return True
        return False
