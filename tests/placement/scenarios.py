"""Queries, networks and plans that the tests of placement share: SNEE's running example, and random ones."""

from __future__ import annotations

from pathlib import Path

from nilometer.catalog.network import Link, Network, NetworkNode
from nilometer.catalog.network_files import import_network
from nilometer.catalog.profiles import cost_profile
from nilometer.engine import Database, connect
from nilometer.placement import Placement, QualityOfService, place, placement_profile
from nilometer.plan import physical
from nilometer.types import HOUR

SCHEMA = """
CREATE STREAM River (id INT, time INT UNIT 's', rain INT, depth INT) SENSED EVERY 15 MINUTES;
CREATE STREAM Hilltop (id INT, time INT UNIT 's', rain INT) SENSED EVERY 15 MINUTES;
CREATE SENSOR 5 OF River; CREATE SENSOR 6 OF River; CREATE SENSOR 7 OF River; CREATE SENSOR 9 OF River;
CREATE SENSOR 4 OF Hilltop;
"""

Q1 = "RSTREAM SELECT River.time, River.depth FROM River[NOW]"
Q2 = "RSTREAM SELECT AVG(River.depth) FROM River[NOW]"
Q3 = """RSTREAM SELECT River.time, Hilltop.rain, River.depth
FROM River[NOW], Hilltop[AT NOW - 15 MINUTES]
WHERE Hilltop.rain > 5 AND River.rain < Hilltop.rain"""

DAY = QualityOfService.of(delivery_time=24 * HOUR)
"""SNEE Fig. 5: delivered within 24 hours."""


def database(schema: str = SCHEMA) -> Database:
    """The declarations of the running example, or others."""
    found = connect()
    found.execute(schema)
    return found


def brook(costs: str = "snee-2010") -> Network:
    """The ten motes of SNEE Fig. 3."""
    path = Path(__file__).parents[1] / "catalog" / "data" / "snee.toml"
    network = import_network(path, "brook")
    return Network(network.name, network.sink, network.nodes, network.links, cost_profile(costs))


def physical_plan(query: str, profile: str = "default", schema: str = SCHEMA) -> physical.Node:
    """The physical plan of a query under a profile of the optimizer."""
    return database(schema).sql(query).with_profile(profile).physical


def placed(
    query: str,
    profile: str = "default",
    quality: QualityOfService | None = DAY,
    network: Network | None = None,
) -> Placement:
    """The placement of a query, optimized and placed under the profile of one name."""
    return place(physical_plan(query, profile), network or brook(), quality, placement_profile(profile))


def line_network(count: int, *, ram: int | None = 4096, energy: float | None = 31320.0) -> Network:
    """A chain of nodes, 0 the sink, all others sensing River."""
    nodes = [NetworkNode(0)]
    nodes += [NetworkNode(number, ram, None, energy, None, ("River",)) for number in range(1, count)]
    links = tuple(Link(number, number - 1) for number in range(1, count))
    return Network("line", 0, tuple(nodes), links, cost_profile("snee-2010"))
