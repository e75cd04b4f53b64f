"""The ticks of a derived stream: rounded down to one interval for all its tuples, or equal to their times.

Where a union brings streams of different intervals together, the tick of a tuple is its time. With the
streams' own ticks, a tuple could come before one whose tick is already complete. The reference evaluator has
the same rule, implemented separately.
"""

from __future__ import annotations

from nilometer.algebra import Collection
from nilometer.algebra.table_function import Output
from nilometer.expressions import never_fails
from nilometer.plan import physical


def passed_on(node: physical.Node) -> physical.Node | None:
    """The input whose tuples a node passes on with their ticks: filters, projections, LAG, SAMPLE, joins of a stream
    with tables. None for other nodes."""
    match node:
        case (
            physical.Select()
            | physical.Project()
            | physical.Rename()
            | physical.Unnest()
            | physical.Exchange()
            | physical.Lag()
            | physical.Sample()
            | physical.Analytic()
            | physical.Limit()
        ):
            return node.inputs[0]
        case physical.NlJoin(left=left, right=right) | physical.HashJoin(left=left, right=right):
            if node.collection is not Collection.STREAM:
                return None
            return left if left.collection is Collection.STREAM else right
        case _:
            return None


def acquisition_interval(node: physical.Node) -> int | None:
    """The interval of a sensed extent, also after nodes that pass its tuples on; None for other streams."""
    if isinstance(node, physical.SpAcquire):
        return node.stream.every
    below = passed_on(node)
    return None if below is None else acquisition_interval(below)


def tick_interval(node: physical.Node) -> int | None:
    """The interval that a stream's ticks are rounded down to; None where ticks are times."""
    match node:
        case physical.SpAcquire(stream=stream):
            return stream.every
        case physical.TableFunction(call=call) if call.function.output is Output.TUPLES:
            return tick_interval(node.input)
        case physical.Union(left=left) if not mixed(node):
            return tick_interval(left)
        case _:
            below = passed_on(node)
            return None if below is None else tick_interval(below)


def by_the_clock(window: physical.TimeWindow) -> bool:
    """Whether the clock says when a window is evaluated, and not the tuples of its stream."""
    return window.slide is not None or acquisition_interval(window.input) is not None


def whole_stream(node: physical.Node) -> str | None:
    """The stream (in lower case) of whose tuples a node passes on each one; None: it does not pass on all of a stream.
    A projection that may fail sets tuples aside."""
    while isinstance(node, physical.Project | physical.Rename):
        if isinstance(node, physical.Project) and not all(
            never_fails(item.expression) for item in node.items
        ):
            return None
        node = node.input
    if not isinstance(node, physical.SpAcquire) or node.predicate is not None or node.sensors is not None:
        return None
    return node.stream.name.lower()


def mixed(node: physical.Union) -> bool:
    """Whether a union brings streams of different intervals together."""
    return node.collection is Collection.STREAM and tick_interval(node.left) != tick_interval(node.right)
