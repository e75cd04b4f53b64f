"""An aggregation -> how long one evaluation of it takes, in milliseconds.

SNEE counts one calculation per row. A mote does more: it updates every state separately (AVG has two, STDEV
three), computes FLOATs in subroutines, and searches the existing groups for the row's group.
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
"""The 16-bit words that a row reads or changes. Counts, MIN and MAX have one word; sums of many rows have
two. A square is a product of two more. SUM, MIN and MAX are NULL for no rows, so the mote first checks
whether they have a value."""

MERGE_WORDS: Final = {"count": 2, "avg": 6, "stdev": 10, "variance": 10, "sum": 6, "min": 3, "max": 3}
"""The same for a partial result, which the mote also reads from memory and checks for NULL."""

OF_NOTHING: Final = ("sum", "min", "max")


def aggregation(node: Aggregation, rows: Rows, costs: CostParameters) -> float:
    """Milliseconds of one evaluation."""
    merges = isinstance(node, physical.AggregateMerge)
    words = MERGE_WORDS if merges else INIT_WORDS
    each = costs.do_calculation
    for item in node.items:
        each += costs.combine_state * words.get(
            item.aggregate.function, 0
        )  # an aggregate without states runs at the gateway
        each += costs.calculate_float * _float_steps(item, merges)
    total = costs.copy_tuple * rows.windows
    if node.keys:
        each += 0.0 if merges else costs.calculate_float * _key_steps(node)
        total += costs.add_group * rows.output + _passing(node, costs) * passed_over(rows)
    return total + each * rows.all_in


def kept_float_steps(node: physical.Node) -> int:
    """The FLOATs of one result that the mote checks for NULL when it stores the result: SUM, MIN and MAX of
    an aggregation (which may wait, whole, for its AGGR_EVAL)."""
    while not isinstance(node, physical.AggregateInit | physical.AggregateMerge):
        if len(node.inputs) != 1:
            return 0
        node = node.inputs[0]
    floats = (i for i in node.items if i.aggregate.argument is not None and is_float(i.aggregate.argument))
    return sum(item.aggregate.function in OF_NOTHING for item in floats)


def passed_over(rows: Rows) -> float:
    """The number of other groups that the mote looks at before it finds a row's own, in a table that it
    searches from the beginning. The model assumes that every row has a group of its own, or that all rows
    share one group."""
    groups = rows.output / rows.windows if rows.windows else 0.0
    return rows.all_in * max(groups - 1, 0.0) / 2


def _passing(node: Aggregation, costs: CostParameters) -> float:
    """Milliseconds to skip a group that is not the row's."""
    return costs.compare_key + costs.calculate_float * sum(is_float(key.expression) for key in node.keys)


def _key_steps(node: Aggregation) -> int:
    return sum(float_steps(key.expression) for key in node.keys)


def _float_steps(item: AggregateItem, merges: bool) -> int:
    """The NULL checks, comparisons and sums of FLOATs, and the steps of the argument itself."""
    argument, function = item.aggregate.argument, item.aggregate.function
    if argument is None or function == "count":
        return 0
    computed = 0 if merges else float_steps(argument)
    if not is_float(argument):
        return computed
    asked = 0 if function not in OF_NOTHING else 2 if merges else 1
    return asked + 1 + computed
