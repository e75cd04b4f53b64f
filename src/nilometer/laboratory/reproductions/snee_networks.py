"""The networks, queries and plans of SNEE's experiments (section 6; Figs. 3 and 25)."""

from __future__ import annotations

import random
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from functools import cache

import numpy as np
import polars as pl

from nilometer.catalog.extents import Stream
from nilometer.catalog.network import Network, NodeId
from nilometer.engine import connect
from nilometer.kernels.arrays import Integers
from nilometer.laboratory.scenarios import QUERIES, random_network, running_example
from nilometer.placement import Placement, QualityOfService, place, placement_profile
from nilometer.types import SECOND, format_duration

SIX_MONTHS = 15_778_463
"""Seconds, as in the paper's figures."""

ALL_QUERIES = QUERIES | {"Q*": "RSTREAM SELECT * FROM Sensors[NOW]"}
"""Fig. 25. Q* is the control: it ships everything and buffers nothing."""


@cache
def ten_nodes() -> Network:
    """Fig. 3: River on 5, 6, 7 and 9, Hilltop on 4; `Sensors`, the universal relation, on all of them."""
    network = running_example().network
    return _with_sensors(network, {node.id for node in network.nodes if node.streams})


def _with_sensors(network: Network, sensing: Collection[NodeId]) -> Network:
    nodes = tuple(
        replace(node, streams=(*node.streams, "Sensors")) if node.id in sensing else node
        for node in network.nodes
    )
    return replace(network, nodes=nodes)


@cache
def thirty_nodes() -> Network:
    """A random network of thirty nodes, because the paper does not print its own: River on eight, Hilltop on
    one, Sensors on half of the nodes, as in Fig. 3: on those nine and on six more."""
    network = random_network(random.Random("snee, thirty nodes"), 30, river=8 / 30)
    others = [node.id for node in network.nodes if not node.streams and node.id != network.sink]
    sensing = {node.id for node in network.nodes if node.streams} | set(others[:6])
    return _with_sensors(network, sensing)


def plan(
    query: str,
    network: Network,
    interval: int,
    *,
    delivery_time: int | None = None,
    profile: str = "snee-2010",
) -> Placement:
    """The placement of a query of Fig. 25 with this acquisition interval in microseconds. Q3 looks back by
    one interval."""
    database = connect()
    every = format_duration(interval)
    streams = {"River": "rain INT, depth INT", "Hilltop": "rain INT", "Sensors": "rain INT, depth INT"}
    for name, columns in streams.items():
        database.execute(f"CREATE STREAM {name} (id INT, time INT UNIT 's', {columns}) SENSED EVERY {every};")
    asked = database.sql(ALL_QUERIES[query].format(every=every)).with_profile(profile)
    quality = QualityOfService.of(delivery_time=delivery_time, buffering_factor=1 if query == "Q*" else None)
    return place(asked.physical, network, quality, placement_profile(profile))


@dataclass(frozen=True)
class AlwaysTrue:
    """Readings that satisfy every predicate of Fig. 25: it never rains on the river, and pours on the
    hilltop."""

    def read(self, stream: Stream, sites: Sequence[NodeId], ticks: Integers) -> pl.DataFrame:
        """The readings of these sites at these ticks."""
        count = len(ticks) * len(sites)
        level = 9 if stream.name == "Hilltop" else 1
        columns = []
        for column in stream.columns:
            match column.name.lower():
                case "time":
                    columns.append(pl.Series(column.name, np.repeat(ticks, len(sites))))
                case "id":
                    columns.append(pl.Series(column.name, list(sites) * len(ticks), dtype=pl.Int64))
                case _:
                    columns.append(pl.Series(column.name, np.full(count, level, dtype=np.int64)))
        return pl.DataFrame(columns)


def six_months_energy(placement: Placement) -> float:
    """The network's energy in six months in joules, without the tethered sink."""
    return placement.estimate.power * SIX_MONTHS


MINUTES_15 = 15 * 60 * SECOND
DAY = 24 * 3600 * SECOND
