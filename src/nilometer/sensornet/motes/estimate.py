"""The flash and RAM that a site's program will take on a mote, before it is built, part by part.

`placement` estimates durations (profile `avr`). Like that profile, the figures here were fitted to
micro-programs (`calibration`), none of which is a query that is measured against them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Final

from nilometer.catalog.network import NodeId
from nilometer.expressions import Call, Expression, walk
from nilometer.placement import Fragment
from nilometer.placement.costs.float_steps import acquired_float_steps, is_float
from nilometer.plan import physical
from nilometer.sensornet.motes.fields import passes_on, tuple_size
from nilometer.sensornet.motes.site import Motes, Site
from nilometer.sensornet.motes.values import CType

FLASH: Final[Mapping[str, float]] = {
    "base": 1142,
    "send": 360,
    "receive": 643,
    "second child": 87,
    "hear acknowledgements": 558,
    "give acknowledgements": 268,
    "give and hear acknowledgements": 326,
    "keep time": 67,
    "set the clock": 188,
    "tell the time": 80,
    "hear the start": 122,
    "listen at all": 270,
    "tell the start": 190,
    "send at all": 164,
    "sense": 170,
    "sensed column": 27,
    "feeding tray": 165,
    "window": 200,
    "row window": 599,
    "join": 129,
    "byte of states": 17,
    "merge": 176,
    "byte of merged states": 45,
    "grouping": 201,
    "further kind of frames": 144,
    "float": 172,
    "float reading": 444,
    "float addition": 184,
    "float comparison": 175,
}
"""Bytes of program memory per part. A program that does not send delivers, and its serial line is in the
base."""

RAM: Final[Mapping[str, float]] = {
    "base": 69.1,
    "tray": 6.6,
    "send": 22.3,
    "receive": 48.8,
    "second child": 13.2,
    "hear acknowledgements": 52.6,
    "give acknowledgements": 35.7,
    "give and hear acknowledgements": 5.2,
    "keep time": 3.7,
    "set the clock": 7.9,
    "tell the time": 3.9,
    "listen at all": 34.5,
    "send at all": 32.9,
    "sense": 0.5,
    "feeding tray": 0.5,
    "window": 1.6,
    "row window": 7,
    "join": 8.8,
    "merge": 7.8,
    "grouping": 0.6,
    "further kind of frames": 3.9,
    "float addition": 0.5,
    "float comparison": 1.3,
}
"""Bytes of RAM per part besides its tuples, including the stack. A missing part takes less than one."""


def flash_estimate(motes: Motes, identifier: NodeId) -> int:
    """Bytes of program memory."""
    return round(_priced(parts(motes, identifier), FLASH))


def ram_estimate(motes: Motes, identifier: NodeId) -> int:
    """Bytes of RAM, the stack included."""
    return round(held_bytes(motes, motes.site(identifier)) + _priced(parts(motes, identifier), RAM))


def held_bytes(motes: Motes, site: Site) -> int:
    """Bytes of the tuples that a site keeps, in trays and in the state of operators."""
    return sum(tray.size for tray in site.trays) + state_bytes(motes, site)


def _priced(found: Mapping[str, int], prices: Mapping[str, float]) -> float:
    return sum(prices.get(name, 0.0) * count for name, count in found.items())


def parts(motes: Motes, identifier: NodeId) -> Counter[str]:
    """The number of each part in a site's program."""
    site = motes.site(identifier)
    found: Counter[str] = Counter(base=1, tray=len(site.trays))
    found["send"] = int(site.sends)
    found["receive"] = int(site.receives)
    if motes.retries and (site.sends or site.receives):
        found[_acknowledging(site)] = 1
    if motes.timekeeping.drifts and (site.sends or site.receives):
        found["keep time"] = 1
        found["set the clock"] = int(site.sends)
        found["tell the time"] = int(site.receives)
    if motes.starting is not None and (site.sends or site.receives):
        found["hear the start"] = int(site.sends)
        found["tell the start"] = int(site.receives)
        # Without acknowledgements, a leaf listens to nothing else, and the sink sends nothing else.
        found["listen at all"] = int(not site.receives and not motes.retries)
        found["send at all"] = int(not site.sends and not motes.retries)
    if identifier == motes.placement.routing.sink:
        found["further kind of frames"] = len(motes.delivered) - 1
    for fragment in (*site.leaves, *site.inner):
        found["feeding tray"] += sum(tray.consumer == fragment.number for tray in site.trays)
        for node in fragment.mote_operators:
            if not passes_on(node):
                found += _operator(motes, node)
    found["sense"] = int(bool(found["sensed column"]))
    found["second child"] = int(sum(step.what == "receive" for step in site.steps) > 1)
    return found + _float_routines(motes, (*site.leaves, *site.inner))


def _acknowledging(site: Site) -> str:
    """The part for acknowledgements. A site that both sends and receives already has most of it."""
    if site.sends and site.receives:
        return "give and hear acknowledgements"
    return "hear acknowledgements" if site.sends else "give acknowledgements"


def _operator(motes: Motes, node: physical.Node) -> Counter[str]:
    match node:
        case physical.SpAcquire():
            sensed = [c for c in node.columns + node.reads if c.name.lower() not in ("time", "id")]
            return Counter({"sensed column": len(sensed)})
        case physical.TimeWindow(start=start) if start:
            return Counter({"window": 1})
        case physical.RowWindow():
            return Counter({"row window": 1})
        case physical.NlJoin() | physical.HashJoin():
            return Counter({"join": 1})
        case physical.AggregateInit() | physical.AggregateMerge():
            merges = isinstance(node, physical.AggregateMerge)
            states = sum(field.size for name, field in motes.typing.fields(node).items() if "#" in name)
            return Counter(
                {
                    "merge": int(merges),
                    "byte of merged states" if merges else "byte of states": states,
                    "grouping": int(bool(node.keys)),
                }
            )
    return Counter()


def _float_routines(motes: Motes, fragments: tuple[Fragment, ...]) -> Counter[str]:
    """The routines of avr-libc for `float` in a program, once each: to convert a reading, to add, and the
    part that both need; to compare (also with itself, because NULL is not a number)."""
    found: Counter[str] = Counter()
    for fragment in fragments:
        kinds = (
            [(kind.node, kind.ordered) for kind in motes.delivered]
            if fragment.delivers
            else [(fragment.root, fragment.number in motes.ordered)]
        )
        kept = [field for node, ordered in kinds for field in motes.typing.stored(node, ordered).values()]
        found["float comparison"] |= int(any(f.ctype is CType.FLOAT and f.nullable for f in kept))
        for node in fragment.mote_operators:
            if passes_on(node):
                continue
            for function in _float_functions(node):
                routine = "addition" if function in ("+", "-", "sum", "avg") else "comparison"
                found["float reading" if function == "read" else f"float {routine}"] = 1
    found["float"] = int(bool(found["float reading"] or found["float addition"]))  # the part that both share
    return found


def _float_functions(node: physical.Node) -> Iterator[str]:
    """A node's uses of FLOATs: operators and functions of its expressions, aggregates, and `read` for sensed
    columns."""
    if isinstance(node, physical.SpAcquire) and acquired_float_steps(node):
        yield "read"
    for expression in _expressions(node):
        for part in walk(expression):
            if isinstance(part, Call) and any(map(is_float, part.arguments)):
                yield part.function
    if isinstance(node, physical.AggregateInit | physical.AggregateMerge):
        for item in node.items:
            if item.aggregate.argument is not None and is_float(item.aggregate.argument):
                yield item.aggregate.function


def _expressions(node: physical.Node) -> list[Expression]:
    match node:
        case physical.SpAcquire(predicate=predicate) | physical.NlJoin(predicate=predicate):
            return [] if predicate is None else [predicate]
        case physical.Select(predicate=predicate):
            return [predicate]
        case physical.Project(items=items):
            return [item.expression for item in items]
    return []


def state_bytes(motes: Motes, site: Site) -> int:
    """Bytes of the state of operators: rings of windows, states and groups of aggregates."""
    total = 0
    for fragment in (*site.leaves, *site.inner):
        for node in fragment.mote_operators:
            match node:
                case physical.TimeWindow() if list(motes.typing.ages(node)) != [0]:
                    total += motes.typing.ages(node).stop * tuple_size(motes.typing.stored(node.input)) + 1
                case physical.RowWindow(start=start):
                    row = tuple_size(motes.typing.fields(node.input, True)) - 1
                    total += ((start or 0) + 1 + max(site.arrivals.get(fragment.number, 0), 1)) * row + 4
                case physical.AggregateInit() | physical.AggregateMerge() if not node.keys:
                    total += tuple_size(motes.typing.fields(node))
                case physical.AggregateInit() | physical.AggregateMerge():
                    groups = motes.typing.groups(node, site.arrivals.get(fragment.number, 0))
                    total += groups * (tuple_size(motes.typing.fields(node)) - 1) + 1
    return total
