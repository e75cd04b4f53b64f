"""Estimates the rows of an evaluation: a stream counts its sources, and a condition keeps a share of the rows
(selectivity.py). No estimate is below one. The estimates decide only the order of joins.
"""

from __future__ import annotations

from nilometer.algebra import JoinKind
from nilometer.catalog.measured import MeasuredColumn
from nilometer.catalog.statistics import DEFAULT_INTERVAL
from nilometer.optimizer.context import OptimizerContext
from nilometer.optimizer.selectivity import selectivity
from nilometer.plan import logical
from nilometer.plan.logical import Node, walk_plan
from nilometer.types import DAY


def cardinality(node: Node, context: OptimizerContext) -> float:
    """The estimated number of rows, at least 1."""
    match node:
        case logical.Acquire(stream=stream, sensors=sensors, predicate=predicate):
            sources = context.sources(stream) if sensors is None else len(sensors)
            return _at_least_one(sources * selectivity(predicate, measured_below(node, context)))
        case logical.Stored(table=table):
            return _at_least_one(context.table_rows(table))
        case logical.Values(rows=rows):
            return float(len(rows))
        case logical.Select(input, predicate):
            share = selectivity(predicate, measured_below(node, context))
            return _at_least_one(cardinality(input, context) * share)
        case logical.TimeWindow(input) | logical.RowWindow(input):
            held = _held(node, context) if context.profile.join_order.windows else 1.0
            return cardinality(input, context) * held
        case logical.Sort(input, limit=limit) | logical.Limit(input, limit=limit) if limit is not None:
            return _at_least_one(min(limit, cardinality(input, context)))
        case logical.Aggregate(keys=()):
            return 1.0
        case logical.Join(left, _, JoinKind.SEMI | JoinKind.ANTI):
            return cardinality(left, context)
        case logical.Join(predicate=predicate) | logical.WindowJoin(predicate=predicate):
            product = selectivity(predicate, measured_below(node, context))
            for child in node.inputs:
                product *= cardinality(child, context)
            return _at_least_one(product)
        case logical.AsofJoin(left):
            return cardinality(left, context)
        case _:
            return sum(cardinality(child, context) for child in node.inputs)


def measured_below(node: Node, context: OptimizerContext) -> dict[str, MeasuredColumn]:
    """The statistics of the columns of the streams below a node, by their names in the plan."""
    return {
        f"{leaf.alias}.{column.name}": column
        for leaf in walk_plan(node)
        if isinstance(leaf, logical.Acquire) and (measured := context.measured(leaf.stream)) is not None
        for column in measured.columns
    }


def _held(window: logical.TimeWindow | logical.RowWindow, context: OptimizerContext) -> float:
    """How many tuples of one source a window holds."""
    if isinstance(window, logical.RowWindow):
        return 1.0  # its rows come from all sources together; a rough count will do
    intervals = (context.interval(n.stream) for n in walk_plan(window) if isinstance(n, logical.Acquire))
    interval = next((found for found in intervals if found), DEFAULT_INTERVAL)
    length = DAY if window.start is None else window.start - window.end
    return max(1.0, length / interval)


def _at_least_one(rows: float) -> float:
    return max(1.0, rows)
