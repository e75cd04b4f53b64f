"""Finds the queries that aggregate time windows of one stream and keep no other state.

    (Deliver | Project | Select | Rename)* · Aggregate · (Select | ...)* · TimeWindow · stateless · SpAcquire

Those with the same rows, grouping and aggregates are answered from one store of slices (window_bank.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

from nilometer.dataflow.filters import stateless_over
from nilometer.dataflow.lowering.fusion import fused
from nilometer.dataflow.lowering.summaries import Summarised, summaries_for
from nilometer.dataflow.watermark import Leaf, leaves
from nilometer.operators.window_aggregate.slice_store import shareable
from nilometer.operators.window_aggregate.window_aggregate import WindowAggregate
from nilometer.plan import physical

STATELESS = (physical.Deliver, physical.Project, physical.Select, physical.Rename, physical.Exchange)


@dataclass(frozen=True)
class WindowQuery:
    """`rows` is the plan of the window's rows. `slicing` has the length and the shift of the window's own slices.
    `shape` is equal for queries that do the same with the aggregate's rows, `selects` says whether they leave some
    out. `summarised` says which summaries of sensors it takes."""

    spec: WindowAggregate
    stream: str
    rows: physical.Node
    slicing: tuple[int, int]
    leaves: tuple[Leaf, ...]
    shape: tuple[Any, ...]
    selects: bool
    summarised: Summarised | None = None

    @property
    def streams(self) -> tuple[str, ...]:
        """The one stream."""
        return (self.stream,)

    @property
    def family(self) -> tuple[Any, ...]:
        """Equal for queries whose rows, groups and partial aggregates are the same."""
        return self.rows, self.spec.keys, self.spec.items, self.spec.predicate, self.summarised


def window_query(plan: physical.Node) -> WindowQuery | None:
    """The query as one over shared slices; None if it is none."""
    above, node = [], plan
    summarised = None
    while isinstance(node, STATELESS):
        above.append(node)
        node = node.input
    if isinstance(node, physical.AggregateEvaluate):
        below: physical.Node = node.input
        while isinstance(below, physical.AggregateMerge | physical.Exchange):
            below = below.input
        if not isinstance(below, physical.AggregateInit):
            return None
        summarised = summaries_for(below)
        below = below.input
    elif isinstance(node, physical.Aggregate):
        below = node.input
    else:
        return None
    keys = tuple((key.name, key.expression) for key in node.keys)
    items = tuple((item.name, item.aggregate) for item in node.items)
    together = fused(keys, items, node.completeness, below)
    if together is None:
        return None
    spec, rows = together
    acquire = stateless_over(rows)
    if acquire is None or not isinstance(spec, WindowAggregate):
        return None
    slicing = shareable(spec)
    if slicing is None:
        return None
    shape = shape_of(above)
    selects = any(isinstance(one, physical.Select) for one in above)
    stream = acquire.stream.name.lower()
    return WindowQuery(spec, stream, rows, slicing, leaves(plan), shape, selects, summarised)


def shape_of(above: Sequence[physical.Node]) -> tuple[Any, ...]:
    """What some nodes without state do, whatever is below them."""
    return tuple(
        (type(one), *(getattr(one, field.name) for field in fields(one) if field.name != "input"))
        for one in above
    )
