"""A placement -> the same as arrays: sites by number (in post-order, so that a parent's number is greater
than its children's), the kinds of tuples that cross hops, and, for every fragment and site, the target of its
rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from nilometer.catalog.network import NodeId
from nilometer.kernels.arrays import Integers
from nilometer.placement import Flow, Placement


@dataclass(frozen=True)
class Kind:
    """Tuples of a fragment for a consumer, which share packets; `size` in bytes."""

    fragment: int
    consumer: int
    stride: int
    size: int


class SiteNumbers:
    """Arrays over the sites of a placement; -1 means none."""

    def __init__(self, placement: Placement) -> None:
        routing, placed = placement.routing, placement.placed
        self.placement = placement
        self.sites: tuple[NodeId, ...] = routing.post_order
        self.number: Mapping[NodeId, int] = {site: number for number, site in enumerate(self.sites)}
        parents = [routing.parents.get(site) for site in self.sites]
        self.parent: Integers = np.array([-1 if p is None else self.number[p] for p in parents])
        self.depth: Integers = np.array([routing.depths[site] for site in self.sites])
        self.kinds: list[Kind] = []
        self.kind_of: dict[int, Integers] = {}
        self.target_of: dict[int, Integers] = {}
        self.consumer_of: dict[int, Integers] = {}
        known: dict[tuple[int, int, int], int] = {}
        for flow in placed.flows:
            kind = known.setdefault(_key(flow), len(known))
            if kind == len(self.kinds):
                self.kinds.append(Kind(flow.fragment, flow.consumer, flow.stride, flow.size))
            source = self.number[flow.source]
            self.kind_of.setdefault(flow.fragment, self._none())[source] = kind
            self.target_of.setdefault(flow.fragment, self._none())[source] = self.number[flow.target]
            self.consumer_of.setdefault(flow.fragment, self._none())[source] = flow.consumer
        self._known = known

    def __len__(self) -> int:
        return len(self.sites)

    def _none(self) -> Integers:
        return np.full(len(self.sites), -1, dtype=np.int64)

    @property
    def deepest(self) -> int:
        """The number of hops from the farthest site to the sink."""
        return int(self.depth.max())

    @cached_property
    def sizes(self) -> Integers:
        """The bytes of a tuple of each kind."""
        return np.array([kind.size for kind in self.kinds], dtype=np.int64)

    @cached_property
    def rank(self) -> Integers:
        """The order in which the kinds fill the packets of each hop: [kind, site], -1 where a kind does not
        pass."""
        found = np.full((len(self.kinds), len(self.sites)), -1, dtype=np.int64)
        for site, flows in self.placement.placed.outgoing.items():
            order = dict.fromkeys(self._known[_key(flow)] for flow in flows)
            for place, kind in enumerate(order):
                found[kind, self.number[site]] = place
        return found


def _key(flow: Flow) -> tuple[int, int, int]:
    return flow.fragment, flow.consumer, flow.stride
