"""A routing tree while it grows: each step adds a path from a source to the tree."""

from __future__ import annotations

from collections.abc import Iterable

from nilometer.catalog.network import NodeId
from nilometer.placement.routing_tree import RoutingTree


class GrowingTree:
    """Keeps the order in which sites joined. Siblings keep that order in the finished tree."""

    def __init__(self, sink: NodeId) -> None:
        self.sink = sink
        self._parents: dict[NodeId, NodeId] = {}

    def __contains__(self, site: NodeId) -> bool:
        return site == self.sink or site in self._parents

    def add(self, path: Iterable[NodeId]) -> None:
        """Add a path from a source towards the tree, up to the first site that is already in the tree."""
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
        """The tree, with the name of the heuristic that found it."""
        return RoutingTree(self.sink, tuple(self._parents.items()), tuple(sources), heuristic)
