"""Readings for the emulated converters: column values -> raw 10-bit counts, by site and channel."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from random import Random
from typing import Any

from nilometer.catalog.network import NodeId
from nilometer.errors import DataError
from nilometer.plan import physical
from nilometer.plan.reference import Feed
from nilometer.sensornet.motes.converters import Converter
from nilometer.sensornet.motes.site import Motes

Readings = Mapping[str, Mapping[NodeId, Sequence[Mapping[str, Any]]]]
"""By stream (lower case) and site: the readings of consecutive evaluations, with columns by lower-case name,
without time and id."""


def raw_counts(motes: Motes, readings: Readings) -> dict[tuple[NodeId, int], list[int]]:
    """The counts that each channel of each converter must return for these readings."""
    found: dict[tuple[NodeId, int], list[int]] = {}
    for fragment in motes.placement.fragments.leaves:
        for node in fragment.acquires:
            for site in motes.placement.placed.sites_of[fragment.number]:
                series = readings[node.stream.name.lower()][site]
                for column in node.columns + node.reads:
                    channel = motes.channels.get((node.stream.name.lower(), column.name.lower()))
                    if channel is None:
                        continue
                    scale = motes.typing.converter(node, column)
                    values = [reading[column.name.lower()] for reading in series]
                    found[(site, channel)] = [
                        _count(value, scale, node, column.name, site) for value in values
                    ]
    return found


def feeds_of(
    motes: Motes, readings: Readings, start: int, evaluations: int, names: Mapping[Any, NodeId]
) -> dict[str, Feed]:
    """The same readings as logs for the reference evaluator: each at its tick, from the sensor of its site,
    under its name if it has one. The streams continue: each ends with a heartbeat that promises nothing more
    before the next evaluation."""
    feeds = {}
    for name, sites in readings.items():
        stream = next(
            node.stream
            for fragment in motes.placement.fragments
            for node in fragment.acquires
            if node.stream.name.lower() == name
        )
        items: list[dict[str, Any] | int] = []
        for number in range(evaluations):
            time = start + number * motes.typing.interval
            for site, series in sites.items():
                values = {c.name: series[number].get(c.name.lower()) for c in stream.columns}
                own: dict[str, Any] = {c.name: time for c in stream.columns if c.name.lower() == "time"}
                own |= {c.name: names.get(site, site) for c in stream.columns if c.name.lower() == "id"}
                items.append(values | own)
        feeds[name] = Feed((*items, start + evaluations * motes.typing.interval))
    return feeds


def _count(value: float, scale: Converter, node: physical.SpAcquire, column: str, site: NodeId) -> int:
    count = scale.nearest(value)
    if scale.value(count) != value:
        raise DataError(
            f"a 10-bit converter cannot give {value!r}",
            detail=f"column '{column}' of '{node.stream.name}' at node {site}",
            hint=f"give multiples of {scale.step:g} from {scale.low:g} to {scale.high:g}",
        )
    return count


def random_readings(
    motes: Motes, evaluations: int, seed: int, most: Mapping[str, int] | None = None
) -> Readings:
    """Seeded readings for every source. `most` bounds the raw counts of a column (by lower-case name). The
    default is 31, so that conditions on small numbers are sometimes true."""
    random = Random(seed)
    found: dict[str, dict[NodeId, list[dict[str, Any]]]] = {}
    for fragment in motes.placement.fragments.leaves:
        for node in fragment.acquires:
            columns = [c for c in node.stream.columns if c.name.lower() not in ("time", "id")]
            sites = found.setdefault(node.stream.name.lower(), {})
            for site in motes.placement.placed.sites_of[fragment.number]:
                if site in sites:
                    continue
                sites[site] = [
                    {
                        c.name.lower(): motes.typing.converter(node, c).value(
                            random.randint(0, (most or {}).get(c.name.lower(), 31))
                        )
                        for c in columns
                    }
                    for _ in range(evaluations)
                ]
    return found
