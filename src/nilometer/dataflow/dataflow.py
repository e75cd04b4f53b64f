"""Turns physical plans into a dataflow: stages in the order in which rows flow, each run once a round.

`ABILITIES` (lowering/) says how each physical node is run; a test compares it with plan/physical.py. Equal
sub-plans become one stage, within a plan and among the plans of several queries (fjords.txt section 4.2,
Fig. 7).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from nilometer.algebra import Collection
from nilometer.dataflow.failures import Caught, failure_of
from nilometer.dataflow.sources import Extents
from nilometer.dataflow.stages import Operator, Passing, Round, Stage, Transform, Worker, shed_by
from nilometer.errors import NilometerError, UnsupportedError
from nilometer.operators.logic import Logic, Output, Spec
from nilometer.operators.set_aside import Letter, collecting
from nilometer.plan import physical


class Dataflow:
    """The stages of one or several plans.

    `stages` maps a place to a stage; a stage comes after those whose output it reads. `root` is the place of
    the stage that gives the answer of the plan passed to the constructor.
    """

    shares = True
    """Whether equal sub-plans are one stage."""

    def __init__(self, plan: physical.Node | None, sources: Extents) -> None:
        self.sources = sources
        self.stages: dict[int, Stage] = {}
        self.origins: dict[physical.Node, tuple[int, int]] = {}
        """The stage that gives a node's rows, and how many of its transforms make them."""
        self._made: dict[int, list[physical.Node]] = {}
        self._places: dict[physical.Node, int] = {}
        self._nodes: dict[int, list[physical.Node]] = {}
        self._readers: Counter[int] = Counter()
        self.letters: dict[int, list[Letter]] = {}
        """The rows that the stages have set aside in the last `step_all`, by place."""
        self._next = 0
        self.root = -1 if plan is None else self.lower(plan)

    # ---- building ----------------------------------------------------------------------------------------------------

    def lower(self, node: physical.Node) -> int:
        """Add the stages of a node and of all nodes below it, and return the place of the stage that gives
        the node's rows."""
        if not self.shares:
            place = self.build(node)
            self.origins[node] = place, len(self.stages[place].transforms)
            return place
        if node in self._places:
            place = self._places[node]
        else:
            place = self._places[node] = self.build(node)
            self.origins[node] = place, len(self.stages[place].transforms)
            self._made.setdefault(place, []).append(node)
            self._nodes.setdefault(place, []).append(node)
        self._readers[place] += 1
        return place

    def build(self, node: physical.Node) -> int:
        """Add the stages of a node for which no equal one exists."""
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
        return self.add_stage(Stage(node.operator, worker, inputs, streams))

    def add_stage(self, stage: Stage) -> int:
        """Add a stage and return its place."""
        place, self._next = self._next, self._next + 1
        self.stages[place] = stage
        return place

    def add_operator(
        self, node: physical.Node, spec: Spec, inputs: tuple[physical.Node, ...] | None = None
    ) -> int:
        """Lower the inputs (the node's own, unless others are given) and add an operator over them."""
        return self.add_logic(node, spec.build(), node.inputs if inputs is None else inputs)

    def add_logic(self, node: physical.Node, logic: Logic, inputs: tuple[physical.Node, ...]) -> int:
        """Lower the inputs and add an operator with this Logic over them."""
        tables = {
            port: frozenset(physical.tables_of(child))
            for port, child in enumerate(inputs)
            if child.collection is Collection.TABLE
        }
        places = tuple(self.lower(child) for child in inputs)
        return self.add(node, Operator(logic, tables), places)

    def fuse(self, place: int, transform: Transform) -> int:
        """Apply a transform to a stage's rows as well. If other stages read the rows unchanged, the transform
        gets a stage of its own."""
        stage = self.stages[place]
        if self._readers[place] > 1:
            return self.add_stage(Stage(stage.name, Passing(), (place,), stage.streams, [transform]))
        self._forget_nodes(place)
        self._readers[place] = 0
        stage.transforms.append(transform)
        return place

    def remove(self, places: Iterable[int]) -> None:
        """Remove stages that no query uses."""
        for place in set(places):
            self._forget_nodes(place)
            del self.stages[place]
            del self._readers[place]
            for node in self._made.pop(place, ()):
                # An equal node that came later may have a stage of its own.
                if self.origins.get(node, (None,))[0] == place:
                    del self.origins[node]

    def _forget_nodes(self, place: int) -> None:
        """Nobody who comes later may read this stage as the rows of a plan node."""
        for node in self._nodes.pop(place, ()):
            del self._places[node]

    def below(self, place: int) -> Iterator[int]:
        """The places of a stage and of all stages below it, inputs first. A stage that is read twice comes
        twice."""
        for one in self.stages[place].inputs:
            yield from self.below(one)
        yield place

    # ---- running -----------------------------------------------------------------------------------------------------

    def step(self, now: Round) -> Output:
        """Run one round of one plan, from the leaves up, and return the answer's rows and evaluations."""
        outputs: dict[int, Output] = {}
        for place, stage in self.stages.items():
            try:
                outputs[place] = stage.step(outputs, now)
            except MemoryError as error:
                raise failure_of(error, stage.name) from error
        return outputs[self.root]

    def step_all(self, now: Round, failures: dict[int, NilometerError]) -> dict[int, Output]:
        """Run one round of all plans and return the output of every stage.

        If a stage meets an error, the error goes into `failures`, and neither the stage nor those above it
        have an output. Rows without a value are in `letters`, and the others go on.
        """
        outputs: dict[int, Output] = {}
        self.letters = {}
        for place, stage in self.stages.items():
            if failures and not all(one in outputs for one in stage.inputs):
                continue
            try:
                with collecting() as letters:
                    outputs[place] = stage.step(outputs, now)
            except Caught as error:
                failures[place] = failure_of(error, stage.name)
            else:
                if letters:
                    self.letters[place] = letters
        return outputs

    @property
    def shed(self) -> dict[str, int]:
        """The number of tuples that joins with bounded memory have shed, by stream. If a join's input comes
        from several streams, their names are combined."""
        counts: dict[str, int] = {}
        for stage in self.stages.values():
            for place, count in zip(stage.inputs, shed_by(stage.worker), strict=False):
                name = " and ".join(sorted(self.stages[place].streams))
                counts[name] = counts.get(name, 0) + count
        return {name: count for name, count in counts.items() if count}

    def snapshot(self) -> dict[str, dict[str, bytes]]:
        """The panes of every stage, by its place and name."""
        return {_key(place, stage): stage.worker.snapshot() for place, stage in self.stages.items()}

    def restore(self, panes: dict[str, dict[str, bytes]]) -> None:
        """Restore a snapshot of the same plan."""
        for place, stage in self.stages.items():
            stage.worker.restore(panes[_key(place, stage)])


def _key(place: int, stage: Stage) -> str:
    return f"{place:03d} {stage.name}"
