"""A tuple as motes send it -> the row of their fragment, after the steps that motes deferred (AGGR_EVAL, and
operators that only rearrange its rows).

Motes have no double, so an average travels as a sum and a count. Sums of INT are whole numbers, so the answer
is exact.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from nilometer.errors import InternalError
from nilometer.plan import physical
from nilometer.plan.logical import AggregateItem
from nilometer.plan.scalar import evaluate
from nilometer.sensornet.motes.fields import is_deferred


def finished(node: physical.Node, row: dict[str, Any], tick: int) -> Iterator[dict[str, Any]]:
    """Passes a row through the deferred operators up to `node`; gives no row if one of them drops it."""
    if not is_deferred(node):
        yield row
        return
    for below in finished(node.inputs[0], row, tick):
        match node:
            case physical.AggregateEvaluate(keys=keys, items=items):
                yield {key.name: below[key.name] for key in keys} | {
                    item.name: _evaluated(item, below) for item in items
                }
            case physical.Project(items=projections):
                yield {item.name: evaluate(item.expression, below, tick) for item in projections}
            case physical.Select(predicate=predicate):
                if evaluate(predicate, below, tick) is True:
                    yield below
            case physical.Rename(alias=alias):
                yield {f"{alias}.{name}": value for name, value in below.items()}
            case physical.Exchange() | physical.RStream() | physical.TimeWindow(elided=True):
                yield below
            case _:
                raise InternalError(f"{node.operator} cannot be put off by motes")


def _evaluated(item: AggregateItem, row: dict[str, Any]) -> Any:
    name, function = item.name, item.aggregate.function
    match function:
        case "count" | "sum" | "min" | "max":
            return row[f"{name}#{function}"]
        case "avg":
            count = row[f"{name}#count"]
            return row[f"{name}#sum"] / count if count else None
    count, total, squares = row[f"{name}#count"], row[f"{name}#sum"], row[f"{name}#squares"]
    if count < 2:
        return None
    variance = (count * squares - total * total) / (count * (count - 1))
    return math.sqrt(variance) if function == "stdev" else variance


def with_gateway_states(node: physical.Node, row: dict[str, Any]) -> dict[str, Any]:
    """Partial results of STDEV and VARIANCE in the form that the gateway merges (mean and squared
    deviations), from the sums that motes sent."""
    if not isinstance(node, physical.AggregateInit | physical.AggregateMerge):
        return row
    made: dict[str, Any] = {}
    for item in node.items:
        if item.aggregate.function in ("stdev", "variance"):
            name = item.name
            count, total, squares = row[f"{name}#count"], row[f"{name}#sum"], row[f"{name}#squares"]
            made[f"{name}#mean"] = total / count if count else 0.0
            made[f"{name}#deviations"] = squares - total * total / count if count else 0.0
    return row | made
