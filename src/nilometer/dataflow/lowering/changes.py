"""Lowers ISTREAM or DSTREAM together with the joins of time windows below it to one operator over the streams
(operators/join_changes.py)."""

from __future__ import annotations

from nilometer.dataflow.dataflow import Dataflow
from nilometer.dataflow.lowering.sources_of import id_type
from nilometer.dataflow.lowering.stateless import transform_of
from nilometer.dataflow.stages import Operator, Transform
from nilometer.dataflow.ticks import acquisition_interval
from nilometer.operators.evaluate.evaluate import compile_projection
from nilometer.operators.frames import stream_dtypes
from nilometer.operators.join_changes import Edge, JoinChanges, Side
from nilometer.operators.logic import WINDOW_COLUMNS
from nilometer.operators.window_scope import Scope
from nilometer.operators.window_ticks import WindowTicks
from nilometer.plan.eager_aggregation import FlatError
from nilometer.plan.join_changes import JoinedWindows, joined_windows
from nilometer.plan.physical import DStream, IStream, Node, TimeWindow


def changes(node: IStream | DStream, flow: Dataflow) -> int | None:
    """Add the stage that computes the changes of a join; None if whole windows must be compared."""
    try:
        asked = joined_windows(node.input)
    except FlatError:
        return None
    tree = asked.tree
    windows = [_window(leaf) for leaf in tree.leaves]
    if any(window.grid is not None for window in windows):
        return None
    scopes = [Scope(w.start, w.end, w.slide, w.open_start, acquisition_interval(w.input)) for w in windows]
    spec = JoinChanges(
        tuple(Side(leaf.schema, scope) for leaf, scope in zip(tree.leaves, scopes, strict=True)),
        tuple(_edges(asked)),
        node.relation,
        node.schema,
        (*_columns(asked), *(transform_of(above) for above in asked.above)),
    )
    places = tuple(
        _windowed_stream(leaf, window, scope, flow)
        for leaf, window, scope in zip(tree.leaves, windows, scopes, strict=True)
    )
    return flow.add(node, Operator(spec.build()), places)


def _columns(asked: JoinedWindows) -> list[Transform]:
    """The projection from the columns of the leaves to those of the tree; empty if they are the same."""
    tree = asked.tree
    if list(tree.names) == [name for leaf in tree.leaves for name in leaf.schema.names]:
        return []
    projector = compile_projection(tree.names.items())
    return [lambda rows: projector(rows, WINDOW_COLUMNS)]


def _edges(asked: JoinedWindows) -> list[Edge]:
    tree = asked.tree
    edges = []
    for join in tree.joins:
        for one, other in join.keys:
            left, right = tree.leaf_of(one), tree.leaf_of(other)
            assert left is not None, "a key over several inputs"
            assert right is not None, "a key over several inputs"
            edges.append(Edge(left, one, right, other))
    return edges


def _window(leaf: Node) -> TimeWindow:
    while not isinstance(leaf, TimeWindow):
        (leaf,) = leaf.inputs
    return leaf


def _windowed_stream(leaf: Node, window: TimeWindow, scope: Scope, flow: Dataflow) -> int:
    """The stream's rows, transformed as in the leaf, and the evaluations of its window."""
    ticks = WindowTicks(scope, tuple(stream_dtypes(window.input.schema, id_type(window.input)).items()))
    place = flow.add_operator(window, ticks, (window.input,))
    # The nodes above the window move above its stream. The evaluations are still those of all rows.
    chain = []
    while not isinstance(leaf, TimeWindow):
        chain.append(leaf)
        (leaf,) = leaf.inputs
    below = window.input
    for above in reversed(chain):
        below = above.with_inputs((below,))
        place = flow.fuse(place, transform_of(below))
    return place
