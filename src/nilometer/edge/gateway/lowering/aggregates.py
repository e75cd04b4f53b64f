"""AGGR, and AGGR_INIT, AGGR_MERGE, AGGR_EVAL.

In one process the three steps are one: what EVAL gives is the whole aggregate of what INIT takes. Where it can, it is
fused with the window below it.
"""

from __future__ import annotations

from nilometer.edge.gateway.dataflow import Dataflow
from nilometer.edge.gateway.lowering.fusion import fused
from nilometer.errors import InternalError, UnsupportedError
from nilometer.operators import aggregate as aggregate_operator
from nilometer.plan.logical import Collection
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
    """The aggregate of what the first step, INIT, takes."""
    below = node.input
    while isinstance(below, AggregateMerge | Exchange):
        below = below.input
    if not isinstance(below, AggregateInit):
        return partial(node, flow)
    return _whole(node, below.input, flow)


def partial(node: Node, flow: Dataflow) -> int:  # noqa: ARG001
    """Partial results by themselves are for plans that are cut between hosts."""
    raise UnsupportedError(
        f"the gateway runs {node.operator} only together with the other steps of its aggregate",
        hint="place AGGR_INIT, AGGR_MERGE and AGGR_EVAL on one site",
    )


def _whole(node: Aggregate | AggregateEvaluate, below: Node, flow: Dataflow) -> int:
    together = fused(node, below)
    if together is not None:
        spec, stream = together
        return flow.add_operator(node, spec, (stream,))
    if node.completeness is not None:
        raise InternalError("COMPLETENESS of what is not a time window")
    keys = tuple((key.name, key.expression) for key in node.keys)
    items = tuple((item.name, item.aggregate) for item in node.items)
    windows = below.collection is Collection.WINDOWS
    return flow.add_operator(node, aggregate_operator.Aggregate(keys, items, windows=windows), (below,))
