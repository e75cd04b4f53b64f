"""A leaf of a dataflow that is a part of a plan: what the other part gave for this step.

Whoever runs a plan in pieces (buckets on Spark, sites of a network) puts an `Intake` where the gateway would lower an EXCHANGE, and hands it
the rows before each step.
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
    """Gives, once, what it received; rows are brought into `columns`."""

    def __init__(self, columns: Dtypes) -> None:
        self._columns = columns
        self._nothing = Output(empty(columns), no_evaluations())
        self._given = self._nothing

    def receive(self, rows: pl.DataFrame, evaluations: pl.DataFrame) -> None:
        """What the next step takes."""
        self._given = Output(conform(rows, self._columns) if rows.height else self._nothing.rows, evaluations)

    def step(self, inputs: Sequence[Output], now: Round, first_tick: int | None) -> Output:  # noqa: ARG002
        """Hand it on."""
        given, self._given = self._given, self._nothing
        return given

    def snapshot(self) -> dict[str, bytes]:
        """It keeps nothing between steps."""
        return {}

    def restore(self, panes: dict[str, bytes]) -> None:
        """There is nothing to take back."""


def intake_stage(node: physical.Node, intake: Intake) -> Stage:
    """The stage of an intake in place of a node: its rows come from the streams below the node."""
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
