"""Chooses an algorithm for every operator: logical plan -> physical plan (SNEE's step 3).

An equality between the two sides makes a hash join; without one it is a nested-loop join (W-joins:
choose_window_join.py). Aggregates whose partial results have a constant size become AGGR_INIT, AGGR_MERGE and
AGGR_EVAL; others stay one step.
"""

from __future__ import annotations

from nilometer import algebra
from nilometer.errors import InternalError
from nilometer.expressions import ALGEBRAIC, Expression, conjunction, conjuncts
from nilometer.optimizer.choose_window_join import window_join
from nilometer.optimizer.context import OptimizerContext
from nilometer.optimizer.equalities import equality_between
from nilometer.plan import logical, physical


def choose(node: logical.Node, _context: OptimizerContext | None = None) -> physical.Node:
    """`logical operator => physical operator`: an algorithm for each.

    A join with an equality between its sides becomes a hash join, any other nested loops; a WINDOW join takes one of its
    three forms. An aggregate whose partial results have a constant size becomes AGGR_INIT, AGGR_MERGE and AGGR_EVAL, so
    that it can be computed in parts; any other stays one step.
    """
    match node:
        case logical.Acquire(stream, alias, columns, reads, predicate, sensors, of):
            return physical.SpAcquire(stream, alias, columns, reads, predicate, sensors, of)
        case logical.Stored(table, alias, columns):
            return physical.StoredScan(table, alias, columns)
        case logical.Values(columns, rows):
            return physical.Values(columns, rows)
        case logical.Select(input, predicate):
            return physical.Select(choose(input), predicate)
        case logical.Project(input, items):
            return physical.Project(choose(input), items)
        case logical.Rename(input, alias):
            return physical.Rename(choose(input), alias)
        case logical.Unnest(input, name, expression, dropped):
            return physical.Unnest(choose(input), name, expression, dropped)
        case logical.Union(left, right):
            return physical.Union(choose(left), choose(right))
        case logical.BagOperation(left, right, bag_operator):
            return physical.BagOperation(choose(left), choose(right), bag_operator)
        case logical.Sample(input, every):
            return physical.Sample(choose(input), every)
        case logical.Limit(input, limit, offset):
            return physical.Limit(choose(input), limit, offset)
        case logical.Fill(input, keys, method, windows):
            return physical.Fill(choose(input), keys, method, windows)
        case logical.Sort(input, keys, limit, offset):
            algorithm = physical.Sort if limit is None else physical.TopK
            return algorithm(choose(input), keys, limit, offset)
        case logical.Lag(input, items):
            return physical.Lag(choose(input), items)
        case logical.Analytic(input, partition, order, ties, items):
            return physical.Analytic(choose(input), partition, order, ties, items)
        case logical.TableFunction(input, call, beside):
            below = choose(input)
            if call.function.first is not None:
                below = physical.TableFunction(below, call.lower)
            return physical.TableFunction(below, call, None if beside is None else choose(beside))
        case logical.AsofJoin(left, right, keys, within, before):
            return physical.AsofJoin(choose(left), choose(right), keys, within, before)
        case logical.WindowJoin():
            return window_join(node, tuple(map(choose, node.streams)))
        case logical.TimeWindow(input, start, end, slide, open_start, grid):
            return physical.TimeWindow(choose(input), start, end, slide, open_start, grid=grid)
        case logical.RowWindow(input, start, end, slide, keys):
            return physical.RowWindow(choose(input), start, end, slide, keys)
        case logical.Join():
            return _join(node)
        case logical.Aggregate():
            return _aggregate(node)
        case logical.ToStream(input, relation):
            return _TO_STREAM[relation](choose(input))
        case logical.Deliver(input, tick, within):
            return physical.Deliver(choose(input), tick, within)
        case _:
            raise InternalError(f"no algorithm for {type(node).__name__}")


_TO_STREAM = {
    algebra.Relation.RSTREAM: physical.RStream,
    algebra.Relation.ISTREAM: physical.IStream,
    algebra.Relation.DSTREAM: physical.DStream,
}


def _join(node: logical.Join) -> physical.Node:
    left, right = choose(node.left), choose(node.right)
    keys: list[tuple[Expression, Expression]] = []
    residual: list[Expression] = []
    for condition in conjuncts(node.predicate):
        key = equality_between(condition, node.left, node.right)
        if key is None:
            residual.append(condition)
        else:
            keys.append(key)
    if keys:
        return physical.HashJoin(left, right, node.kind, tuple(keys), conjunction(residual))
    return physical.NlJoin(left, right, node.kind, node.predicate)


def _aggregate(node: logical.Aggregate) -> physical.Node:
    input = choose(node.input)
    keys, items, completeness = node.keys, node.items, node.completeness
    if not _in_steps(node):
        return physical.Aggregate(input, keys, items, completeness)
    partial = physical.AggregateInit(input, keys, items, completeness)
    merged = physical.AggregateMerge(partial, keys, items, completeness)
    return physical.AggregateEvaluate(merged, keys, items, completeness)


def _in_steps(node: logical.Aggregate) -> bool:
    # Counts of sensors heard cannot be merged; the number of declared sensors is known without merging.
    known = node.completeness is None or node.completeness.sensors is not None or bool(node.keys)
    return known and all(
        item.aggregate.function in ALGEBRAIC and not item.aggregate.distinct for item in node.items
    )
