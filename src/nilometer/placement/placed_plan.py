"""The distributed-algebraic form (SNEE step 6, Figs. 17 and 18): which fragment runs where, and which site
sends what to which."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType

from nilometer.catalog.network import NodeId
from nilometer.placement.fragments import Fragment, FragmentTree
from nilometer.placement.population import Population
from nilometer.placement.routing_tree import RoutingTree


@dataclass(frozen=True)
class Instance:
    """A fragment at a site. `rows` is the most that one evaluation of it can give (every predicate true). It
    gives them in one evaluation of every `stride` (for a window that slides by more than the acquisition
    interval)."""

    fragment: int
    site: NodeId
    rows: int = 1
    stride: int = 1


@dataclass(frozen=True)
class Flow:
    """The tuples that an instance sends to its consumer in one evaluation of every `stride`: at most `rows`
    tuples of `size` bytes on the air, along `path` (from the producing site to the consuming one; a path of
    one site stays in its memory).

    The consumer of an AGGR_MERGE instance may be another instance of the same fragment, nearer to the sink.
    """

    fragment: int
    consumer: int
    path: tuple[NodeId, ...]
    rows: int
    size: int
    stride: int = 1
    windows: int = 1  # row windows that may close in one evaluation

    def tuples(self, beta: int) -> int:
        """The most tuples of a period of `beta` evaluations."""
        return self.rows * -(-beta // self.stride)

    @property
    def source(self) -> NodeId:
        """The site at which it starts."""
        return self.path[0]

    @property
    def target(self) -> NodeId:
        """The site that consumes it."""
        return self.path[-1]

    @property
    def local(self) -> bool:
        """Whether it stays at one site and is never sent by radio."""
        return len(self.path) == 1


@dataclass(frozen=True)
class PlacedPlan:
    """`instances` and `flows` are in post-order of the routing tree, so that producers come before their
    consumers. `population`: how many sites sense each source."""

    routing: RoutingTree
    fragments: FragmentTree
    instances: tuple[Instance, ...]
    flows: tuple[Flow, ...]
    population: Population

    @cached_property
    def sites_of(self) -> Mapping[int, tuple[NodeId, ...]]:
        """The sites of every fragment."""
        found: dict[int, list[NodeId]] = {fragment.number: [] for fragment in self.fragments}
        for instance in self.instances:
            found[instance.fragment].append(instance.site)
        return MappingProxyType({number: tuple(sites) for number, sites in found.items()})

    @cached_property
    def fragments_at(self) -> Mapping[NodeId, tuple[Fragment, ...]]:
        """The fragments of every site of the tree, producers first; none at a site that only relays."""
        placed: dict[NodeId, set[int]] = {site: set() for site in self.routing.post_order}
        for instance in self.instances:
            placed[instance.site].add(instance.fragment)
        order = self.fragments.post_order
        return MappingProxyType(
            {site: tuple(f for f in order if f.number in numbers) for site, numbers in placed.items()}
        )

    @cached_property
    def outgoing(self) -> Mapping[NodeId, tuple[Flow, ...]]:
        """The flows that each site sends to its parent, its own and those it relays, in the order of
        `flows`."""
        found: dict[NodeId, list[Flow]] = {site: [] for site in self.routing.post_order}
        for flow in self.flows:
            for site in flow.path[:-1]:
                found[site].append(flow)
        return MappingProxyType({site: tuple(flows) for site, flows in found.items()})

    @cached_property
    def incoming(self) -> Mapping[NodeId, tuple[Flow, ...]]:
        """The flows that each site consumes, including those that never left it."""
        found: dict[NodeId, list[Flow]] = {site: [] for site in self.routing.post_order}
        for flow in self.flows:
            found[flow.target].append(flow)
        return MappingProxyType({site: tuple(flows) for site, flows in found.items()})

    @property
    def relays(self) -> tuple[NodeId, ...]:
        """The sites that run no fragment."""
        return tuple(site for site in self.routing.post_order if not self.fragments_at[site])
