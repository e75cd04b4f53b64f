"""A plan and a network -> which sites sense which extent, and how often."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from nilometer.catalog.near_misses import join_names
from nilometer.catalog.network import Network, NodeId
from nilometer.errors import UnsupportedError
from nilometer.plan import physical
from nilometer.types import SECOND, Kind, format_duration

SourceKey = tuple[str, str, frozenset[int | str] | None]
"""The key of an acquisition: alias, stream and sensors (the branches of a UNION may use one alias twice)."""


def source_key(node: physical.SpAcquire) -> SourceKey:
    """The key of an acquisition. Acquisitions that differ only in their columns have the same key."""
    return node.alias, node.stream.name, node.sensors


@dataclass(frozen=True)
class Sources:
    """`sensed_at`: the sites of each acquisition in the network. `elsewhere`: the acquisitions outside it (a
    pushed stream, or a stream of another network), each with the reason. `interval`: microseconds."""

    sensed_at: Mapping[SourceKey, frozenset[NodeId]]
    elsewhere: Mapping[SourceKey, str]
    interval: int

    def rows_per_second(self, elsewhere: Mapping[str, float]) -> float:
        """The most readings per second that the query reads; `elsewhere` has the rates of streams outside the
        network."""
        sensed = sum(map(len, self.sensed_at.values())) * SECOND / self.interval
        return sensed + sum(elsewhere.get(alias, 0.0) for alias, _, _ in self.elsewhere)

    def sites(self, network: Network) -> tuple[NodeId, ...]:
        """All sites that sense, in the order of the network."""
        wanted = frozenset().union(*self.sensed_at.values())
        return tuple(node.id for node in network.nodes if node.id in wanted)


def sources_of(plan: physical.Node, network: Network) -> Sources:
    """The sources of a plan's readings. Refuses a plan that reads nothing from the network, or at several
    intervals."""
    sensed_at: dict[SourceKey, frozenset[NodeId]] = {}
    elsewhere: dict[SourceKey, str] = {}
    intervals: dict[int, str] = {}
    for node in physical.walk_plan(plan):
        if not isinstance(node, physical.SpAcquire):
            continue
        hosts = network.hosts(node.stream.name)
        if not node.stream.sensed:
            elsewhere[source_key(node)] = f"'{node.stream.name}' is pushed, not sensed"
        elif not hosts:
            elsewhere[source_key(node)] = f"no node of network '{network.name}' senses '{node.stream.name}'"
        else:
            sensed_at[source_key(node)] = _sites(node, network, hosts)
            intervals[node.stream.every or 0] = node.stream.name
    if not sensed_at:
        known = dict.fromkeys(name for node in network.nodes for name in node.streams)
        raise UnsupportedError(
            f"network '{network.name}' has no source for this query",
            detail="; ".join(dict.fromkeys(elsewhere.values())) or "the query reads no stream",
            hint=f"its nodes sense {join_names(known, 'and')}"
            if known
            else 'say at its nodes which streams they sense: streams = ["river"]',
        )
    if len(intervals) > 1:
        found = ", ".join(f"{name} every {format_duration(every)}" for every, name in intervals.items())
        raise UnsupportedError(
            "one agenda cannot acquire at several intervals",
            detail=found,
            hint="declare them alike (SENSED EVERY ...), or give `plan` or `simulate` the interval that all shall have"
            " (--acquisition-interval)",
        )
    return Sources(sensed_at, elsewhere, next(iter(intervals)))


def check_ids(plan: physical.Node, network: Network) -> None:
    """Refuse a stream whose ids cannot be those of the nodes that sense it, because one side has names and
    the other numbers."""
    for node in physical.walk_plan(plan):
        if not isinstance(node, physical.SpAcquire) or not node.stream.sensed:
            continue
        name, named = node.stream.name, node.stream.id_type.kind is Kind.STRING
        others = [host for host in network.hosts(name) if isinstance(host, str) != named]
        if others:
            listed = join_names(map(str, others), "and")
            raise UnsupportedError(
                f"the ids of '{name}' and those of its nodes in network '{network.name}' differ in type",
                detail=f"the stream's are {node.stream.id_type}, those of {listed} are {'numbers' if named else 'names'}",
                hint="declare the stream's id INT, or put quotes round the nodes' ids"
                if named
                else f"declare names: CREATE STREAM {name} (id STRING, ...)",
            )


def _sites(node: physical.SpAcquire, network: Network, hosts: tuple[NodeId, ...]) -> frozenset[NodeId]:
    if node.sensors is None:
        return frozenset(hosts)
    found = frozenset(host for host in hosts if host in node.sensors)
    if not found:
        wanted = join_names(sorted(map(str, node.sensors)), "and")
        asked = f"it reads {wanted}" if wanted else "its conditions hold for no declared sensor"
        raise UnsupportedError(
            f"network '{network.name}' has no source for this query",
            detail=f"{asked} of '{node.stream.name}', and the nodes that sense it are"
            f" {join_names(map(str, hosts), 'and')}",
            hint="sensors and nodes go by the same ids: declare the streams at the nodes that have them"
            if wanted
            else "nilometer sensors lists them with their attributes",
        )
    return found


def at_interval(plan: physical.Node, interval: int) -> physical.Node:
    """The plan with another acquisition interval for all its sensed streams."""

    def change(node: physical.Node) -> physical.Node:
        if isinstance(node, physical.SpAcquire) and node.stream.sensed and node.stream.every != interval:
            return replace(node, stream=replace(node.stream, every=interval))
        return node

    return physical.transform_plan(plan, change)


def declared_interval(plan: physical.Node) -> int:
    """The shortest acquisition interval that the plan's streams declare."""
    acquires = (node for node in physical.walk_plan(plan) if isinstance(node, physical.SpAcquire))
    return min((node.every for node in acquires if node.every is not None), default=SECOND)
