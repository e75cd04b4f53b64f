"""A physical plan -> a dataflow: stages in the order in which rows flow, each run once a round.

`ABILITIES` (lowering/) says how each physical node is run here; a test holds it against plan/physical.py.
"""

from __future__ import annotations

from nilometer.algebra import Collection
from nilometer.dataflow.sources import Extents
from nilometer.dataflow.stages import Operator, Round, Stage, Transform, Worker, shed_by
from nilometer.errors import UnsupportedError
from nilometer.operators.logic import Logic, Output, Spec
from nilometer.plan import physical


class Dataflow:
    """The stages; the last one gives the answer."""

    def __init__(self, plan: physical.Node, sources: Extents) -> None:
        self.sources = sources
        self.stages: list[Stage] = []
        self.lower(plan)

    # ---- building ----------------------------------------------------------------------------------------------------

    def lower(self, node: physical.Node) -> int:
        """Add what runs a node and all below it; gives the place of the stage with its rows."""
        from nilometer.dataflow.lowering import ABILITIES

        ability = ABILITIES.get(type(node))
        if ability is None:
            raise UnsupportedError(f"the gateway cannot run {node.operator}")
        return ability(node, self)

    def add(self, node: physical.Node, worker: Worker, inputs: tuple[int, ...] = ()) -> int:
        """Add a stage that runs a node."""
        if isinstance(node, physical.SpAcquire):
            streams = frozenset({node.stream.name.lower()})
        else:
            streams = frozenset().union(*(self.stages[place].streams for place in inputs))
        self.stages.append(Stage(node.operator, worker, inputs, streams))
        return len(self.stages) - 1

    def add_operator(
        self, node: physical.Node, spec: Spec, inputs: tuple[physical.Node, ...] | None = None
    ) -> int:
        """Lower the inputs (the node's own, unless others are given) and put a Logic over them."""
        return self.add_logic(node, spec.build(), node.inputs if inputs is None else inputs)

    def add_logic(self, node: physical.Node, logic: Logic, inputs: tuple[physical.Node, ...]) -> int:
        """Lower the inputs and put this Logic over them."""
        tables = {
            port: frozenset(physical.tables_of(child))
            for port, child in enumerate(inputs)
            if child.collection is Collection.TABLE
        }
        places = tuple(self.lower(child) for child in inputs)
        return self.add(node, Operator(logic, tables), places)

    def fuse(self, place: int, transform: Transform) -> int:
        """Let a stage's rows pass through a transform as well: in a tree nobody else reads them."""
        self.stages[place].transforms.append(transform)
        return place

    # ---- running -----------------------------------------------------------------------------------------------------

    def step(self, now: Round) -> Output:
        """One round, from the leaves up; gives the answer's rows and evaluations."""
        outputs: list[Output] = []
        for stage in self.stages:
            outputs.append(stage.step(outputs, now))
        return outputs[-1]

    @property
    def shed(self) -> dict[str, int]:
        """What joins with bounded memory have given up, by stream; of an input of several streams, by their names together."""
        counts: dict[str, int] = {}
        for stage in self.stages:
            for place, count in zip(stage.inputs, shed_by(stage.worker), strict=False):
                name = " and ".join(sorted(self.stages[place].streams))
                counts[name] = counts.get(name, 0) + count
        return {name: count for name, count in counts.items() if count}

    def snapshot(self) -> dict[str, dict[str, bytes]]:
        """The panes of every stage, by its place and name."""
        return {self._key(place): stage.worker.snapshot() for place, stage in enumerate(self.stages)}

    def restore(self, panes: dict[str, dict[str, bytes]]) -> None:
        """Take back a snapshot of the same plan."""
        for place, stage in enumerate(self.stages):
            stage.worker.restore(panes[self._key(place)])

    def _key(self, place: int) -> str:
        return f"{place:03d} {self.stages[place].name}"
