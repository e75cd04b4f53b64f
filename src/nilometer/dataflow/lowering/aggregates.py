"""Lowers AGGR, and its three steps AGGR_INIT, AGGR_MERGE and AGGR_EVAL.

In one process the three steps become one: EVAL computes the whole aggregate of INIT's input. A step that
stands alone, because the others run elsewhere, makes, merges or evaluates partial results
(lowering/partials.py). Where possible, an aggregate is fused with the window below it, or with the joins of
windows below it.
"""

from __future__ import annotations

from nilometer import algebra
from nilometer.algebra import Collection
from nilometer.dataflow.dataflow import Dataflow
from nilometer.dataflow.lowering.eager import eager
from nilometer.dataflow.lowering.fusion import Items, Keys, fused, fused_session
from nilometer.dataflow.lowering.partials import MergeLogic, completed, evaluated, initial_items
from nilometer.dataflow.lowering.summaries import Summarised, summaries_for, with_summaries
from nilometer.errors import InternalError, UnsupportedError
from nilometer.operators import aggregate as aggregate_operator
from nilometer.operators.window_aggregate.window_aggregate import WindowAggregate
from nilometer.plan.physical import (
    Aggregate,
    AggregateEvaluate,
    AggregateInit,
    AggregateMerge,
    Exchange,
    Node,
)


def aggregate(node: Aggregate, flow: Dataflow) -> int:
    """The aggregate in one step."""
    return _whole(node, node.input, flow)


def evaluate(node: AggregateEvaluate, flow: Dataflow) -> int:
    """The whole aggregate, if the first step runs here, too; otherwise the answer from partial results."""
    below = node.input
    while isinstance(below, AggregateMerge | Exchange):
        below = below.input
    if isinstance(below, AggregateInit):
        return _whole(node, below.input, flow, summaries_for(below))
    if node.completeness is not None:
        raise UnsupportedError(
            "the gateway cannot tell COMPLETENESS from partial results",
            hint="place AGGR_INIT, AGGR_MERGE and AGGR_EVAL on one site",
        )
    return flow.fuse(flow.lower(node.input), evaluated(node))


def initialise(node: AggregateInit, flow: Dataflow) -> int:
    """Make partial results from rows."""
    place = _aggregate(node, _keys(node), initial_items(node), None, node.input, flow)
    return flow.fuse(place, completed(node))


def merge(node: AggregateMerge, flow: Dataflow) -> int:
    """Merge the partial results of each group and evaluation into one."""
    return flow.add_logic(node, MergeLogic(node), node.inputs)


def _whole(
    node: Aggregate | AggregateEvaluate, below: Node, flow: Dataflow, summaries: Summarised | None = None
) -> int:
    items = tuple((item.name, item.aggregate) for item in node.items)
    return _aggregate(node, _keys(node), items, node.completeness, below, flow, summaries)


def _keys(node: Aggregate | AggregateEvaluate | AggregateInit) -> Keys:
    return tuple((key.name, key.expression) for key in node.keys)


def _aggregate(
    node: Node,
    keys: Keys,
    items: Items,
    completeness: algebra.Completeness | None,
    below: Node,
    flow: Dataflow,
    summaries: Summarised | None = None,
) -> int:
    sessions = fused_session(keys, items, below)
    if sessions is not None:
        aggregated, stream = sessions
        return flow.add_operator(node, aggregated, (stream,))
    together = fused(keys, items, completeness, below)
    if together is not None:
        spec, stream = together
        if summaries is not None and isinstance(spec, WindowAggregate) and spec.sliding:
            return with_summaries(node, spec, stream, summaries, flow)
        return flow.add_operator(node, spec, (stream,))
    if completeness is not None:
        raise InternalError("COMPLETENESS of what is not a time window")
    place = eager(node, keys, items, below, flow)
    if place is not None:
        return place
    windows = below.collection is Collection.WINDOWS
    return flow.add_operator(node, aggregate_operator.Aggregate(keys, items, windows=windows), (below,))
