"""A leaf through which rows come in from another part of the plan.

A host that runs a plan in pieces (buckets on Spark, sites of a network) puts an `Intake` where the gateway
would lower an EXCHANGE. It hands the intake its rows before each step.
"""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from nilometer.algebra import Collection
from nilometer.dataflow.lowering.sources_of import id_type
from nilometer.dataflow.stages import Round, Stage
from nilometer.operators.frames import Dtypes, conform, dtypes, empty, stream_dtypes, window_dtypes
from nilometer.operators.logic import Output, no_evaluations
from nilometer.plan import physical


class Intake:
    """Gives the rows that it received, once, cast to `columns`."""

    def __init__(self, columns: Dtypes) -> None:
        self._columns = columns
        self._nothing = Output(empty(columns), no_evaluations())
        self._given = self._nothing

    def receive(self, rows: pl.DataFrame, evaluations: pl.DataFrame) -> None:
        """Set the rows and evaluations that the next step takes."""
        self._given = Output(conform(rows, self._columns) if rows.height else self._nothing.rows, evaluations)

    def step(self, inputs: Sequence[Output], now: Round, first_tick: int | None) -> Output:  # noqa: ARG002
        """Return the received rows and forget them."""
        given, self._given = self._given, self._nothing
        return given

    def snapshot(self) -> dict[str, bytes]:
        """Empty: an intake keeps nothing between steps."""
        return {}

    def restore(self, panes: dict[str, bytes]) -> None:
        """Nothing to restore."""


def intake_stage(node: physical.Node, intake: Intake) -> Stage:
    """The stage of an intake that replaces a node. Its streams are those below the node."""
    leaves = (below for below in physical.walk_plan(node) if isinstance(below, physical.SpAcquire))
    return Stage(node.operator, intake, (), frozenset(leaf.stream.name.lower() for leaf in leaves))


def row_columns(node: physical.Node) -> Dtypes:
    """The columns of the rows that a node gives, system columns included."""
    match node.collection:
        case Collection.STREAM:
            return stream_dtypes(node.schema, id_type(node))
        case Collection.WINDOWS:
            return window_dtypes(node.schema)
        case Collection.TABLE:
            return dtypes(node.schema)
