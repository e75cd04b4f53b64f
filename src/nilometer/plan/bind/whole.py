"""A stream whose data is at hand, taken as one finite table: no window is given, and none is needed.

    SELECT id, AVG(temperature) FROM readings GROUP BY id

The binder puts a window over such a stream that is evaluated once, at the end of the data, and holds all of
it. The rows of such a query have no tick. A stream that is still running has no end, so there the query is
refused as before.
"""

from __future__ import annotations

from nilometer import algebra
from nilometer.algebra.grid import ONCE
from nilometer.expressions import Expression, uses_now
from nilometer.language import ast
from nilometer.plan import logical
from nilometer.plan.bind.scope import Context


def can_be_whole(context: Context, node: logical.Node) -> bool:
    """Whether all data of a stream is at hand."""
    if node.collection is not algebra.Collection.STREAM or is_whole(node):
        return False
    streams = [leaf.stream for leaf in logical.walk_plan(node) if isinstance(leaf, logical.Acquire)]
    if not streams or any(stream.name.lower() not in context.at_hand for stream in streams):
        return False
    if any(map(_goes_on, logical.walk_plan(node))):
        context.fail(
            "the rows of windows that slide go on after the end of the data, so there is no whole of them",
            None,
            detail="a window is evaluated even when it is empty; only windows of sessions end",
            hint="for all intervals of a file at once, group by the time: GROUP BY date_bin(1 HOUR, time)",
        )
    return True


def _goes_on(node: logical.Node) -> bool:
    """Whether a window is evaluated as time passes, and not only where there is a tuple."""
    return isinstance(node, logical.TimeWindow) and (
        node.slide is not None or logical.acquisition_interval(node.input) is not None
    )


def whole(node: logical.Node) -> logical.Node:
    """All tuples of a stream, as one window at its end."""
    return logical.TimeWindow(node, None, 0, ONCE.nominal, False, ONCE)


def is_whole(node: logical.Node) -> bool:
    """Whether a node's rows are there only at the end of the data."""
    return any(
        isinstance(one, logical.TimeWindow) and one.grid is not None and one.grid.once
        for one in logical.walk_plan(node)
    )


def reads_now(node: logical.Node) -> bool:
    """Whether an expression above the windows of whole streams reads NOW, which has no value there."""
    read: list[Expression | None] = []
    match node:
        case logical.TimeWindow():
            return False
        case logical.Select(predicate=predicate) | logical.Join(predicate=predicate):
            read = [predicate]
        case logical.Project(items=projected):
            read = [item.expression for item in projected]
        case logical.Aggregate(keys=keys, items=items):
            read = [*(key.expression for key in keys), *(item.aggregate for item in items)]
        case _:
            pass
    return any(e is not None and uses_now(e) for e in read) or any(map(reads_now, node.inputs))


def check_all_or_none(context: Context, nodes: list[logical.Node], place: ast.Node | None) -> None:
    """Whole streams are there once, at the end, and so cannot be joined with windows that come before."""
    windows = [node for node in nodes if node.collection is algebra.Collection.WINDOWS]
    if any(map(is_whole, windows)) and not all(map(is_whole, windows)):
        context.fail(
            "one part of this query has windows, and another reads whole streams",
            place,
            detail="a stream without a window is read as a table, once, at the end of its data",
            hint="give all streams windows, or none",
        )


def with_whole_streams(context: Context, nodes: list[logical.Node]) -> list[logical.Node] | None:
    """The inputs of a join or union, with every stream taken as a whole; None if that is not possible.

    It is possible if all streams are at hand, and no other input has windows of its own.
    """
    streams = [node for node in nodes if node.collection is algebra.Collection.STREAM]
    windows = [node for node in nodes if node.collection is algebra.Collection.WINDOWS]
    if not all(can_be_whole(context, node) for node in streams) or not all(map(is_whole, windows)):
        return None
    return [whole(node) if node.collection is algebra.Collection.STREAM else node for node in nodes]
