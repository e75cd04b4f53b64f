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
from nilometer.dataflow.ticks import acquisition_interval
from nilometer.expressions import Call, Expression, may_fail, uses_now, walk
from nilometer.plan import physical
from nilometer.spark.layout.reading import joins_table
from nilometer.types import Kind

_EXACT = (Kind.INT, Kind.TIME, Kind.DURATION)
_WITHOUT_ERRORS = (
    *("sign", "length", "strpos", "date_part", "least", "greatest", "coalesce", "ceil", "floor", "trunc"),
    "try_cast_int",
)
"""Functions whose integers always fit: they count, or choose among their arguments."""


def lifted(plan: physical.Node) -> physical.Node:
    """The plan with its windows lifted."""
    return physical.transform_plan(plan, _over_windows)


def _over_windows(node: physical.Node) -> physical.Node:
    if not _can_pass(node):
        return node
    (window,) = (child for child in node.inputs if child.collection is not Collection.TABLE)
    if not isinstance(window, physical.TimeWindow):
        return node
    if _drops_rows(node) and window.slide is None and acquisition_interval(window.input) is None:
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
    if uses_now(expression) or may_fail(expression):
        return False
    return not any(map(_may_overflow, walk(expression)))


def _may_overflow(expression: Expression) -> bool:
    if not isinstance(expression, Call):
        return False
    if expression.function == "round":
        return len(expression.arguments) > 1 and expression.type.kind in _EXACT
    return expression.type.kind in _EXACT and expression.function not in _WITHOUT_ERRORS
