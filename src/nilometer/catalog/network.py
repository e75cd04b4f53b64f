"""The mote network: nodes with their resources, radio links with their quality, and the cost of actions.

A network is frozen and refuses to be built wrong. A link to an unknown node, a node that cannot reach the
sink, and a quality outside (0, 1] each raise a `CatalogError` that names the culprit.

>>> nodes = (NetworkNode(0), NetworkNode(1, streams=("river",)))
>>> Network("brook", 0, nodes, (Link(0, 1, 0.9),)).neighbours(1)
(0,)
"""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass, field
from functools import cached_property

from nilometer.catalog.near_misses import join_names, near_misses
from nilometer.errors import CatalogError
from nilometer.types import INT_MAXIMUM

NodeId = int | str

MOST_RETRIES = 7
"""The maximum that IEEE 802.15.4 allows (macMaxFrameRetries); its default is 3."""


@dataclass(frozen=True, slots=True)
class NetworkNode:
    """A mote: `ram` and `flash` in bytes, `energy` in joules (None: unlimited or unknown), and the streams it
    senses."""

    id: NodeId
    ram: int | None = None
    flash: int | None = None
    energy: float | None = None
    location: tuple[float, float] | None = None
    streams: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Link:
    """Two nodes that hear each other. `quality` is the probability that a packet arrives, `cost` a weight for
    routing.

    A link holds in both directions, unless the network also lists the opposite one with its own quality.
    """

    source: NodeId
    target: NodeId
    quality: float = 1.0
    cost: float = 1.0

    @property
    def reverse(self) -> Link:
        """The same link in the opposite direction."""
        return Link(self.target, self.source, self.quality, self.cost)


@dataclass(frozen=True, slots=True)
class CostProfile:
    """The costs of primitive actions as (parameter, value) pairs, sorted by parameter. Units are the
    profile's own."""

    name: str = "default"
    parameters: tuple[tuple[str, float], ...] = ()

    def __post_init__(self) -> None:
        names = [name for name, _ in self.parameters]
        if len(set(names)) != len(names):
            raise CatalogError(
                f"profile '{self.name}' has a parameter twice", hint="leave one of the two out"
            )
        object.__setattr__(self, "parameters", tuple(sorted(self.parameters)))

    def __getitem__(self, parameter: str) -> float:
        for name, value in self.parameters:
            if name == parameter:
                return value
        raise CatalogError(
            f"profile '{self.name}' has no parameter '{parameter}'",
            hint=near_misses(parameter, [name for name, _ in self.parameters]),
        )


@dataclass(frozen=True)
class Network:
    """A connected topology around its sink, in the order of declaration, by which routing breaks ties.

    `retries` says how often a packet that was not acknowledged is sent again. With 0, packets are sent once
    and are not acknowledged.
    """

    name: str
    sink: NodeId
    nodes: tuple[NetworkNode, ...]
    links: tuple[Link, ...]
    profile: CostProfile = field(default_factory=CostProfile)
    retries: int = 0

    def __post_init__(self) -> None:
        _check_retries(self)
        _check_nodes(self)
        _check_links(self)
        _check_connected(self)

    def node(self, identifier: NodeId) -> NetworkNode:
        """The node of that id."""
        found = self._node_by_id.get(identifier)
        if found is None:
            raise _no_node(self, identifier, f"network '{self.name}' has no node {identifier!r}")
        return found

    def link(self, source: NodeId, target: NodeId) -> Link | None:
        """The link from one node to the other, if they hear each other."""
        return self._link_by_ends.get((source, target))

    def neighbours(self, identifier: NodeId) -> tuple[NodeId, ...]:
        """The nodes it hears, in the order of the links."""
        return self._neighbours_by_id.get(identifier, ())

    def hosts(self, stream: str) -> tuple[NodeId, ...]:
        """The nodes that sense the stream, in order."""
        wanted = stream.lower()
        return tuple(n.id for n in self.nodes if wanted in (name.lower() for name in n.streams))

    @cached_property
    def _node_by_id(self) -> dict[NodeId, NetworkNode]:
        return {node.id: node for node in self.nodes}

    @cached_property
    def _link_by_ends(self) -> dict[tuple[NodeId, NodeId], Link]:
        found = {(link.target, link.source): link.reverse for link in self.links}
        return found | {(link.source, link.target): link for link in self.links}

    @cached_property
    def _neighbours_by_id(self) -> dict[NodeId, tuple[NodeId, ...]]:
        found: dict[NodeId, dict[NodeId, None]] = {node.id: {} for node in self.nodes}
        for link in self.links:
            found[link.source][link.target] = None
            found[link.target][link.source] = None
        return {identifier: tuple(others) for identifier, others in found.items()}


def _check_retries(network: Network) -> None:
    if not 0 <= network.retries <= MOST_RETRIES:
        raise CatalogError(
            f"network '{network.name}' has an impossible number of retries",
            detail=f"retries is {network.retries}",
            hint=f"give 0 to {MOST_RETRIES}, as macMaxFrameRetries of IEEE 802.15.4; 0: packets are not acknowledged",
        )


def _check_nodes(network: Network) -> None:
    seen: set[NodeId] = set()
    for node in network.nodes:
        if node.id in seen:
            raise CatalogError(
                f"node {node.id!r} stands twice in network '{network.name}'",
                hint="give every node an id of its own",
            )
        seen.add(node.id)
        for what, amount in (("ram", node.ram), ("flash", node.flash), ("energy", node.energy)):
            if amount is not None and not 0 <= amount <= INT_MAXIMUM:
                raise CatalogError(
                    f"node {node.id!r} of network '{network.name}' has an impossible {what}",
                    detail=f"{what} is {amount}",
                    hint="give bytes or joules of 0 or more, or leave it out where it is not limited",
                )
    if network.sink not in seen:
        raise _no_node(
            network, network.sink, f"the sink {network.sink!r} is no node of network '{network.name}'"
        )


def _check_links(network: Network) -> None:
    known = {node.id for node in network.nodes}
    seen: set[tuple[NodeId, NodeId]] = set()
    for link in network.links:
        text = f"link {link.source!r} - {link.target!r} of network '{network.name}'"
        for end in (link.source, link.target):
            if end not in known:
                raise _no_node(network, end, f"{text} names node {end!r}, which is not there")
        if link.source == link.target:
            raise CatalogError(f"{text} joins a node to itself", hint="leave the link out")
        if (link.source, link.target) in seen:
            raise CatalogError(f"{text} stands twice", hint="leave one of the two out")
        if not 0 < link.quality <= 1:
            raise CatalogError(
                f"{text} has a quality out of range",
                detail=f"quality is {link.quality}",
                hint="quality is the probability that a packet arrives: above 0 and at most 1",
            )
        if not (link.cost >= 0 and math.isfinite(link.cost)):
            raise CatalogError(
                f"{text} has an impossible cost", detail=f"cost is {link.cost}", hint="give 0 or more"
            )
        seen.add((link.source, link.target))


def _check_connected(network: Network) -> None:
    neighbours: dict[NodeId, list[NodeId]] = {node.id: [] for node in network.nodes}
    for link in network.links:
        neighbours[link.source].append(link.target)
        neighbours[link.target].append(link.source)
    reached, waiting = {network.sink}, deque([network.sink])
    while waiting:
        for next_node in neighbours[waiting.popleft()]:
            if next_node not in reached:
                reached.add(next_node)
                waiting.append(next_node)
    cut_off = [node.id for node in network.nodes if node.id not in reached]
    if cut_off:
        raise CatalogError(
            f"network '{network.name}' is not connected: the sink {network.sink!r} cannot be reached from everywhere",
            detail=f"cut off: {join_names(map(str, cut_off), 'and')}",
            hint="add a link to each of them, or leave them out",
        )


def _no_node(network: Network, identifier: NodeId, message: str) -> CatalogError:
    return CatalogError(message, hint=near_misses(str(identifier), [str(node.id) for node in network.nodes]))
