"""A routing tree while it grows: paths are added, each from a source to what is already there."""

from __future__ import annotations

from collections.abc import Iterable

from nilometer.catalog.network import NodeId
from nilometer.placement.routing_tree import RoutingTree


class GrowingTree:
    """Keeps the order in which sites joined; siblings keep it in the tree."""

    def __init__(self, sink: NodeId) -> None:
        self.sink = sink
        self._parents: dict[NodeId, NodeId] = {}

    def __contains__(self, site: NodeId) -> bool:
        return site == self.sink or site in self._parents

    def add(self, path: Iterable[NodeId]) -> None:
        """Add a path that leads from a source towards the tree, as far as its first site that is in the tree."""
        edges: list[tuple[NodeId, NodeId]] = []
        before: NodeId | None = None
        for site in path:
            if before is not None:
                edges.append((before, site))
            if site in self:
                break
            before = site
        self._parents.update(edges)

    def finished(self, sources: Iterable[NodeId], heuristic: str) -> RoutingTree:
        """The tree, and how it was found."""
        return RoutingTree(self.sink, tuple(self._parents.items()), tuple(sources), heuristic)
