"""The functions of FROM: by the name of the operator, what makes its Spec of a call and the schema of its input."""

from __future__ import annotations

from collections.abc import Callable

from nilometer.algebra.table_function import FunctionCall
from nilometer.dataflow.dataflow import Dataflow
from nilometer.operators.logic import Spec
from nilometer.operators.silent import Silent
from nilometer.operators.similar.similar import Similar
from nilometer.plan.physical import TableFunction
from nilometer.types import Schema

SPECS: dict[str, Callable[[FunctionCall, Schema], Spec]] = {
    "SN_JOIN": Similar.of,
    "SILENT": Silent.of,
}


def table_function(node: TableFunction, flow: Dataflow) -> int:
    """A function's rows, or windows, of a stream."""
    return flow.add_operator(node, spec_of(node))


def spec_of(node: TableFunction) -> Spec:
    """What the function's operator is told."""
    return SPECS[node.operator](node.call, node.input.schema)
