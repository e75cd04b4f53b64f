"""Decides which ticks a derived stream has.

The ticks of a stream are either the times of its tuples or, for all of them, the times rounded down to one
interval. Any other mixture has no order that agrees with its ticks: a tuple could still come before one whose
tick is complete, and an answer would have to be retracted. So where streams of different intervals meet,
ticks are times.
"""

from __future__ import annotations

from nilometer.algebra import Collection
from nilometer.algebra.table_function import Output
from nilometer.plan.logical import Acquire, Node, TableFunction, Union, passed_on


def tick_interval(node: Node) -> int | None:
    """The interval that a stream's ticks are rounded down to; None where ticks are times."""
    match node:
        case Acquire(stream=stream):
            return stream.every
        case TableFunction(call=call) if call.function.output is Output.TUPLES:
            return tick_interval(node.input)
        case Union() if not mixed(node):
            return tick_interval(node.left)
        case _:
            below = passed_on(node)
            return None if below is None else tick_interval(below)


def mixed(node: Union) -> bool:
    """Whether a union combines streams of different intervals."""
    return node.collection is Collection.STREAM and tick_interval(node.left) != tick_interval(node.right)
