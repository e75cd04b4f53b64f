"""A physical plan and the parts that are there already -> stages: equal sub-plans are borrowed, the rest is lowered.

Several queries folded into one Fjord share what is equal (fjords.txt section 4.2, Fig. 7). The gateway's lowering builds the
stages; here a transform is fused behind a stage only while nobody else reads that stage's rows.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence

import polars as pl

from nilometer.dataflow.dataflow import Dataflow
from nilometer.dataflow.lowering import ABILITIES, Lower
from nilometer.dataflow.lowering.leaves import scanned
from nilometer.dataflow.lowering.sources_of import id_type
from nilometer.dataflow.lowering.streams import shedding_of
from nilometer.dataflow.sources import Extents
from nilometer.dataflow.stages import Round, Stage, Transform
from nilometer.errors import UnsupportedError
from nilometer.operators.frames import dtypes, empty
from nilometer.operators.logic import Output
from nilometer.operators.symmetric_hash_join import SymmetricHashJoin, hashable
from nilometer.plan import physical


class Stateless:
    """A worker without state."""

    def step(self, inputs: Sequence[Output], now: Round, first_tick: int | None) -> Output:  # noqa: ARG002
        """What comes in goes out: what is fused behind it does the work."""
        return inputs[0]

    def snapshot(self) -> dict[str, bytes]:
        return {}

    def restore(self, panes: dict[str, bytes]) -> None:
        pass


class Borrowed(Stateless):
    """Stands for a module that another query has brought."""

    def __init__(self, node: physical.Node) -> None:
        self.node = node


class StoredTable(Stateless):
    """Stands for a table that is pulled: `read` gives its rows, `prepare` makes of them, and of later versions, what the plan wants."""

    def __init__(
        self, name: str, read: Callable[[], pl.DataFrame], prepare: Transform, nothing: pl.DataFrame
    ) -> None:
        self.name = name
        self.read = read
        self.prepare = prepare
        self.nothing = nothing


class Folding(Dataflow):
    """The stages of one plan, in the order in which rows flow. `known` are the nodes that need not be run again, with the
    streams below them; `nodes` says which node's rows a stage gives; `join_rows` is the memory of each hash join, in rows."""

    def __init__(
        self,
        plan: physical.Node,
        sources: Extents,
        known: Mapping[physical.Node, frozenset[str]],
        join_rows: int | None = None,
    ) -> None:
        self.join_rows = join_rows
        self._known = known
        self._places: dict[physical.Node, int] = {}
        self._readers: Counter[int] = Counter()
        super().__init__(plan, sources)

    @property
    def nodes(self) -> dict[int, physical.Node]:
        """By the stage's place."""
        return {place: node for node, place in self._places.items()}

    def lower(self, node: physical.Node) -> int:
        place = self._places.get(node)
        if place is None and node in self._known:
            self.stages.append(Stage(node.operator, Borrowed(node), (), self._known[node]))
            place = len(self.stages) - 1
        elif place is None:
            ability = LOWERING.get(type(node))
            if ability is None:
                raise UnsupportedError(f"a Fjord cannot run {node.operator}")
            place = ability(node, self)
        self._places[node] = place
        self._readers[place] += 1
        return place

    def fuse(self, place: int, transform: Transform) -> int:
        stage = self.stages[place]
        if self._readers[place] > 1 or isinstance(stage.worker, Borrowed):
            self.stages.append(Stage(stage.name, Stateless(), (place,), stage.streams, [transform]))
            return len(self.stages) - 1
        self._places = {node: at for node, at in self._places.items() if at != place}
        self._readers[place] = 0
        return super().fuse(place, transform)


def _scan(node: physical.StoredScan, flow: Dataflow) -> int:
    """A table's snapshot, the wanted columns under their alias; not read before it is pulled."""

    def prepare(rows: pl.DataFrame) -> pl.DataFrame:
        return scanned(node, rows)

    def read() -> pl.DataFrame:
        return prepare(flow.sources.table(node.table))

    nothing = empty(dtypes(node.schema))
    return flow.add(node, StoredTable(node.table.name, read, prepare, nothing))


def _window_join(node: physical.WindowJoin, flow: Dataflow) -> int:
    """Two streams with an equality are hashed as they come (fjords.txt section 3.1.4); others as on the gateway."""
    keys = tuple((k.left, k.left_expression, k.right, k.right_expression) for k in node.keys)
    if len(node.streams) != 2 or not hashable(keys):
        return ABILITIES[type(node)](node, flow)
    left, right = node.streams
    spec = SymmetricHashJoin(
        left.schema,
        right.schema,
        min(bound.width for bound in node.bounds),
        tuple((one, other) if at == 0 else (other, one) for at, one, _, other in keys),
        node.predicate,
        id_type(node),
        flow.join_rows if isinstance(flow, Folding) and node.memory is None else None,
        shedding_of(node),
    )
    return flow.add_operator(node, spec)


LOWERING: dict[type[physical.Node], Lower] = {
    **ABILITIES,
    physical.StoredScan: _scan,
    physical.HwJoin: _window_join,
}
"""The gateway's, but for what a Fjord does its own way."""
