"""A query and a network -> its placement, and the stages of EXPLAIN that show it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from nilometer.catalog.measured import kept
from nilometer.catalog.near_misses import join_names, near_misses
from nilometer.catalog.network import Network
from nilometer.catalog.statistics import stream_statistics
from nilometer.engine.data import sensors_by_stream
from nilometer.errors import ConfigurationError
from nilometer.plan import physical

if TYPE_CHECKING:
    from nilometer.engine.query import Query
    from nilometer.placement import Placement, QualityOfService

PLACEMENT_STAGES = ("routing", "fragments", "placed", "agenda")
"""The stages that need a network."""


def placement_of(
    query: Query, network: str | Network | None = None, quality: QualityOfService | None = None
) -> Placement:
    """Where and when the query runs in a network: in the one of that name, or in the only one that senses a
    stream of the query. The query's profile also applies to the placement."""
    from nilometer.placement import place, placement_profile

    found = network if isinstance(network, Network) else network_for(query, network)
    profile = placement_profile(query.profile)
    return place(
        query.physical,
        with_sensors(query, found),
        quality,
        profile,
        rates=_rates(query),
        sensors=sensors_by_stream(query.database.catalog),
    )


def _rates(query: Query) -> dict[str, float]:
    """The readings per second of each stream that the query reads, by alias: as measured, else as
    far as the catalog knows."""
    catalog, base = query.database.catalog, query.database.data.base
    found = {}
    for node in physical.walk_plan(query.physical):
        if isinstance(node, physical.SpAcquire):
            measured = kept(base, node.stream.name)
            rate = None if measured is None else measured.rate
            found[node.alias] = stream_statistics(catalog, node.stream.name).rate if rate is None else rate
    return found


def network_for(query: Query, name: str | None) -> Network:
    """The network of that name; without one, the only one that senses a stream of the query."""
    catalog = query.database.catalog
    if name is not None:
        found = catalog.network(name)
        if found is None:
            known = [network.name for network in catalog.networks()]
            raise ConfigurationError(
                f"no network '{name}'",
                hint=near_misses(name, known)
                or "declare one, CREATE NETWORK brook FROM 'brook.toml', or name the file: --network brook.toml",
            )
        return found
    networks = [n for n in catalog.networks() if _senses(query, n)] or list(catalog.networks())
    if len(networks) == 1:
        return networks[0]
    if not networks:
        raise ConfigurationError(
            "there is no network to place the query in",
            hint="declare one, CREATE NETWORK brook FROM 'brook.toml', or name the file: --network brook.toml",
        )
    raise ConfigurationError(
        "there are several networks to place the query in",
        detail=f"there are {join_names([n.name for n in networks], 'and')}",
        hint="say which: --network NAME",
    )


def with_sensors(query: Query, network: Network) -> Network:
    """The network with the streams that its nodes sense. If the network does not say where a stream is
    sensed, a sensor declared with a node's id is at that node. Refuses nodes whose ids cannot be those of the
    stream."""
    from nilometer.placement.sources import check_ids

    catalog = query.database.catalog
    added: dict[int | str, list[str]] = {}
    for stream in physical.streams_of(query.physical).values():
        if not network.hosts(stream.name):
            for sensor in catalog.sensors(stream.name):
                added.setdefault(sensor.id, []).append(stream.name)
    if any(node.id in added for node in network.nodes):
        nodes = (replace(node, streams=(*node.streams, *added.get(node.id, ()))) for node in network.nodes)
        network = replace(network, nodes=tuple(nodes))
    check_ids(query.physical, network)
    return network


def misspelt_streams(query: Query, network: Network) -> list[str]:
    """Remarks on streams that the network's nodes sense and whose names nearly match a declared one."""
    known = [stream.name for stream in query.database.catalog.streams()]
    named = dict.fromkeys(name for node in network.nodes for name in node.streams)
    unknown = {name: near_misses(name, known) for name in named if name.lower() not in map(str.lower, known)}
    return [
        f"nodes of network '{network.name}' sense '{name}', and there is no such stream: {meant}"
        for name, meant in unknown.items()
        if meant is not None and meant.endswith("?")  # a network may sense streams for other queries
    ]


def _senses(query: Query, network: Network) -> bool:
    return any(network.hosts(name) for name in physical.streams_of(query.physical))


def stage_text(placement: Placement, stage: str) -> str:
    """A placement as EXPLAIN shows it at that stage."""
    from nilometer.placement import text

    shown = {
        "routing": text.routing_text,
        "fragments": text.fragments_text,
        "placed": text.placed_text,
        "agenda": text.agenda_text,
    }
    return shown[stage](placement)
