"""Select before a time window buffers."""

from __future__ import annotations

from nilometer.algebra import Collection, Relation
from nilometer.expressions import uses_now
from nilometer.optimizer.context import OptimizerContext
from nilometer.optimizer.rewriting import part, selected
from nilometer.plan.logical import (
    Aggregate,
    BagOperation,
    Fill,
    Join,
    Node,
    Select,
    TimeWindow,
    ToStream,
    Union,
    acquisition_interval,
    preserves_table,
)


def push_selection_below_window(plan: Node, _context: OptimizerContext) -> Node:
    """`Select(p, TimeWindow(w, x)) => TimeWindow(w, Select(p, x))   when p does not read NOW, and
    w slides, or x is sensed, or w is [NOW] and nothing above sees an empty window`

    By the language's meaning the window is taken first, and WHERE filters its content. With SLIDE, and over a sensed
    stream, the evaluation ticks do not depend on the filter. Otherwise a window is evaluated where its input has a
    tuple, and a filter below would drop evaluations at which a RANGE still shows older tuples. A [NOW] window would be
    empty at these ticks. An empty window is seen by an aggregate without keys, by ISTREAM and DSTREAM, by a join that
    keeps the rows of a table, and by a join or union of windows, which otherwise keep the previous window. The rule never applies to a row window, which counts all
    rows.
    """
    return _push(plan, empty_is_seen=False)


def _push(node: Node, empty_is_seen: bool) -> Node:
    below = _sees_empty(node, empty_is_seen)
    inputs = tuple(_push(child, below) for child in node.inputs)
    if any(new is not old for new, old in zip(inputs, node.inputs, strict=True)):
        node = node.with_inputs(inputs)
    match node:
        case Select(TimeWindow(input) as window, predicate) if ticks_stay(window, empty_is_seen):
            going, staying = part(predicate, lambda p: not uses_now(p))
            if going:
                return selected(window.with_inputs((selected(input, going),)), staying)
    return node


def ticks_stay(window: TimeWindow, empty_is_seen: bool) -> bool:
    """Whether the evaluations that matter stay the same when tuples are missing from the window's input."""
    if window.slide is not None or acquisition_interval(window.input) is not None:
        return True
    return window.start == window.end == 0 and not window.open_start and not empty_is_seen


def _sees_empty(node: Node, above: bool) -> bool:
    """Whether the node, or one above it, tells an evaluation of an empty window from none."""
    match node:
        case Aggregate(keys=()) | Fill():
            return True
        case Aggregate(completeness=completeness) if completeness is not None:
            return True
        case ToStream(relation=relation):
            return relation is not Relation.RSTREAM
        case Join(left, right, kind) if preserves_table(kind, left, right):
            return True
        case Join(left, right):
            return above or (left.collection is right.collection is Collection.WINDOWS)
        case Union() | BagOperation() if node.collection is Collection.WINDOWS:
            return True
        case _:
            return above
