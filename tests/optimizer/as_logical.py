"""A physical plan -> the logical plan that it computes, so that the reference evaluator can judge it."""

from __future__ import annotations

from nilometer.expressions import Call, conjunction, conjuncts
from nilometer.plan import logical, physical
from nilometer.types import BOOLEAN


def as_logical(node: physical.Node) -> logical.Node:
    """The meaning of a physical plan."""
    inputs = tuple(map(as_logical, node.inputs))
    match node:
        case physical.SpAcquire(stream, alias, columns, reads, predicate, sensors):
            return logical.Acquire(stream, alias, columns, reads, predicate, sensors)
        case physical.StoredScan(table, alias, columns):
            return logical.Stored(table, alias, columns)
        case physical.Select(_, predicate):
            return logical.Select(inputs[0], predicate)
        case physical.Project(_, items):
            return logical.Project(inputs[0], items)
        case physical.Rename(_, alias):
            return logical.Rename(inputs[0], alias)
        case physical.Union():
            return logical.Union(*inputs)
        case physical.Sample(_, every):
            return logical.Sample(inputs[0], every)
        case physical.Lag(_, items):
            return logical.Lag(inputs[0], items)
        case physical.TableFunction(_, call):
            return logical.TableFunction(inputs[0], call)
        case physical.AsofJoin(_, _, keys, within):
            return logical.AsofJoin(*inputs, keys, within)
        case physical.WindowJoin(_, bounds, keys, predicate, memory):
            equal = [Call("=", (k.left_expression, k.right_expression), BOOLEAN) for k in keys]
            return logical.WindowJoin(inputs, bounds, conjunction([*equal, *conjuncts(predicate)]), memory)
        case physical.TimeWindow(_, start, end, slide, open_start):
            return logical.TimeWindow(inputs[0], start, end, slide, open_start)
        case physical.RowWindow(_, start, end, slide):
            return logical.RowWindow(inputs[0], start, end, slide)
        case physical.NlJoin(_, _, kind, predicate):
            return logical.Join(*inputs, kind, predicate)
        case physical.HashJoin(_, _, kind, keys, residual):
            equal = [Call("=", pair, BOOLEAN) for pair in keys]
            return logical.Join(*inputs, kind, conjunction([*equal, *conjuncts(residual)]))
        case physical.Aggregate(_, keys, items, completeness) | physical.AggregateInit(
            _, keys, items, completeness
        ):
            return logical.Aggregate(inputs[0], keys, items, completeness)
        case physical.AggregateMerge() | physical.AggregateEvaluate() | physical.Exchange():
            return inputs[0]
        case physical.RStream() | physical.IStream() | physical.DStream():
            return logical.ToStream(inputs[0], node.relation)
        case physical.Deliver(_, tick, within):
            return logical.Deliver(inputs[0], tick, within)
        case _:
            raise AssertionError(node)
