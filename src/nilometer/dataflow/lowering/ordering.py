"""Lowers SORT and TOP_K of windows and tables, and LIMIT of a stream."""

from __future__ import annotations

from nilometer.algebra import Collection
from nilometer.dataflow.dataflow import Dataflow
from nilometer.dataflow.lowering.sources_of import id_type
from nilometer.operators import limit as limit_operator
from nilometer.operators import sort as sort_operator
from nilometer.plan.physical import Limit, Sort


def sort(node: Sort, flow: Dataflow) -> int:
    """The rows of each evaluation, or of a table, in their order."""
    windows = node.collection is Collection.WINDOWS
    spec = sort_operator.Sort(node.schema, node.keys, node.limit, node.offset, windows)
    return flow.add_operator(node, spec)


def limit(node: Limit, flow: Dataflow) -> int:
    """The first tuples of a stream."""
    return flow.add_operator(node, limit_operator.Limit(node.schema, node.limit, node.offset, id_type(node)))
