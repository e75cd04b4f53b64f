"""Lifts the time windows of a plan as high as possible, so that more of the plan runs in the readers.

    SELECT · TIME_WINDOW   =>   TIME_WINDOW · SELECT        likewise PROJECT, RENAME, and joins with a table

A condition on a row in a window is then evaluated once per tuple, before rows are sent anywhere. A column
from a table can divide the rows. And an aggregate above is fused with its window. The lifted expression must
not read NOW, and must not raise an error: a tuple that no window sees would raise it, too. An operator that
drops rows must not change when a window is evaluated.
"""

from __future__ import annotations

from dataclasses import replace

from nilometer.algebra import Collection, JoinKind
from nilometer.dataflow.ticks import by_the_clock
from nilometer.expressions import Expression, never_fails, uses_now
from nilometer.plan import physical
from nilometer.spark.layout.reading import joins_table


def lifted(plan: physical.Node) -> physical.Node:
    """The plan with its windows lifted."""
    return physical.transform_plan(plan, _over_windows)


def _over_windows(node: physical.Node) -> physical.Node:
    if not _can_pass(node):
        return node
    (window,) = (child for child in node.inputs if child.collection is not Collection.TABLE)
    if not isinstance(window, physical.TimeWindow):
        return node
    if _drops_rows(node) and not by_the_clock(window):
        return node
    inputs = tuple(window.input if child is window else child for child in node.inputs)
    return replace(window, input=_over_windows(node.with_inputs(inputs)), elided=False)


def _can_pass(node: physical.Node) -> bool:
    match node:
        case physical.Rename(collection=Collection.WINDOWS):
            return True
        case physical.Select(collection=Collection.WINDOWS, predicate=predicate):
            return _harmless(predicate)
        case physical.Project(collection=Collection.WINDOWS, items=items):
            return all(_harmless(item.expression) for item in items)
        case physical.NlJoin(collection=Collection.WINDOWS, predicate=predicate) if joins_table(node):
            return predicate is None or _harmless(predicate)
        case physical.HashJoin(collection=Collection.WINDOWS, keys=keys, residual=residual) if joins_table(
            node
        ):
            read = [expression for pair in keys for expression in pair]
            return all(map(_harmless, read if residual is None else [*read, residual]))
        case _:
            return False


def _drops_rows(node: physical.Node) -> bool:
    match node:
        case physical.Project() | physical.Rename():
            return False
        case physical.NlJoin(kind=kind) | physical.HashJoin(kind=kind):
            return kind is not JoinKind.LEFT
        case _:
            return True


def _harmless(expression: Expression) -> bool:
    """Whether the expression has the same value in every window and never raises an error."""
    return not uses_now(expression) and never_fails(expression)
