"""Estimates the rows of an evaluation by SNEE's rules of thumb (SNEE source report, section 4, item 2).

A stream counts its sources; a comparison keeps a third, `column = constant` a tenth, `column = column` a
twentieth. No estimate is below one. The estimates decide only the order of joins.
"""

from __future__ import annotations

from nilometer.algebra import JoinKind
from nilometer.catalog.statistics import (
    DEFAULT_INTERVAL,
    EQUALITY_SELECTIVITY,
    INEQUALITY_SELECTIVITY,
    JOIN_SELECTIVITY,
)
from nilometer.expressions import Call, Expression, InList, columns_of, conjuncts
from nilometer.optimizer.context import OptimizerContext
from nilometer.plan import logical
from nilometer.plan.logical import Node, walk_plan
from nilometer.types import DAY


def cardinality(node: Node, context: OptimizerContext) -> float:
    """The estimated number of rows, at least 1."""
    match node:
        case logical.Acquire(stream=stream, sensors=sensors, predicate=predicate):
            sources = context.sources(stream) if sensors is None else len(sensors)
            return _at_least_one(sources * selectivity(predicate))
        case logical.Stored(table=table):
            return _at_least_one(context.table_rows(table))
        case logical.Values(rows=rows):
            return float(len(rows))
        case logical.Select(input, predicate):
            return _at_least_one(cardinality(input, context) * selectivity(predicate))
        case logical.TimeWindow(input) | logical.RowWindow(input):
            return cardinality(input, context) * (_held(node) if context.profile.join_order.windows else 1.0)
        case logical.Sort(input, limit=limit) | logical.Limit(input, limit=limit) if limit is not None:
            return _at_least_one(min(limit, cardinality(input, context)))
        case logical.Aggregate(keys=()):
            return 1.0
        case logical.Join(left, _, JoinKind.SEMI | JoinKind.ANTI):
            return cardinality(left, context)
        case logical.Join(predicate=predicate) | logical.WindowJoin(predicate=predicate):
            product = selectivity(predicate)
            for child in node.inputs:
                product *= cardinality(child, context)
            return _at_least_one(product)
        case logical.AsofJoin(left):
            return cardinality(left, context)
        case _:
            return sum(cardinality(child, context) for child in node.inputs)


def selectivity(predicate: Expression | None) -> float:
    """The share of rows that a condition is assumed to keep."""
    share = 1.0
    for part in conjuncts(predicate):
        match part:
            case Call("=", (left, right)):
                share *= JOIN_SELECTIVITY if columns_of(left) and columns_of(right) else EQUALITY_SELECTIVITY
            case Call("<" | "<=" | ">" | ">="):
                share *= INEQUALITY_SELECTIVITY
            case InList(_, items):
                share *= min(1.0, len(items) * EQUALITY_SELECTIVITY)
            case _:
                pass
    return share


def _held(window: logical.TimeWindow | logical.RowWindow) -> float:
    """How many tuples of one source a window holds."""
    if isinstance(window, logical.RowWindow):
        return 1.0  # its rows come from all sources together; a rough count will do
    interval = next(
        (
            n.stream.interval
            for n in walk_plan(window)
            if isinstance(n, logical.Acquire) and n.stream.interval
        ),
        DEFAULT_INTERVAL,
    )
    length = DAY if window.start is None else window.start - window.end
    return max(1.0, length / interval)


def _at_least_one(rows: float) -> float:
    return max(1.0, rows)
