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

from math import gcd

from nilometer.catalog import Stream
from nilometer.expressions import (
    Aggregate,
    ColumnReference,
    Expression,
    columns_of,
    conjunction,
    conjuncts,
    transform,
    uses_now,
)
from nilometer.live.proxies.demand import Demand, Summary, combine
from nilometer.plan import physical
from nilometer.types import INT

_COUNT = Aggregate("count", None, False, INT)


def demand_of(plan: physical.Node) -> dict[str, Demand]:
    """The demand on every stream of the plan, by the stream's name as declared."""
    found: dict[str, list[Demand]] = {}
    _collect(plan, (), found)
    combined = {stream: combine(demands) for stream, demands in found.items()}
    return {stream: demand for stream, demand in combined.items() if demand is not None}


def _collect(node: physical.Node, above: tuple[physical.Node, ...], found: dict[str, list[Demand]]) -> None:
    """Collect the demands of a subtree. `above` are the node's ancestors, nearest first."""
    if isinstance(node, physical.SpAcquire):
        found.setdefault(node.stream.name, []).append(_leaf(node, above))
    for child in node.inputs:
        _collect(child, (node, *above), found)


def _leaf(leaf: physical.SpAcquire, above: tuple[physical.Node, ...]) -> Demand:
    interval = leaf.stream.interval
    known = {column.name for column in leaf.stream.columns}
    parts = [_bare(part, leaf.alias) for part in conjuncts(leaf.predicate)]
    pushed = [part for part in parts if columns_of(part) <= known and not uses_now(part)]
    exact = len(pushed) == len(parts)
    if above and isinstance(above[0], physical.Sample):
        sample = above[0]
        if not parts and interval is not None and sample.every % interval == 0:
            interval = sample.every
            above = above[1:]
    elif above and isinstance(above[0], physical.TimeWindow):
        interval = _seen_by(above[0], leaf.stream) or interval
    return Demand(
        intervals=() if interval is None else (interval,),
        columns=frozenset(column.name for column in leaf.columns + leaf.reads) & known,
        predicate=conjunction(pushed),
        aggregate=_summary(leaf, above, interval, known) if exact else None,
        sensors=leaf.sensors,
    )


def _seen_by(window: physical.TimeWindow, stream: Stream) -> int | None:
    """The interval of the only ticks that a window of single ticks sees: `[NOW SLIDE 1 MINUTE]` sees one a minute.

    A pushed reading has any time, so only a sensed stream can be told. `[AT NOW - 5 SECONDS SLIDE 1 MINUTE]` sees
    ticks that are no multiples of its slide."""
    every, slide = stream.every, window.slide
    single = window.start == window.end and not window.open_start and window.grid is None
    if not single or every is None or slide is None or slide % every or window.end % slide:
        return None
    return slide


def _bare(expression: Expression, alias: str) -> Expression:
    """The expression over the stream's own column names."""

    def change(part: Expression) -> Expression:
        if isinstance(part, ColumnReference):
            return ColumnReference(part.name.removeprefix(f"{alias}."), part.type)
        return part

    return transform(expression, change)


def _summary(
    leaf: physical.SpAcquire, above: tuple[physical.Node, ...], interval: int | None, known: set[str]
) -> Summary | None:
    """The panes and aggregates that are enough; None if the tuples themselves are needed, or a pane holds one
    reading.
    """
    match above:
        case (physical.TimeWindow() as window, physical.AggregateInit() as aggregate, *_):
            pass
        case _:
            return None
    closed = (
        window.start is not None and not window.open_start
    )  # [T - start, T - end] is not a union of panes
    if window.slide is None or closed or window.grid is not None:
        return None
    # A sensor can group by values that are the same for all its readings: its id and its static attributes.
    varying = {name for name in known if name.lower() != "id"}
    if any(columns_of(_bare(key.expression, leaf.alias)) & varying for key in aggregate.keys):
        return None
    every = gcd(window.slide, window.end, *(() if window.start is None else (window.start,)))
    expressions = [item.aggregate for item in aggregate.items]
    if any(columns_of(_bare(e, leaf.alias)) - known or uses_now(e) for e in expressions):
        return None
    if interval is not None and every <= interval:
        return None
    wanted = {bare for e in expressions if isinstance(bare := _bare(e, leaf.alias), Aggregate)}
    # An aggregate without items still tells which groups there are, and completeness counts.
    return Summary(every, frozenset(wanted or {_COUNT}) | ({_COUNT} if aggregate.completeness else set()))
