"""Derives from a physical plan its demand on each of its streams, from the SP_ACQUIRE leaves (fjords.txt
section 3.2).

    SP_ACQUIRE [s; x; WHERE p]                         x WHERE p EVERY the stream's interval
    SAMPLE [EVERY d] · SP_ACQUIRE [s; x]               x EVERY d, when the stream's interval divides d
    TIME_WINDOW [NOW SLIDE d] · SP_ACQUIRE [s; x]      x EVERY d, when the stream is sensed and its interval divides d
    AGGR_INIT · TIME_WINDOW [RANGE r SLIDE d] · …      …, and a summary per gcd(r, d) would do

Some things must not be pushed to the sensor: a selection above SAMPLE (another query's filter would change
which tuple is the first); a coarser rate past a filter that is below SAMPLE (SAMPLE picks the first tuple
that passes); a condition on NOW or on a static attribute, which the sensor does not know. Leaving a condition
out is never wrong; see `demand.py`.
"""

from __future__ import annotations

from dataclasses import replace

from nilometer.algebra.table_functions.phenomena import GUIDE
from nilometer.live.proxies.demand import Demand, combine
from nilometer.plan import physical
from nilometer.plan.summaries import asked


def demand_of(plan: physical.Node) -> dict[str, Demand]:
    """The demand on every stream of the plan, by the stream's name as declared."""
    found: dict[str, list[Demand]] = {}
    _collect(plan, (), found)
    if sum(map(len, found.values())) == 1:
        for demands in found.values():
            filters = all(isinstance(node, _STATELESS) for node in physical.walk_plan(plan))
            demands[:] = [replace(d, heartbeat=_patience(plan), begins=not filters) for d in demands]
    combined = {stream: combine(demands) for stream, demands in found.items()}
    return {stream: demand for stream, demand in combined.items() if demand is not None}


def _collect(node: physical.Node, above: tuple[physical.Node, ...], found: dict[str, list[Demand]]) -> None:
    """Collect the demands of a subtree. `above` are the node's ancestors, nearest first. Guided readings are asked for by
    their phenomenon, and those of sensors at one by the query, but separately (guidance.py)."""
    if isinstance(node, physical.SpAcquire) and node.of is None and not is_guided(above):
        found.setdefault(node.stream.name, []).append(leaf_demand(node, above))
    for child in node.inputs:
        _collect(child, (node, *above), found)


def is_guided(above: tuple[physical.Node, ...]) -> bool:
    """Whether a leaf below these nodes brings the readings of a phenomenon with GUIDE."""
    return any(isinstance(node, physical.TableFunction) and node.call[GUIDE.word] for node in above)


def leaf_demand(leaf: physical.SpAcquire, above: tuple[physical.Node, ...]) -> Demand:
    """What a leaf asks of its stream's sensors; `above` are its ancestors, nearest first."""
    found = asked(leaf, above)
    known = {column.name for column in leaf.stream.columns}
    return Demand(
        intervals=() if found.interval is None else (found.interval,),
        columns=frozenset(column.name for column in leaf.columns + leaf.reads) & known,
        predicate=found.predicate,
        aggregate=found.summary,
        changes=found.changes,
        grid=None if found.changes is None else leaf.stream.every,
        sensors=leaf.sensors,
    )


_STATELESS = (physical.Deliver, physical.Project, physical.Select, physical.Rename, physical.SpAcquire)
"""A plan of these answers each reading by itself, whatever came before."""

INTERVALS = 10
"""If no answer waits for time to go on, a silent sensor says so after this many intervals."""


def _patience(plan: physical.Node) -> int:
    """How long the answers of a plan with one leaf can wait for a silent sensor: until the next evaluation of its
    window, or for some intervals if it only filters. 0 if they cannot."""
    slide: int | None = None
    for node in physical.walk_plan(plan):
        match node:
            case physical.Deliver() | physical.Project() | physical.Select() | physical.Rename():
                pass
            case physical.AggregateEvaluate() | physical.AggregateMerge() | physical.AggregateInit():
                pass
            case physical.TimeWindow(slide=int(found), grid=None):
                slide = found
            case physical.SpAcquire():
                interval = node.stream.interval
                return slide if slide is not None else INTERVALS * (interval or 0)
            case _:
                return 0
    return 0
