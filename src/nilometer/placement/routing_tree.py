"""The routing tree (SNEE step 4, Fig. 15): which sites take part, and the parent to which each sends."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType

from nilometer.catalog.network import NodeId
from nilometer.errors import InternalError


@dataclass(frozen=True)
class RoutingTree:
    """`edges` are (child, parent) in the order in which they joined the tree, which is also the order of
    siblings.

    >>> tree = RoutingTree(0, ((1, 0), (3, 1), (2, 1)), (3, 2))
    >>> tree.post_order, tree.path(3, 0)
    ((3, 2, 1, 0), (3, 1, 0))
    """

    sink: NodeId
    edges: tuple[tuple[NodeId, NodeId], ...]
    sources: tuple[NodeId, ...]
    heuristic: str = ""  # how it was found, for EXPLAIN

    def __post_init__(self) -> None:
        if len(self.parents) != len(self.edges) or self.sink in self.parents:
            raise InternalError("a site of a routing tree has two parents, or its sink has one")
        if len(self.post_order) != len(self.edges) + 1:
            raise InternalError("a site of a routing tree does not reach the sink")
        for source in self.sources:
            if source != self.sink and source not in self.parents:
                raise InternalError(f"source {source!r} is not in the routing tree")

    @cached_property
    def parents(self) -> Mapping[NodeId, NodeId]:
        """The parent of every site but the sink."""
        return MappingProxyType(dict(self.edges))

    @cached_property
    def children(self) -> Mapping[NodeId, tuple[NodeId, ...]]:
        """The children of every site, in the order in which they joined."""
        found: dict[NodeId, list[NodeId]] = {self.sink: []}
        for child, _ in self.edges:
            found[child] = []
        for child, parent in self.edges:
            found.setdefault(parent, []).append(child)
        return MappingProxyType({site: tuple(children) for site, children in found.items()})

    @cached_property
    def post_order(self) -> tuple[NodeId, ...]:
        """All sites, children before their parents, the sink last: the columns of an agenda."""
        order: list[NodeId] = []
        waiting = [self.sink]
        while waiting:  # parents first and siblings backwards, then turned round
            site = waiting.pop()
            order.append(site)
            waiting.extend(self.children.get(site, ()))
        return tuple(reversed(order))

    @cached_property
    def depths(self) -> Mapping[NodeId, int]:
        """The number of hops from each site to the sink."""
        found = {self.sink: 0}
        for site in reversed(self.post_order):
            for child in self.children[site]:
                found[child] = found[site] + 1
        return MappingProxyType(found)

    def path(self, site: NodeId, ancestor: NodeId) -> tuple[NodeId, ...]:
        """The sites from `site` to its ancestor, both included."""
        found = [site]
        while found[-1] != ancestor:
            if found[-1] not in self.parents:
                raise InternalError(f"{ancestor!r} is not on the way from {site!r} to the sink")
            found.append(self.parents[found[-1]])
        return tuple(found)

    def __contains__(self, site: object) -> bool:
        return site == self.sink or site in self.parents
