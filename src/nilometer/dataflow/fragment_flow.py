"""Runs a fragment of a plan that is cut at its EXCHANGEs. Rows come in through each exchange, step by step.

The hosts that run a plan in pieces use it: a bucket on Spark (spark/layout/bucket_flow.py), the sites of a
simulated network (sensornet/simulation/site_flow.py), and the gateway behind a mote's serial line. An
EXCHANGE becomes an `Intake`, which receives its rows before each step.
"""

from __future__ import annotations

from collections.abc import Sequence

from nilometer.dataflow.dataflow import Dataflow
from nilometer.dataflow.intake import Intake, intake_stage, row_columns
from nilometer.dataflow.sources import Extents
from nilometer.errors import InternalError
from nilometer.operators.frames import Dtypes
from nilometer.operators.logic import Output
from nilometer.plan import physical


class FragmentFlow(Dataflow):
    """The dataflow of a fragment. `intakes` are the places where rows come in, in the plan's order. Equal
    sub-plans are not shared, because every EXCHANGE has an intake of its own."""

    shares = False

    def __init__(self, plan: physical.Node, sources: Extents) -> None:
        self.intakes: list[Intake] = []
        super().__init__(plan, sources)

    def build(self, node: physical.Node) -> int:
        if isinstance(node, physical.Exchange):
            return self.cut(node, row_columns(node.input))
        return super().build(node)

    def cut(self, node: physical.Node, columns: Dtypes) -> int:
        """Replace a node by an intake: its rows come from outside."""
        intake = Intake(columns)
        self.intakes.append(intake)
        return self.add_stage(intake_stage(node, intake))

    def receive(self, inputs: Sequence[Output]) -> None:
        """Hand each intake its rows for the next step. Without inputs no intake gets any."""
        if inputs and len(inputs) != len(self.intakes):
            raise InternalError(f"{len(inputs)} inputs for {len(self.intakes)} exchanges")
        for intake, given in zip(self.intakes, inputs, strict=False):
            intake.receive(given.rows, given.evaluations)
