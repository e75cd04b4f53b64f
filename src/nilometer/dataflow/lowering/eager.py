"""Lowers an aggregate together with the joins of time windows below it to one operator over the streams
(operators/join_aggregate)."""

from __future__ import annotations

from dataclasses import dataclass, field

from nilometer.dataflow.dataflow import Dataflow
from nilometer.dataflow.lowering.fusion import Items, Keys, fused
from nilometer.dataflow.lowering.sources_of import id_type
from nilometer.dataflow.stages import Operator
from nilometer.expressions import Aggregate, Expression
from nilometer.operators.frames import stream_dtypes
from nilometer.operators.join_aggregate.join_aggregate import Item, JoinAggregate, Pairing
from nilometer.operators.window_aggregate.window_aggregate import WindowAggregate
from nilometer.operators.window_ticks import WindowTicks
from nilometer.plan.eager_aggregation import EagerAggregation, FlatError, JoinTree, eager_aggregation
from nilometer.plan.physical import Node


def eager(node: Node, keys: Keys, items: Items, below: Node, flow: Dataflow) -> int | None:
    """Add the stage that aggregates `below`; None if the joined rows must be made first."""
    found = aggregated_join(keys, items, below)
    return None if found is None else flow.add(node, Operator(found.spec.build()), found.windows(flow))


@dataclass(frozen=True)
class AggregatedJoin:
    """An aggregate over joins of time windows, with the windows and their streams."""

    spec: JoinAggregate
    leaves: tuple[Node, ...]
    streams: tuple[Node, ...]

    def windows(self, flow: Dataflow) -> tuple[int, ...]:
        """The stages of its inputs."""
        together = zip(self.leaves, self.streams, self.spec.sides, strict=True)
        return tuple(windowed_stream(leaf, stream, side, flow) for leaf, stream, side in together)


def aggregated_join(keys: Keys, items: Items, below: Node) -> AggregatedJoin | None:
    """The aggregate of what a node gives, made without the joined rows; None if they must be made first, or if nothing is
    joined."""
    try:
        asked = eager_aggregation(keys, items, below)
    except FlatError:
        return None
    if not asked.tree.joins:
        return None
    spec, streams = _spec(asked)
    return AggregatedJoin(spec, asked.tree.leaves, tuple(streams))


def windowed_stream(leaf: Node, stream: Node, window: WindowAggregate, flow: Dataflow) -> int:
    """The stream's rows, and the evaluations of its window."""
    ticks = WindowTicks(window.scope, tuple(stream_dtypes(stream.schema, id_type(stream)).items()))
    return flow.add_operator(leaf, ticks, (stream,))


@dataclass
class _Columns:
    """The key columns of the inputs. Each expression has one column."""

    tree: JoinTree
    found: dict[tuple[int, Expression], str] = field(default_factory=dict)

    def name(self, expression: Expression) -> str:
        """The column that holds an expression."""
        leaf = self.tree.leaf_of(expression)
        assert leaf is not None, "an expression over several inputs"
        own = sum(1 for number, _ in self.found if number == leaf)
        return self.found.setdefault((leaf, expression), f"{leaf}.key{own}")

    def of(self, leaf: int) -> Keys:
        """The key columns of one input."""
        return tuple(
            (name, expression) for (number, expression), name in self.found.items() if number == leaf
        )


def _spec(asked: EagerAggregation) -> tuple[JoinAggregate, list[Node]]:
    tree = asked.tree
    columns = _Columns(tree)
    joined = [
        tuple((columns.name(one), columns.name(other)) for one, other in join.keys) for join in tree.joins
    ]
    groups = tuple((name, columns.name(expression)) for name, expression in asked.keys)
    pairings = []
    for place, join in enumerate(tree.joins):
        # The joins that follow and GROUP BY need these columns.
        later = [name for keys in joined[place + 1 :] for pair in keys for name in pair]
        wanted = dict.fromkeys((*later, *(column for _, column in groups)))
        inside = _leaves_below(tree, len(tree.leaves) + place)
        kept = tuple(name for name in wanted if int(name.split(".")[0]) in inside)
        pairings.append(Pairing(join.left, join.right, joined[place], kept))
    # For each input, its distinct aggregates and their places in the input's list.
    own: list[dict[Aggregate, int]] = [{} for _ in tree.leaves]
    items = []
    for name, aggregate in asked.items:
        side = tree.leaf_of(aggregate) or 0
        at = None if aggregate.argument is None else own[side].setdefault(aggregate, len(own[side]))
        items.append(Item(name, aggregate, side, at))
    sides, streams = [], []
    for number, leaf in enumerate(tree.leaves):
        numbered = tuple((str(place), aggregate) for aggregate, place in own[number].items())
        together = fused(columns.of(number), numbered, None, leaf)
        assert together is not None, "a windowed stream that cannot be fused"
        spec, stream = together
        assert isinstance(spec, WindowAggregate), "a windowed stream that is no time window"
        sides.append(spec)
        streams.append(stream)
    return JoinAggregate(tuple(sides), tuple(pairings), groups, tuple(items)), streams


def _leaves_below(tree: JoinTree, number: int) -> set[int]:
    if number < len(tree.leaves):
        return {number}
    join = tree.joins[number - len(tree.leaves)]
    return _leaves_below(tree, join.left) | _leaves_below(tree, join.right)
