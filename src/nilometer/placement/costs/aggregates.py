"""An aggregation -> how long an evaluation of it takes, in milliseconds.

SNEE counts one calculation for each row. On a mote that is not all of it: every state is brought up to date by itself (AVG has
two, STDEV three), with FLOATs by subroutines, and the row's group is searched for among those that there are.
"""

from __future__ import annotations

from typing import Final

from nilometer.placement.cost_parameters import CostParameters
from nilometer.placement.costs.float_steps import float_steps, is_float
from nilometer.placement.costs.rows import Rows
from nilometer.plan import physical
from nilometer.plan.logical import AggregateItem

Aggregation = physical.Aggregate | physical.AggregateInit | physical.AggregateMerge

INIT_WORDS: Final = {"count": 1, "avg": 3, "stdev": 7, "variance": 7, "sum": 4, "min": 2, "max": 2}
"""Words of 16 bits that a row asks for or changes: counts, MIN and MAX have one, sums two where they are of many rows. A square is a
product of two more; SUM, MIN and MAX, which are NULL of nothing, are first asked whether they have a value."""

MERGE_WORDS: Final = {"count": 2, "avg": 6, "stdev": 10, "variance": 10, "sum": 6, "min": 3, "max": 3}
"""The same for a partial result: it is read from memory, too, and asked whether it is NULL."""

OF_NOTHING: Final = ("sum", "min", "max")


def aggregation(node: Aggregation, rows: Rows, costs: CostParameters) -> float:
    """Milliseconds of one evaluation."""
    merges = isinstance(node, physical.AggregateMerge)
    words = MERGE_WORDS if merges else INIT_WORDS
    each = costs.do_calculation
    for item in node.items:
        each += costs.combine_state * words.get(
            item.aggregate.function, 0
        )  # what has no states runs at the gateway
        each += costs.calculate_float * _float_steps(item, merges)
    total = costs.copy_tuple * rows.windows
    if node.keys:
        each += 0.0 if merges else costs.calculate_float * _key_steps(node)
        total += costs.add_group * rows.output + _passing(node, costs) * passed_over(rows)
    return total + each * rows.all_in


def kept_float_steps(node: physical.Node) -> int:
    """Of one result, the FLOATs that are asked, when it is kept, whether they are NULL: SUM, MIN and MAX of an aggregation (which
    may wait, whole, for its AGGR_EVAL)."""
    while not isinstance(node, physical.AggregateInit | physical.AggregateMerge):
        if len(node.inputs) != 1:
            return 0
        node = node.inputs[0]
    floats = (i for i in node.items if i.aggregate.argument is not None and is_float(i.aggregate.argument))
    return sum(item.aggregate.function in OF_NOTHING for item in floats)


def passed_over(rows: Rows) -> float:
    """The groups that are not a row's and are looked at before its own is found, in tables that are searched from their beginning: if
    every row has a group for itself, or all have the same."""
    groups = rows.output / rows.windows if rows.windows else 0.0
    return rows.all_in * max(groups - 1, 0.0) / 2


def _passing(node: Aggregation, costs: CostParameters) -> float:
    """A group that is not the row's."""
    return costs.compare_key + costs.calculate_float * sum(is_float(key.expression) for key in node.keys)


def _key_steps(node: Aggregation) -> int:
    return sum(float_steps(key.expression) for key in node.keys)


def _float_steps(item: AggregateItem, merges: bool) -> int:
    """Questions whether there is a value, comparisons and sums of FLOATs."""
    argument, function = item.aggregate.argument, item.aggregate.function
    if argument is None or not is_float(argument) or function == "count":
        return 0
    asked = 0 if function not in OF_NOTHING else 2 if merges else 1
    return asked + 1 + (0 if merges else float_steps(argument))
