"""Lowers the operators from streams to streams: SAMPLE, LAG, ASOF_JOIN and the three W-joins."""

from __future__ import annotations

from nilometer.algebra import JoinKind
from nilometer.dataflow.dataflow import Dataflow
from nilometer.dataflow.lowering.sources_of import id_type
from nilometer.operators import asof_join as asof_operator
from nilometer.operators import lag as lag_operator
from nilometer.operators import sample as sample_operator
from nilometer.operators.shedding.shedding import Shedding
from nilometer.operators.window_join import window_join as window_join_operator
from nilometer.operators.window_join.outer import OuterWindowJoin
from nilometer.operators.window_join.plan import Form
from nilometer.plan.physical import AsofJoin, HwJoin, Lag, MwJoin, NlwJoin, Sample, WindowJoin

FORMS: dict[type[WindowJoin], Form] = {NlwJoin: Form.NLW, HwJoin: Form.HW, MwJoin: Form.MW}


def sample(node: Sample, flow: Dataflow) -> int:
    """The first tuple of each source in each interval."""
    return flow.add_operator(node, sample_operator.Sample(node.schema, node.every, id_type(node)))


def lag(node: Lag, flow: Dataflow) -> int:
    """Columns from the source's earlier tuples."""
    return flow.add_operator(node, lag_operator.Lag(node.input.schema, node.items, id_type(node)))


def asof_join(node: AsofJoin, flow: Dataflow) -> int:
    """Each left tuple with the latest right tuple at or before it."""
    spec = asof_operator.AsofJoin(
        node.left.schema,
        node.right.schema,
        node.keys,
        node.within,
        id_type(node.left),
        id_type(node.right),
        node.before,
    )
    return flow.add_operator(node, spec)


def window_join(node: WindowJoin, flow: Dataflow) -> int:
    """STEAM's join over N streams."""
    spec = window_join_operator.WindowJoin(
        tuple(child.schema for child in node.streams),
        tuple((bound.left, bound.right, bound.width) for bound in node.bounds),
        tuple((k.left, k.left_expression, k.right, k.right_expression) for k in node.keys),
        node.predicate,
        id_type(node),
        FORMS[type(node)],
        shedding_of(node),
    )
    if node.kind is not JoinKind.INNER:
        return flow.add_operator(node, OuterWindowJoin(spec, node.kind))
    return flow.add_operator(node, spec)


def shedding_of(node: WindowJoin) -> Shedding | None:
    """The bound on a join's memory."""
    return None if node.memory is None else Shedding(node.memory.rows, node.memory.policy)
