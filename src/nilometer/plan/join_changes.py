"""What ISTREAM or DSTREAM is of -> the joins of time windows whose changes it gives, or why whole windows must be compared."""

from __future__ import annotations

from dataclasses import dataclass

from nilometer.expressions import uses_now
from nilometer.plan import physical
from nilometer.plan.eager_aggregation import FlatError, JoinTree, is_windowed_stream, join_tree


@dataclass(frozen=True)
class JoinedWindows:
    """A tree of joins, and the stateless nodes above it, in the order in which rows pass them."""

    tree: JoinTree
    above: tuple[physical.Node, ...]


def joined_windows(node: physical.Node) -> JoinedWindows:
    """The joins below a node; raises FlatError."""
    above: list[physical.Node] = []
    while isinstance(node, physical.Select | physical.Project | physical.Rename):
        above.append(node)
        if isinstance(node, physical.Select) and uses_now(node.predicate):
            raise FlatError("its condition reads NOW")
        if isinstance(node, physical.Project) and any(uses_now(item.expression) for item in node.items):
            raise FlatError("its columns read NOW")
        node = node.input
    if is_windowed_stream(node):
        raise FlatError("one window is no join")
    return JoinedWindows(join_tree(node), tuple(reversed(above)))
