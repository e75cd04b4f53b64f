"""The available data as readings for emulated motes: the value of each node's converters at each tick.

Recorded data has gaps, and values that no 10-bit converter gives. An emulated converter always gives a value:
if a reading is missing, it repeats the one before. Each column gets the finest scale that covers its values.
The reference evaluator gets the same readings.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from nilometer.catalog.near_misses import join_names
from nilometer.catalog.network import Network, NodeId
from nilometer.engine.data import feed_of, sensors_by_stream
from nilometer.engine.logs_at_hand import left_out
from nilometer.errors import DataError
from nilometer.placement.limit_acquisitions import limit_acquisitions
from nilometer.placement.sources import Sources, sources_of
from nilometer.plan import physical
from nilometer.types import Kind, format_time

if TYPE_CHECKING:
    from nilometer.engine.query import Query
    from nilometer.sensornet.motes.converters import Converter
    from nilometer.sensornet.motes.readings import Readings

ByTick = dict[int, dict[str, Any]]


@dataclass(frozen=True)
class Recorded:
    """`missing`: how many of the `taken` values of each evaluation were missing. `converters`: the scales, by
    stream and column. `strangers`: by stream, the ids in the readings that belong to no node that senses
    it."""

    readings: Readings
    start: int
    converters: Mapping[tuple[str, str], Converter]
    taken: int
    missing: tuple[int, ...]
    strangers: Mapping[str, tuple[NodeId, ...]]

    def notes(self, evaluations: int) -> Iterator[str]:
        """Remarks on what was changed in the data of that many evaluations."""
        for stream, strangers in self.strangers.items():
            yield left_out(stream, strangers)
        held = self.missing[:evaluations]
        if any(held):
            yield f"{sum(held)} of {self.taken * len(held)} values were missing: motes find those before again"
        for (stream, column), scale in self.converters.items():
            yield f"{stream}.{column} is sensed in steps of {scale.step:g} from {scale.low:g} on"


def recorded_readings(query: Query, network: Network, most: int) -> Recorded:
    """At most `most` readings of each node in the query, from the first tick at which all nodes have one,
    while all of them continue."""
    plan = limit_acquisitions(query.physical, network, sensors_by_stream(query.database.catalog))
    asked = sources_of(plan, network)
    heard: dict[str, set[NodeId]] = {}
    found = {
        name: _by_tick(
            query,
            name,
            [site for site in network.hosts(name) if site in sites],
            asked.interval,
            heard.setdefault(name, set()),
        )
        for name, sites in _sites(asked).items()
    }
    wanted = {column: kind for column, kind in _sensed(plan).items() if column[0] in found}
    columns = {name: [column for stream, column in wanted if stream == name] for name in found}
    start = max(_begin(name, sites, columns[name]) for name, sites in found.items())
    end = min(max(ticks) for sites in found.values() for ticks in sites.values())
    count = min(most, (end - start) // asked.interval + 1)
    if count <= 0:
        raise DataError(
            "the readings of all nodes never overlap",
            detail=f"the last to begin does so at {format_time(start)}, the first to end at {format_time(end)}",
            hint="take the stream off such a node of the network, or leave --recorded out",
        )
    missing = [0] * count
    readings: dict[str, dict[NodeId, list[dict[str, Any]]]] = {}
    for name, sites in found.items():
        readings[name] = {}
        for site, ticks in sites.items():
            evaluations = range(start, start + count * asked.interval, asked.interval)
            readings[name][site] = _held(ticks, columns[name], evaluations, missing)
    taken = sum(len(columns[name]) * len(sites) for name, sites in found.items())
    strangers = {
        name: tuple(sorted(who, key=str))
        for name in found
        if (who := heard[name] - {None, *network.hosts(name)})
    }
    return Recorded(readings, start, _scaled(readings, wanted), taken, tuple(missing), strangers)


def _sites(asked: Sources) -> dict[str, set[NodeId]]:
    found: dict[str, set[NodeId]] = {}
    for (_, stream, _), sites in asked.sensed_at.items():
        found.setdefault(stream.lower(), set()).update(sites)
    return found


def _sensed(plan: physical.Node) -> dict[tuple[str, str], Kind]:
    """The columns that converters sense, by stream and column."""
    return {
        (node.stream.name.lower(), column.name.lower()): column.type.kind
        for node in physical.walk_plan(plan)
        if isinstance(node, physical.SpAcquire)
        for column in node.columns + node.reads
        if column.name.lower() not in ("time", "id") and column.type.kind in (Kind.INT, Kind.FLOAT)
        if node.stream.column(column.name) is not None  # otherwise it is a static attribute
    }


def _by_tick(
    query: Query, name: str, sites: list[NodeId], interval: int, heard: set[NodeId]
) -> dict[NodeId, ByTick]:
    """The first reading from each tick to the next, for each site; refuses a site without any reading. Adds
    every id with a reading to `heard`."""
    stream = physical.streams_of(query.physical)[name]
    found: dict[NodeId, ByTick] = {site: {} for site in sites}
    for item in feed_of(query.database.data, stream).items:
        if isinstance(item, int):
            continue  # a heartbeat
        row = {column.lower(): value for column, value in item.items()}
        heard.add(row["id"])
        if row["id"] in found:
            found[row["id"]].setdefault(row["time"] // interval * interval, row)
    silent = [site for site, ticks in found.items() if not ticks]
    if len(silent) == len(sites):
        raise DataError(
            f"there are no readings of '{stream.name}' from a node that senses it",
            detail=f"the nodes are {join_names(map(str, sites), 'and')}",
            hint=f"give them by --data, in {name}.csv, with the nodes' ids; or leave --recorded out",
        )
    if silent:
        raise DataError(
            f"there are no readings of '{stream.name}' from {join_names(map(str, silent), 'and')}",
            detail="an emulated mote's converter always gives a value",
            hint="take the stream off these nodes of the network, or leave --recorded out",
        )
    return found


def _begin(stream: str, sites: Mapping[NodeId, ByTick], columns: list[str]) -> int:
    """The first tick by which every node has had a value of each column."""
    begin = max(min(ticks) for ticks in sites.values())
    for column in columns:
        known = {
            site: min((tick for tick, row in ticks.items() if row[column] is not None), default=None)
            for site, ticks in sites.items()
        }
        silent = [site for site, first in known.items() if first is None]
        if silent:
            raise DataError(
                f"there is no value of '{column}' of '{stream}' from {join_names(map(str, silent), 'and')}",
                detail="an emulated mote's converter always gives a value",
                hint="take the stream off these nodes of the network, or leave --recorded out",
            )
        begin = max(begin, *(first for first in known.values() if first is not None))
    return begin


def _held(ticks: ByTick, columns: list[str], evaluations: range, missing: list[int]) -> list[dict[str, Any]]:
    """A reading for every evaluation. Missing values are counted in `missing`."""
    latest: dict[str, Any] = {}
    for tick in sorted(tick for tick in ticks if tick < evaluations.start):
        latest |= {name: ticks[tick][name] for name in columns if ticks[tick][name] is not None}
    series = []
    for number, tick in enumerate(evaluations):
        row = ticks.get(tick, {})
        fresh = {name: row[name] for name in columns if row.get(name) is not None}
        missing[number] += len(columns) - len(fresh)
        latest = latest | fresh
        series.append(latest)
    return series


def _scaled(
    readings: Mapping[str, Mapping[NodeId, list[dict[str, Any]]]], wanted: Mapping[tuple[str, str], Kind]
) -> dict[tuple[str, str], Converter]:
    """The scale of each column without the plain one; rounds the readings to it."""
    from nilometer.sensornet.motes.converters import PLAIN, fitted

    scales: dict[tuple[str, str], Converter] = {}
    for (stream, column), kind in wanted.items():
        every = [reading for series in readings[stream].values() for reading in series]
        scale = fitted((reading[column] for reading in every), kind, column)
        if scale is PLAIN[kind]:
            continue
        scales[stream, column] = scale
        for series in readings[stream].values():
            series[:] = [r | {column: scale.value(scale.nearest(r[column]))} for r in series]
    return scales
