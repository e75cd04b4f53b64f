"""A physical plan -> fragments (SNEE step 5, Fig. 16): an EXCHANGE where rows must meet, or where there are
fewer of them.

The rule is that of the released code: an EXCHANGE goes below an operator that must see all tuples of its
extent, below AGGR_MERGE and DELIVER, above AGGR_EVAL, and below an operator that gives more rows than it
gets. A projection stays with the operator whose output it projects (Table 1 gives that operator a projection
list). The operators that run at the sink form one fragment with DELIVER.
"""

from __future__ import annotations

from collections.abc import Container
from dataclasses import replace

from nilometer.placement.fragments import Fragment, FragmentTree
from nilometer.placement.node_paths import NodePath, inputs_with_paths
from nilometer.placement.volume import readings_covered
from nilometer.plan import physical


def partition(
    plan: physical.Node,
    interval: int,
    *,
    at_sink: Container[NodePath] = frozenset(),
    every_growth: bool = False,
    rest_on: str = "gateway",
) -> FragmentTree:
    """The fragments of a plan. `at_sink` holds the paths of operators that run with DELIVER, on the host
    `rest_on`. `every_growth`: also puts an EXCHANGE below a window that holds several readings (the paper's
    pragmatic criterion)."""
    found: dict[int, Fragment] = {}
    _collect(_cut((), plan, interval, at_sink, every_growth), None, found)
    fragments = [found[number] for number in range(len(found))]
    if len(fragments[0].operators) > 1:
        fragments[0] = replace(fragments[0], host=rest_on)
    return FragmentTree(tuple(fragments))


def _cut(
    path: NodePath, node: physical.Node, interval: int, at_sink: Container[NodePath], every_growth: bool
) -> physical.Node:
    children = []
    for path_below, child in inputs_with_paths(path, node):
        below = _cut(path_below, child, interval, at_sink, every_growth)
        together = (isinstance(node, physical.Deliver) or path in at_sink) and path_below in at_sink
        if not together and (path in at_sink or _exchanges(node, child, interval, every_growth)):
            below = physical.Exchange(below)
        children.append(below)
    return node.with_inputs(tuple(children)) if children else node


def _exchanges(node: physical.Node, child: physical.Node, interval: int, every_growth: bool) -> bool:
    if isinstance(node, physical.Deliver | physical.AggregateMerge) or node.attribute_sensitive:
        return True
    if isinstance(node, physical.Project):
        return False
    if isinstance(child, physical.AggregateEvaluate):
        return True
    grows = isinstance(node, physical.TimeWindow) and readings_covered(node, interval) > 1
    return every_growth and grows


def _collect(
    root: physical.Node, consumer: int | None, found: dict[int, Fragment], number: int = 0
) -> tuple[physical.Node, int]:
    """Number a fragment and then those below it, left to right (Fig. 17). Returns its root, in which each
    EXCHANGE knows its producer, and the next free number."""
    free, producers = number + 1, []

    def numbered(node: physical.Node) -> physical.Node:
        nonlocal free
        if isinstance(node, physical.Exchange):
            producer = free
            producers.append(producer)
            below, free = _collect(node.input, number, found, producer)
            return replace(node, input=below, producer=producer)
        return node.with_inputs(tuple(map(numbered, node.inputs)))

    root = numbered(root)
    found[number] = Fragment(number, root, tuple(producers), consumer)
    return root, free
