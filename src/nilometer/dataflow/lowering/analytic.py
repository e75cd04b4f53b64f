"""Lowers ANALYTIC: over windows and tables whose rows are all there, and over streams in the order of time."""

from __future__ import annotations

from nilometer.algebra import Collection
from nilometer.dataflow.dataflow import Dataflow
from nilometer.dataflow.lowering.sources_of import id_type
from nilometer.operators.analytic.analytic import Analytic as OverRows
from nilometer.operators.analytic.running import RunningAnalytic
from nilometer.plan.physical import Analytic


def analytic(node: Analytic, flow: Dataflow) -> int:
    """Columns computed over the rows of each partition."""
    schema = node.input.schema
    if node.collection is Collection.STREAM:
        return flow.add_operator(
            node, RunningAnalytic(schema, node.partition, node.items, id_type(node.input))
        )
    windows = node.collection is Collection.WINDOWS
    spec = OverRows(schema, node.partition, node.order, node.ties, node.items, windows=windows)
    return flow.add_operator(node, spec)
