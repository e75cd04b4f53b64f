"""Local grouping: which candidates a head tells the sink about.

A head joins the candidates of its own cluster into components. A component with fewer than MEMBERS candidates can only
be part of a phenomenon if one of its sensors has a neighbour in another cluster. All others are noise: the head keeps
them to itself. So nothing is lost: a phenomenon's part in a cluster is the whole of it, and large enough, or touches
another cluster.

It needs neighbours by distance, and sensors that stay where they are. Otherwise all candidates are told.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass

from nilometer.algebra.places import Place
from nilometer.phenomena.neighbours import Near, Source


@dataclass(frozen=True)
class Grouping:
    """The neighbours of each sensor (None: unknown, or all of them) and the least size of a phenomenon."""

    members: int
    neighbours: Mapping[Source, frozenset[Source]] | None = None

    def border(self, cluster: Set[Source]) -> Set[Source]:
        """The sensors of a cluster with a neighbour in another."""
        if self.neighbours is None:
            return cluster
        return {source for source in cluster if not self.neighbours.get(source, frozenset()) <= cluster}

    def told(self, candidates: Iterable[Source], border: Set[Source]) -> set[Source]:
        """The candidates of one class and cluster that may be part of a phenomenon."""
        waiting = set(candidates)
        if self.neighbours is None:
            return waiting
        found: set[Source] = set()
        while waiting:
            component, edge = set[Source](), {waiting.pop()}
            while edge:
                component |= edge
                edge = {
                    other for source in edge for other in self.neighbours.get(source, ()) if other in waiting
                }
                waiting -= edge
            if len(component) >= self.members or not component.isdisjoint(border):
                found |= component
        return found


def local_grouping(
    members: int, reach: float | None, coordinates: str | None, places: Mapping[Source, Place | None] | None
) -> Grouping:
    """The grouping of sensors at these places (None: they move), which are neighbours up to `reach` apart (None: by
    another rule)."""
    if reach is None or places is None:
        return Grouping(members)
    near = Near(reach, coordinates)
    for source, place in places.items():
        near.place(source, place)
    return Grouping(members, {source: frozenset(near.of(source) or ()) for source in places})
