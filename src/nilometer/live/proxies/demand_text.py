"""EXPLAIN's stage `demand`: what the sensors of each stream would be told if a query ran alone, and why."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from nilometer.catalog import Sensor, Stream
from nilometer.expressions import columns_of, conjuncts, uses_now
from nilometer.live.proxies.demand import Demand, for_sensor
from nilometer.live.proxies.demand_of import demand_of
from nilometer.live.proxies.filters import filter_text
from nilometer.plan import physical
from nilometer.types import format_duration


def demand_text(plan: physical.Node, sensors_of: Callable[[Stream], Sequence[Sensor]]) -> str:
    """A few lines for each stream of the plan."""
    leaves = [node for node in physical.walk_plan(plan) if isinstance(node, physical.SpAcquire)]
    demands = demand_of(plan)
    lines: list[str] = []
    for stream in {leaf.stream.name: leaf.stream for leaf in leaves}.values():
        demand = demands[stream.name]
        lines.append(f"{stream.name}: {demand}")
        lines += [f"  {line}" for line in _told(demand, sensors_of(stream))]
        lines += [f"  -- {line}" for line in _why(demand, stream)]
        lines += [
            f"  -- {line}" for leaf in leaves if leaf.stream.name == stream.name for line in _kept(leaf)
        ]
    return "\n".join(lines) or "the query reads no stream"


def _told(demand: Demand, sensors: Sequence[Sensor]) -> Iterator[str]:
    """The command to the sensors that the query needs, and how many may sleep."""
    needed = [sensor for sensor in sensors if for_sensor(demand, sensor.id) is not None]
    who = f"{len(needed)} of {len(sensors)} sensors" if sensors else "every sensor that is heard"
    rate = " or ".join(map(format_duration, demand.intervals)).lower()
    samples = f"takes a reading every {rate}" if rate else "takes readings at its own rate"
    # A condition on the id alone is decided here, so the sensor is not told it.
    one = for_sensor(demand, needed[0].id) if needed else demand
    predicate = None if one is None else one.predicate
    sends = "and sends all of them" if predicate is None else f"and sends those with {filter_text(predicate)}"
    if needed or not sensors:
        yield f"{who}: {samples} {sends}"
    asleep = len(sensors) - len(needed)
    if asleep:
        yield f"{asleep} of {len(sensors)} sensors: may sleep, if no other query needs them"
    if demand.aggregate is not None:
        yield f"{demand.aggregate} would be enough for this query"


def _why(demand: Demand, stream: Stream) -> Iterator[str]:
    declared = stream.interval
    if demand.intervals and declared is not None and demand.intervals != (declared,):
        yield f"the stream is declared every {format_duration(declared).lower()}, and the query sees no more than these readings"
    elif declared is None:
        yield "the stream declares no rate (SENSED EVERY or EXPECT EVERY), so none is asked for"
    if demand.predicate is not None:
        yield "a sensor sends its first reading whatever the filter says, and heartbeats, so that time goes on"


def _kept(leaf: physical.SpAcquire) -> Iterator[str]:
    """The conditions that the gateway keeps for itself."""
    known = {f"{leaf.alias}.{column.name}" for column in leaf.stream.columns}
    for part in conjuncts(leaf.predicate):
        if uses_now(part):
            yield f"{filter_text(part)} stays at the gateway: a sensor does not know the time of an evaluation"
        elif not columns_of(part) <= known:
            yield f"{filter_text(part)} stays at the gateway: a sensor does not know its static attributes"
