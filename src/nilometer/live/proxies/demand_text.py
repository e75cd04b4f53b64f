"""EXPLAIN's stage `demand`: what the sensors of each stream would be told if a query ran alone, what they would be told
if it ran together with the declared queries, and why."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from nilometer.catalog import Sensor, Stream
from nilometer.expressions import Expression, columns_of, conjuncts, uses_now
from nilometer.live.proxies.demand import Demand, combine, for_sensor
from nilometer.live.proxies.demand_of import demand_of
from nilometer.live.proxies.filters import filter_text
from nilometer.live.proxies.guided import guided_demands
from nilometer.plan import physical
from nilometer.types import format_duration


def demand_text(
    plan: physical.Node,
    sensors_of: Callable[[Stream], Sequence[Sensor]],
    others: Sequence[tuple[str, physical.Node]] = (),
) -> str:
    """A few lines for each stream of the plan. `others` are the declared queries and their plans."""
    leaves = [node for node in physical.walk_plan(plan) if isinstance(node, physical.SpAcquire)]
    demands = demand_of(plan)
    lines: list[str] = []
    for stream in {leaf.stream.name: leaf.stream for leaf in leaves}.values():
        lines += _following(plan, stream)
        if stream.name not in demands:
            continue
        demand = demands[stream.name]
        lines.append(f"{stream.name}: {demand}")
        lines += [f"  {line}" for line in _told(demand, sensors_of(stream))]
        lines += [f"  -- {line}" for line in _why(demand, stream)]
        lines += [
            f"  -- {line}" for leaf in leaves if leaf.stream.name == stream.name for line in _kept(leaf)
        ]
        asked = [("this query", demand)]
        asked += [(name, found) for name, each in others if (found := demand_of(each).get(stream.name))]
        if len(asked) > 1:
            lines += [f"  {line}" for line in _together(asked, sensors_of(stream))]
    return "\n".join(lines) or "the query reads no stream"


def _following(plan: physical.Node, stream: Stream) -> Iterator[str]:
    """The demand on sensors that are at a phenomenon, wherever that is, and on the others."""
    for guided in guided_demands(plan):
        if guided.stream.name != stream.name:
            continue
        place = guided.place
        hops = "1 hop" if place.hops == 1 else f"{place.hops} hops"
        around = f", {hops} around" if place.hops else ""
        soon = f", or in its way within {format_duration(place.horizon).lower()}" if place.horizon else ""
        who = f"sensors at '{place.phenomenon}'{around}{soon}"
        yield f"{stream.name}: {guided.near} -- of {who}"
        if guided.rest is not None:
            yield f"{stream.name}: {guided.rest} -- of all others"
            yield f"  -- these are demands of the phenomenon's own, while a query follows it: {guided.asker}"
        yield "  -- who is there changes as it moves: nilometer log demand shows what was asked when"


def _told(demand: Demand, sensors: Sequence[Sensor]) -> Iterator[str]:
    """The command to the sensors that the query needs, and how many may sleep."""
    needed = [sensor for sensor in sensors if for_sensor(demand, sensor.id) is not None]
    who = f"{len(needed)} of {len(sensors)} sensors" if sensors else "every sensor that is heard"
    rate = " or ".join(map(format_duration, demand.intervals)).lower()
    samples = f"takes a reading every {rate}" if rate else "takes readings at its own rate"
    # A condition on the id alone is decided here, so the sensor is not told it.
    one = for_sensor(demand, needed[0].id) if needed else demand
    predicate = None if one is None else one.predicate
    sends = _sent(demand, predicate)
    if needed or not sensors:
        yield f"{who}: {samples} {sends}"
    asleep = len(sensors) - len(needed)
    if asleep:
        yield f"{asleep} of {len(sensors)} sensors: may sleep, if no other query needs them"
    if demand.aggregate is not None and demand.summary is None:
        yield f"{demand.aggregate} would be enough for this query, but a sensor cannot compute it"


def _sent(demand: Demand, predicate: Expression | None) -> str:
    """The part of its readings that a sensor sends."""
    those = "all of them" if predicate is None else f"those with {filter_text(predicate)}"
    if demand.summary is not None:
        every = format_duration(demand.summary.every).lower()
        parts = ", ".join(f"{' and '.join(parts)} of {name}" for name, parts in demand.summary.columns or ())
        return f"and sends every {every} one summary of {those}: how many{', ' + parts if parts else ''}"
    if demand.changes is not None:
        names = ", ".join(sorted(demand.columns)) or "nothing"
        return f"and sends {those}, but in {format_duration(demand.changes).lower()} no repetition of {names}"
    return f"and sends {those}"


def _together(asked: Sequence[tuple[str, Demand]], sensors: Sequence[Sensor]) -> Iterator[str]:
    """What groups of sensors are told if all these queries run, and which query asks for which part."""
    groups: dict[tuple[str, ...], list[Sensor | None]] = {}
    known: Sequence[Sensor | None] = sensors or (None,)
    for sensor in known:
        wanting = [name for name, each in asked if sensor is None or for_sensor(each, sensor.id) is not None]
        groups.setdefault(tuple(wanting), []).append(sensor)
    demands = dict(asked)
    for names, members in groups.items():
        who = f"{len(members)} of {len(sensors)} sensors" if sensors else "every sensor that is heard"
        if not names:
            yield f"with the declared queries, {who}: may sleep"
            continue
        first = members[0]
        shares = {
            name: demands[name] if first is None else for_sensor(demands[name], first.id) for name in names
        }
        whole = combine(each for each in shares.values() if each is not None)
        assert whole is not None
        rate = " or ".join(map(format_duration, whole.intervals)).lower()
        takes = f"takes a reading every {rate}" if rate else "takes readings at its own rate"
        yield f"with the declared queries, {who}: {takes} {_sent(whole, whole.predicate)}"
        for name, share in shares.items():
            yield f"  -- {name} asks for {share if share is None else replace(share, sensors=None)}"
        if whole.aggregate is None and any(each is not None and each.aggregate for each in shares.values()):
            needs = ", ".join(n for n, each in shares.items() if each is not None and each.aggregate is None)
            reason = f"{needs} needs readings" if needs else "they summarise different readings"
            yield f"  -- no summary: {reason}"


def _why(demand: Demand, stream: Stream) -> Iterator[str]:
    declared = stream.interval
    if demand.intervals and declared is not None and demand.intervals != (declared,):
        yield f"the stream is declared every {format_duration(declared).lower()}, and the query sees no more than these readings"
    elif declared is None:
        yield "the stream declares no rate (SENSED EVERY or EXPECT EVERY), so none is asked for"
    if demand.summary is not None:
        yield "a sensor that knows no summaries sends its readings, and the answer is the same"
    if demand.thins:
        yield "a sensor sends its first reading whatever the filter says, and heartbeats, so that time goes on"


def _kept(leaf: physical.SpAcquire) -> Iterator[str]:
    """The conditions that the gateway keeps for itself."""
    known = {f"{leaf.alias}.{column.name}" for column in leaf.stream.columns}
    for part in conjuncts(leaf.predicate):
        if uses_now(part):
            yield f"{filter_text(part)} stays at the gateway: a sensor does not know the time of an evaluation"
        elif not columns_of(part) <= known:
            yield f"{filter_text(part)} stays at the gateway: a sensor does not know its static attributes"
