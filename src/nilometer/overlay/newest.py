"""Bracket windows under ISTREAM as a join that peers run (`NEWEST`; overlay, section 2).

    ISTREAM SELECT ... FROM a [RANGE 5 MINUTES], b [RANGE 1 MINUTE] WHERE a.x = b.x

A result exists if all its members were in their windows when the last of them came: t_last - t_i < w_i for each member
i. It comes once, at that moment. So the widths are w_i - 1 from i to every other input; RANGE is open at its start.

A gateway's own ISTREAM differs in two ways. Its windows are evaluated when a tuple of their own stream comes, so that
a stream which pauses keeps its last window, and a result may have members that are longer apart. And it compares bags: a
new row cancels an equal one that leaves at the same moment. Here only the times of the members count.
"""

from __future__ import annotations

from dataclasses import dataclass

from nilometer.expressions import Expression, conjunction
from nilometer.plan import physical
from nilometer.plan.eager_aggregation import FlatError, JoinTree, join_tree
from nilometer.plan.logical import Projection
from nilometer.plan.window_join_parts import KeyPair, WindowBound, tied


class NotNewestError(Exception):
    """Why peers cannot run a join of bracket windows."""


@dataclass(frozen=True)
class Newest:
    """A join of bracket windows under ISTREAM. `node` is the same join by WINDOW, with the widest of `windows` between all
    inputs; `items` give the columns of `stream`, the ISTREAM, from its rows."""

    stream: physical.IStream
    node: physical.HwJoin
    windows: tuple[int, ...]
    items: tuple[Projection, ...]


def newest_in(plan: physical.Node) -> Newest | None:
    """The only ISTREAM of a plan that reads nothing besides, if it is one of joined streams; raises NotNewestError."""
    streams = [node for node in physical.walk_plan(plan) if isinstance(node, physical.IStream)]
    leaves = [node for node in physical.walk_plan(plan) if not node.inputs]
    if len(streams) != 1:
        return None
    stream = streams[0]
    own = [node for node in physical.walk_plan(stream) if not node.inputs]
    if len(own) != len(leaves) or len(own) < 2:
        return None
    try:
        tree = join_tree(stream.input)
    except FlatError as error:
        raise NotNewestError(str(error)) from error
    windows, acquires = zip(*map(_leaf, tree.leaves), strict=True)
    widest = max(windows) - 1
    count = len(acquires)
    bounds = tuple(WindowBound(i, j, widest) for j in range(count) for i in range(j))
    keys = _keys(tree)
    if not tied(count, keys):
        raise NotNewestError("equalities do not tie all streams together")
    items = tuple(Projection(one.name, tree.names[one.name], one.unit) for one in stream.schema)
    return Newest(stream, physical.HwJoin(acquires, bounds, keys), windows, items)


def _keys(tree: JoinTree) -> tuple[KeyPair, ...]:
    found = []
    for left, right in (pair for join in tree.joins for pair in join.keys):
        one, other = tree.leaf_of(left), tree.leaf_of(right)
        assert one is not None
        assert other is not None
        found.append(KeyPair(one, left, other, right) if one < other else KeyPair(other, right, one, left))
    return tuple(found)


def _leaf(node: physical.Node) -> tuple[int, physical.SpAcquire]:
    """The length of an input's window, and its stream with all conditions on it."""
    conditions: list[Expression] = []
    while isinstance(node, physical.Select):
        conditions.append(node.predicate)
        node = node.input
    if not isinstance(node, physical.TimeWindow) or not isinstance(node.input, physical.SpAcquire):
        raise NotNewestError("something lies between a window and its stream")
    leaf = node.input
    if (
        node.start is None
        or node.end
        or node.slide is not None
        or not node.open_start
        or node.grid is not None
    ):
        raise NotNewestError("its windows are not all [RANGE ...] without SLIDE")
    if leaf.predicate is not None:
        conditions.append(leaf.predicate)
    predicate = conjunction(conditions) if conditions else None
    return node.start, physical.SpAcquire(
        leaf.stream, leaf.alias, leaf.columns, leaf.reads, predicate, leaf.sensors, leaf.of
    )
