"""What a site's program will take of a mote, before it is built: flash and RAM, part by part.

Durations are the business of `placement` (profile `avr`). The figures here were fitted, like that profile, to micro-programs
(`calibration`), none of which is a query that is measured against them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Final

from nilometer.catalog.network import NodeId
from nilometer.expressions import Call, Expression, walk
from nilometer.placement import Fragment
from nilometer.plan import physical
from nilometer.sensornet.motes.fields import is_deferred, tuple_size
from nilometer.sensornet.motes.site import Motes, Site

FLASH: Final[Mapping[str, float]] = {
    "base": 822,
    "tray": 38,
    "send": 656,
    "receive": 516,
    "serial": 166,
    "sense": 34,
    "step": 45,
    "leaf": 57,
    "feeding tray": 193,
    "sensed column": 36,
    "window": 176,
    "row window": 456,
    "aggregation": 149,
    "grouping": 57,
    "float": 858,
    "join": 1,
}
"""Bytes of program memory for each part; what is not here was lost in the others."""

RAM: Final[Mapping[str, float]] = {
    "base": 52,
    "tray": 7.4,
    "send": 40,
    "receive": 44,
    "serial": 12,
    "feeding tray": 2.7,
    "row window": 2.6,
    "join": 1.8,
    "aggregation": 0.9,
}
"""Bytes of RAM for each part beside its tuples, the stack included."""


def flash_estimate(motes: Motes, identifier: NodeId) -> int:
    """Bytes of program memory."""
    return round(_priced(parts(motes, identifier), FLASH))


def ram_estimate(motes: Motes, identifier: NodeId) -> int:
    """Bytes of RAM, the stack included."""
    return round(held_bytes(motes, motes.site(identifier)) + _priced(parts(motes, identifier), RAM))


def held_bytes(motes: Motes, site: Site) -> int:
    """Bytes of the tuples that a site keeps: in trays, and in the state of operators."""
    return sum(tray.size for tray in site.trays) + state_bytes(motes, site)


def _priced(found: Mapping[str, int], prices: Mapping[str, float]) -> float:
    return sum(prices.get(name, 0.0) * count for name, count in found.items())


def parts(motes: Motes, identifier: NodeId) -> Counter[str]:
    """The parts of a site's program, and how many of each."""
    site = motes.site(identifier)
    found: Counter[str] = Counter(base=1, tray=len(site.trays))
    found["send"] = int(site.sends)
    found["receive"] = int(site.receives)
    found["step"] = len(site.steps)
    for fragment in (*site.leaves, *site.inner):
        found["leaf" if fragment.is_leaf else "inner"] += 1
        found["feeding tray"] += sum(tray.consumer == fragment.number for tray in site.trays)
        found["serial"] += int(fragment.delivers)
        for node in fragment.mote_operators:
            if not is_deferred(node):
                found += _operator(node)
        root = motes.delivered if fragment.delivers else fragment.root
        found["written column"] += len(motes.typing.stored(root, fragment.number in motes.ordered))
    if any(fragment.acquires for fragment in site.leaves):
        found["sense"] = 1
    if _floats(motes, (*site.leaves, *site.inner)):
        found["float"] = 1
    return found


def _operator(node: physical.Node) -> Counter[str]:
    match node:
        case physical.SpAcquire():
            sensed = [c for c in node.columns + node.reads if c.name.lower() not in ("time", "id")]
            return Counter({"sensed column": len(sensed), "atom": atoms(node.predicate)})
        case physical.Select(predicate=predicate):
            return Counter({"atom": atoms(predicate)})
        case physical.Project(items=items):
            return Counter({"atom": sum(atoms(item.expression) for item in items)})
        case physical.TimeWindow(start=start) if start:
            return Counter({"window": 1})
        case physical.RowWindow():
            return Counter({"row window": 1})
        case physical.NlJoin(predicate=predicate):
            return Counter({"join": 1, "atom": atoms(predicate)})
        case physical.HashJoin(keys=keys, residual=residual):
            return Counter({"join": 1, "atom": len(keys) + atoms(residual)})
        case physical.AggregateInit(keys=keys, items=items) | physical.AggregateMerge(keys=keys, items=items):
            return Counter({"aggregation": 1, "aggregate": len(items), "grouping": int(bool(keys))})
    return Counter()


def atoms(expression: Expression | None) -> int:
    """The operations in an expression."""
    return 0 if expression is None else sum(isinstance(part, Call) for part in walk(expression))


def _floats(motes: Motes, fragments: tuple[Fragment, ...]) -> bool:
    """Whether the program computes with `float`, and so needs avr-libc's routines for it."""
    from nilometer.sensornet.motes.values import CType

    return any(
        field.ctype is CType.FLOAT
        for fragment in fragments
        for node in fragment.mote_operators
        if not isinstance(node, physical.Deliver) and not is_deferred(node)
        for field in motes.typing.fields(node).values()
    )


def state_bytes(motes: Motes, site: Site) -> int:
    """Bytes of what operators remember: rings of windows, states and groups of aggregates."""
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
                    groups = site.arrivals.get(fragment.number, 0) or motes.typing.rows(node.input)
                    total += max(groups, 1) * (tuple_size(motes.typing.fields(node)) - 1) + 1
    return total
