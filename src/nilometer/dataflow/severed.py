"""A plan that is cut at one node: the node's input is captured, and its rows come back from elsewhere.

A simulated sensor network does the work of a table function (engine/clustering.py). What lies below the function is
captured as it would reach it. What lies above runs over the rows that the network gave, in the rounds and with the
watermarks of the gateway, so that it means the same.
"""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from nilometer.dataflow.dataflow import Dataflow
from nilometer.dataflow.intake import row_columns
from nilometer.dataflow.run import Run
from nilometer.dataflow.sources import Sources
from nilometer.dataflow.stages import Round, Worker
from nilometer.operators.frames import Dtypes, concatenate, conform, empty
from nilometer.operators.logic import TICK, Output, no_evaluations
from nilometer.plan import physical


class Captured:
    """Rows that reached the node, its first tick and the last watermark."""

    def __init__(self, columns: Dtypes, output: Dtypes) -> None:
        self.first_tick: int | None = None
        self.watermark = 0
        self._columns, self._output = columns, output
        self._parts: list[pl.DataFrame] = []

    @property
    def rows(self) -> pl.DataFrame:
        """All rows so far."""
        return concatenate(self._parts, self._columns)

    def step(self, inputs: Sequence[Output], now: Round, first_tick: int | None) -> Output:
        """Keep the input, and give nothing."""
        self._parts.append(inputs[0].rows)
        self.first_tick, self.watermark = first_tick, now.watermark
        return Output(empty(self._output), no_evaluations())

    def snapshot(self) -> dict[str, bytes]:
        """Nothing: it is used in one process, to the end."""
        return {}

    def restore(self, panes: dict[str, bytes]) -> None:
        """Nothing to restore."""


class Replayed:
    """Gives rows once their tick is complete, as the node would."""

    def __init__(self, rows: pl.DataFrame, columns: Dtypes) -> None:
        self._left = conform(rows, columns).sort(TICK, maintain_order=True)

    def step(self, inputs: Sequence[Output], now: Round, first_tick: int | None) -> Output:  # noqa: ARG002
        """The rows below the watermark."""
        due = int(self._left.get_column(TICK).search_sorted(now.watermark, side="left"))
        rows, self._left = self._left.head(due), self._left.slice(due)
        return Output(rows, no_evaluations())

    def snapshot(self) -> dict[str, bytes]:
        """Nothing: it is used in one process, to the end."""
        return {}

    def restore(self, panes: dict[str, bytes]) -> None:
        """Nothing to restore."""


class _SeveredFlow(Dataflow):
    """The dataflow of a plan with another worker in the place of a node."""

    def __init__(
        self, plan: physical.Node, sources: Sources, node: physical.TableFunction, worker: Worker
    ) -> None:
        self._node, self._worker = node, worker
        super().__init__(plan, sources)

    def build(self, node: physical.Node) -> int:
        if node == self._node:
            return self.add(node, self._worker, (self.lower(self._node.input),))
        return super().build(node)


def captured(plan: physical.Node, sources: Sources, node: physical.TableFunction) -> Captured:
    """What reaches the node, over the whole of the logs."""
    worker = Captured(row_columns(node.input), row_columns(node))
    Run(plan, sources, flow=_SeveredFlow(plan, sources, node, worker)).collect()
    return worker


def replayed(
    plan: physical.Node, sources: Sources, node: physical.TableFunction, rows: pl.DataFrame
) -> pl.DataFrame:
    """The answer of the plan if the node gives these rows."""
    worker = Replayed(rows, row_columns(node))
    return Run(plan, sources, flow=_SeveredFlow(plan, sources, node, worker)).collect()
