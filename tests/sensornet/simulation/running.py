"""What the tests of the simulator share: the reference's answer over the readings that a network senses, and random networks."""

from __future__ import annotations

import random
from collections.abc import Collection
from typing import Any

import numpy as np

from nilometer.catalog.network import Network, NodeId
from nilometer.engine import connect
from nilometer.laboratory.scenarios import random_network
from nilometer.plan import logical
from nilometer.plan.reference import Feed, evaluate
from nilometer.sensornet.simulation import Readings

SCHEMA = """
CREATE STREAM River (id INT, time INT UNIT 's', rain INT, depth INT) SENSED EVERY 15 MINUTES;
CREATE STREAM Hilltop (id INT, time INT UNIT 's', rain INT) SENSED EVERY 15 MINUTES;
"""

QUERIES = {
    "select": "RSTREAM SELECT River.time, River.depth FROM River[NOW]",
    "stream": "SELECT River.id, depth FROM River WHERE depth > 3",
    "aggregate": "RSTREAM SELECT AVG(River.depth) FROM River[NOW]",
    "empty groups": "SELECT COUNT(*), MAX(depth) FROM River[NOW] WHERE River.rain > 8",
    "grouped": "SELECT River.id, MAX(rain) FROM River[RANGE 45 MINUTES SLIDE 30 MINUTES] GROUP BY River.id",
    "join": "RSTREAM SELECT River.time, Hilltop.rain, River.depth FROM River[NOW], Hilltop[AT NOW - 15 MINUTES]"
    " WHERE Hilltop.rain > 5 AND River.rain < Hilltop.rain",
    "rows": "RSTREAM SELECT AVG(depth), SUM(rain) FROM River[RANGE 7 ROWS SLIDE 3 ROWS]",
    "wide": "SELECT AVG(depth), MIN(depth), MAX(depth), AVG(rain), STDEV(rain), STDEV(depth), MIN(rain), MAX(rain) FROM River[NOW]",
    "gateway": "SELECT MEDIAN(depth) FROM River[RANGE 30 MINUTES]",
}
"""A query of each kind that runs in the network, in part or as a whole."""


def reference(
    query: str,
    readings: Readings,
    network: Network,
    begin: int,
    evaluations: int,
    without: Collection[NodeId] = (),
) -> tuple[tuple[Any, ...], ...]:
    """The reference evaluator's answer over what the network's nodes sense in so many evaluations."""
    database = connect()
    database.execute(SCHEMA)
    plan = database.sql(query).logical
    feeds: dict[str, Feed] = {}
    for node in logical.walk_plan(plan):
        if isinstance(node, logical.Acquire):
            every = node.stream.every
            assert every is not None
            ticks = begin + np.arange(evaluations, dtype=np.int64) * every
            hosts = [site for site in network.hosts(node.stream.name) if site not in without]
            rows = readings.read(node.stream, hosts, ticks).to_dicts()
            feeds[node.stream.name.lower()] = Feed((*rows, begin + evaluations * every))
    return evaluate(plan, feeds, {}, {}, finished=False).rows


def some_network(seed: int, size: int = 12) -> Network:
    """A random network of motes that sense River and Hilltop."""
    return random_network(random.Random(seed), size)
