"""A physical node -> why it is run as it is, or how much it keeps: what EXPLAIN says beside its line."""

from __future__ import annotations

from nilometer.algebra import Collection
from nilometer.optimizer import choose_window_join
from nilometer.plan import logical, physical
from nilometer.plan.eager_aggregation import FlatError, eager_aggregation
from nilometer.plan.join_changes import joined_windows

Aggregates = physical.Aggregate | physical.AggregateInit


def why(node: logical.Node | physical.Node) -> str | None:
    """The reason or the bound; of most operators there is nothing to say."""
    match node:
        case physical.Aggregate() | physical.AggregateInit() if _joins_windows(node.input):
            return _aggregate(node)
        case physical.IStream() | physical.DStream() if _joins_windows(node.input):
            return _changes(node)
        case physical.TableFunction() if kept := node.call.keeps(node.input.schema):
            return f"keeps at most {', '.join(map(str, kept))}"
        case _:
            return choose_window_join.why(node)


def _aggregate(node: Aggregates) -> str:
    keys = tuple((key.name, key.expression) for key in node.keys)
    items = tuple((item.name, item.aggregate) for item in node.items)
    try:
        eager_aggregation(keys, items, node.input)
    except FlatError as reason:
        return f"from joined rows: {reason}"
    return "eager aggregation: from counts and sums per key and input, no joined row is made"


def _changes(node: physical.IStream | physical.DStream) -> str:
    try:
        joined_windows(node.input)
    except FlatError as reason:
        return f"whole windows are compared: {reason}"
    return "deltas: what enters or leaves a window is joined with the others"


def _joins_windows(node: physical.Node) -> bool:
    """Whether windows are joined right below, where nothing but a selection or projection stands between."""
    while isinstance(node, physical.Select | physical.Project | physical.Rename | physical.Exchange):
        node = node.input
    return isinstance(node, physical.HashJoin | physical.NlJoin) and node.collection is Collection.WINDOWS
