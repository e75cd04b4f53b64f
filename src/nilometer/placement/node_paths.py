"""The place of a node in a plan: which input to take at each step from the root down to it.

Equal sub-plans, and even the same object, may occur twice in a plan. Facts about one occurrence are therefore
kept by its path.

    Deliver ()
      NlJoin (0,)
        SpAcquire a (0, 0)
        SpAcquire b (0, 1)
"""

from __future__ import annotations

from collections.abc import Iterator

from nilometer.plan import physical

NodePath = tuple[int, ...]
"""The number of the input at each step; () is the root. A node's path begins with the paths of all nodes
above it."""


def inputs_with_paths(path: NodePath, node: physical.Node) -> Iterator[tuple[NodePath, physical.Node]]:
    """The nodes right below a node that is at `path`."""
    for number, child in enumerate(node.inputs):
        yield (*path, number), child


def walk_with_paths(node: physical.Node, path: NodePath = ()) -> Iterator[tuple[NodePath, physical.Node]]:
    """The node and all below it, parents first."""
    yield path, node
    for below, child in inputs_with_paths(path, node):
        yield from walk_with_paths(child, below)
