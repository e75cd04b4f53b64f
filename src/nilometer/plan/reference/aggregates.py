"""Aggregates bags: one row per group, or without keys one row even for an empty bag; and COMPLETENESS."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import Any

from nilometer.algebra import Completeness
from nilometer.errors import InternalError
from nilometer.plan.logical import Aggregate, AggregateItem, TimeWindow
from nilometer.plan.reference.aggregate_functions import NAIVE_AGGREGATES, median_of
from nilometer.plan.reference.bags import Bag
from nilometer.plan.reference.rows import Evaluation, Row, Values, freeze
from nilometer.plan.reference.skipping import attempt
from nilometer.plan.scalar import aggregate, evaluate
from nilometer.types import Kind


def aggregated(node: Aggregate, bag: Bag, now: int | None) -> list[Values]:
    """The aggregates of a bag: without keys always one row, with keys one row for each group."""
    sound = [values for values in bag for _ in attempt(partial(_needed, node, values, now))]
    return [
        row
        for keys, group in grouped(node, sound, now)
        for row in attempt(partial(_row, node, keys, group, now))
    ]


def _needed(node: Aggregate, values: Values, now: int | None) -> list[Any]:
    """The keys and arguments of a row."""
    arguments = [argument for item in node.items for argument in item.aggregate.children()]
    return [evaluate(each, values, now) for each in (*(key.expression for key in node.keys), *arguments)]


def _row(node: Aggregate, keys: dict[str, Any], group: Bag, now: int | None) -> Values:
    return {**keys, **{item.name: _item(item, group, now) for item in node.items}}


def grouped(node: Aggregate, bag: Bag, now: int | None) -> list[tuple[dict[str, Any], list[Values]]]:
    """The groups of a bag, each with its keys (NULL = NULL), in the order in which they first appear."""
    if not node.keys:
        return [({}, list(bag))]
    groups: dict[Any, tuple[dict[str, Any], list[Values]]] = {}
    for values in bag:
        keys = {key.name: evaluate(key.expression, values, now) for key in node.keys}
        groups.setdefault(freeze(keys), (keys, []))[1].append(values)
    return list(groups.values())


def _item(item: AggregateItem, group: Bag, now: int | None) -> Any:
    expression = item.aggregate
    if expression.argument is None:
        return len(group)  # COUNT(*)
    if expression.function in NAIVE_AGGREGATES:
        rows = [tuple(evaluate(e, row, now) for e in expression.children()) for row in group]
        return NAIVE_AGGREGATES[expression.function](expression, rows)
    values = [evaluate(expression.argument, row, now) for row in group]
    result = aggregate(expression.function, expression.distinct, values, str(expression))
    if expression.function == "median" and expression.type.kind is Kind.DURATION and result is not None:
        return math.floor(median_of(expression.distinct, values))
    return result


def with_completeness(
    node: Aggregate, evaluations: Sequence[Evaluation], rows: Sequence[Row], first_tick: int | None
) -> list[Evaluation]:
    """The aggregates of a stream's time windows with their completeness: readings present over expected.

    Readings are counted before WHERE, which stands above. Grouped by id, each sensor's readings are divided
    by those expected of that sensor.
    """
    completeness, window = node.completeness, node.input
    if completeness is None or not isinstance(window, TimeWindow):
        raise InternalError("wrong plan: COMPLETENESS of what is not a time window")
    result = []
    for evaluation in evaluations:
        sensors = 1 if node.keys else _sensors(completeness, rows, evaluation.tick)
        bag = []
        for keys, group in grouped(node, evaluation.bag, evaluation.tick):
            values = {**keys, **{item.name: _item(item, group, evaluation.tick) for item in node.items}}
            # Readings expected = sensors x length / interval, computed in whole numbers as long as possible.
            due = sensors * _length(completeness, window, evaluation.tick, first_tick)
            values[completeness.name] = len(group) * completeness.interval / due if due > 0 else None
            bag.append(values)
        result.append(Evaluation(evaluation.tick, tuple(bag)))
    return result


def _sensors(completeness: Completeness, rows: Sequence[Row], tick: int) -> int:
    """How many sensors are expected to report: the declared ones, else those heard so far."""
    if completeness.sensors is not None:
        return completeness.sensors
    return len({row.id for row in rows if row.tick <= tick and row.id is not None})


def _length(completeness: Completeness, window: TimeWindow, tick: int, first_tick: int | None) -> int:
    """The length of the window at a tick, clipped at the stream's first tick.

    A reading stands for the interval that ends with it. This holds for the first reading and for one on a
    closed start: [NOW] is one interval long.
    """
    if first_tick is None:
        return 0
    start = first_tick - completeness.interval
    if window.grid is not None and window.start is not None:
        begin = (
            window.grid.back(tick, window.start // window.grid.nominal)
            if window.grid.by_calendar
            else tick - window.start
        )
        # A half-open window begins with a reading and ends before one: shift it by an interval.
        shift = completeness.interval if window.end else 0
        return max(0, tick - shift - max(start, begin - shift))
    if window.start is not None:
        closed = 0 if window.open_start else completeness.interval
        start = max(start, tick - window.start - closed)
    return max(0, tick - window.end - start)
