"""The data at hand as readings for emulated motes: what each node of a network found at each tick."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from nilometer.catalog.near_misses import join_names
from nilometer.catalog.network import Network, NodeId
from nilometer.engine.data import feed_of, sensors_by_stream
from nilometer.errors import DataError
from nilometer.placement.limit_acquisitions import limit_acquisitions
from nilometer.placement.sources import sources_of
from nilometer.plan import physical
from nilometer.types import format_time

if TYPE_CHECKING:
    from nilometer.engine.query import Query
    from nilometer.sensornet.motes.readings import Readings


def recorded_readings(query: Query, network: Network) -> tuple[Readings, int]:
    """The readings from the first tick on, as long as every node that is asked for a stream of the query has one at every tick; and
    that tick. A mote takes its readings at ticks, so that their times are rounded down to them."""
    plan = limit_acquisitions(query.physical, network, sensors_by_stream(query.database.catalog))
    asked = sources_of(plan, network)
    found: dict[str, dict[NodeId, dict[int, dict[str, Any]]]] = {}
    interval = 0
    for name, stream in physical.streams_of(query.physical).items():
        interval = stream.every or 1
        here = {site for (_, of, _), sites in asked.sensed_at.items() if of.lower() == name for site in sites}
        sites: dict[NodeId, dict[int, dict[str, Any]]] = {
            site: {} for site in network.hosts(stream.name) if site in here
        }
        for item in feed_of(query.database.data, stream).items:
            if isinstance(item, int):
                continue  # a heartbeat
            row = {column.lower(): value for column, value in item.items()}
            if row["id"] in sites:
                sites[row["id"]][row["time"] // interval * interval] = row
        if sites and not any(sites.values()):
            raise DataError(
                f"there are no readings of '{stream.name}' from a node that senses it",
                detail=f"the nodes are {join_names(map(str, sites), 'and')}",
                hint=f"give them by --data, in {name}.csv, with the nodes' ids; or leave --recorded out",
            )
        found[name] = sites
    ticks = [tick for sites in found.values() for readings in sites.values() for tick in readings]
    start = min(ticks)
    count = 0
    while all(
        start + count * interval in readings for sites in found.values() for readings in sites.values()
    ):
        count += 1
    if count == 0:
        missing = next(
            (name, site)
            for name, sites in found.items()
            for site, readings in sites.items()
            if start not in readings
        )
        raise DataError(
            "a node has no reading at the first tick",
            detail=f"node {missing[1]} of '{missing[0]}' at {format_time(start)}",
            hint="let the readings of all nodes begin together",
        )
    return {
        name: {
            site: [readings[start + number * interval] for number in range(count)]
            for site, readings in sites.items()
        }
        for name, sites in found.items()
    }, start
