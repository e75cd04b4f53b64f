"""An operator -> how long one evaluation of it takes, in milliseconds: the duration models of SNEE section
4.6, for all operators.

Each model adds up the steps of the operator's pseudocode that cost something, times how often they run: a
call, a reading, a copied tuple, an applied predicate. `paper` selects the models of the code behind Fig. 22,
faults included: they count a predicate whether there is one or not, a join counts its left input squared, and
DELIVER rounds down (reference: SNEE source report, section 1.3).
"""

from __future__ import annotations

from nilometer.expressions import ARITHMETIC, COMPARISONS, Call, ColumnReference, Expression, walk
from nilometer.placement.cost_parameters import CostParameters
from nilometer.placement.costs.aggregates import aggregation
from nilometer.placement.costs.float_steps import acquired_float_steps, float_steps
from nilometer.placement.costs.rows import Rows
from nilometer.placement.volume import readings_kept
from nilometer.plan import physical


def duration(
    node: physical.Node, rows: Rows, interval: int, costs: CostParameters, *, paper: bool = False
) -> float:
    """Milliseconds of one evaluation of the operator alone."""
    call = costs.call_method + costs.signal_event
    match node:
        case physical.SpAcquire():
            return (
                call
                + acquisition(node, costs)
                + costs.copy_tuple
                + costs.set_a_value
                + _filter(node, costs, paper)
                + costs.calculate_float * acquired_float_steps(node)
            )
        case physical.TimeWindow(elided=True) | physical.RStream() | physical.Rename():
            return 0.0
        case physical.TimeWindow():
            kept = rows.all_in * (
                readings_kept(node, interval) if not paper else _paper_queue(node, interval)
            )
            return (
                call
                + (costs.copy_tuple + costs.set_a_value) * rows.all_in
                + costs.check_tuple * kept
                + (costs.set_a_value + costs.look_back) * rows.output
            )
        case physical.Deliver():
            return call  # the serial line is counted by `serial_line`
        case physical.RowWindow():
            # The rows of one evaluation are sorted by site: in half of all comparisons a row moves.
            moved = rows.all_in * max(rows.all_in - 1, 0) / 4
            return (
                call
                + costs.copy_tuple * rows.all_in
                + costs.move_tuple * moved
                + (costs.set_a_value + costs.look_back) * rows.output
            )
        case physical.Select(predicate=predicate):
            return call + (costs.copy_tuple + _predicate(predicate, costs)) * rows.all_in
        case physical.Project() if is_projection_list(node):
            return 0.0  # Table 1: acquisitions, joins and aggregates have a projection list of their own
        case physical.Project(items=items):
            atoms = sum(count_atoms(item.expression) for item in items)
            floats = costs.calculate_float * sum(float_steps(item.expression) for item in items)
            return call + (costs.copy_tuple + costs.apply_atom * atoms + floats) * rows.all_in
        case physical.NlJoin(predicate=predicate):
            left, right = rows.inputs
            pairs = left * left if paper else left * right
            return call + (costs.copy_tuple + _predicate(predicate, costs)) * pairs
        case physical.HashJoin():
            # A mote has no room for a hash table and looks at every pair, whatever the algorithm is called.
            left, right = rows.inputs
            pairs = left * left if paper else left * right
            atoms = len(node.keys) + count_atoms(node.residual)
            floats = costs.calculate_float * float_steps(node.residual)
            return (
                call + (costs.copy_tuple + costs.apply_predicate + costs.apply_atom * atoms + floats) * pairs
            )
        case physical.Aggregate() | physical.AggregateInit() | physical.AggregateMerge():
            return call + aggregation(node, rows, costs)
        case physical.AggregateEvaluate():
            return call + costs.copy_tuple + costs.do_calculation
        case physical.IStream() | physical.DStream():
            # Every row is looked up among those of the previous evaluation.
            return call + costs.copy_tuple * rows.all_in + costs.check_tuple * rows.all_in * rows.all_in
        case _:
            return call + costs.copy_tuple * rows.all_in


def acquisition(node: physical.SpAcquire, costs: CostParameters) -> float:
    """Milliseconds in which the sensor board works: none if the query needs only a reading's time and
    source."""
    sensed = len(sensed_columns(node))
    return costs.acquire_data + costs.sense_attribute * sensed if sensed else 0.0


def sensed_columns(node: physical.SpAcquire) -> tuple[str, ...]:
    """The columns that need a reading: all except the tuple's time and source."""
    names = [column.name for column in (*node.columns, *node.reads)]
    return tuple(name for name in names if name.lower() not in ("id", "time"))


def is_projection_list(node: physical.Project) -> bool:
    """Whether the projection only picks and names columns, so that it costs nothing beyond the operator
    below."""
    return all(isinstance(item.expression, ColumnReference) for item in node.items)


def count_atoms(expression: Expression | None) -> int:
    """The atomic comparisons and computations in an expression (SNEE's A_P and A_E)."""
    if expression is None:
        return 0
    calls = (part for part in walk(expression) if isinstance(part, Call))
    return sum(call.function in (*COMPARISONS, *ARITHMETIC) for call in calls) or 1


def _predicate(predicate: Expression | None, costs: CostParameters) -> float:
    return (
        costs.apply_predicate
        + costs.apply_atom * count_atoms(predicate)
        + costs.calculate_float * float_steps(predicate)
    )


def _filter(node: physical.SpAcquire, costs: CostParameters, paper: bool) -> float:
    if node.predicate is None and not paper:
        return costs.apply_atom * len(node.columns)
    return _predicate(node.predicate, costs) + costs.apply_atom * len(node.columns)


def _paper_queue(node: physical.TimeWindow, interval: int) -> int:
    """The queue of a time window in the released code: ceil((1 - from + slide) / alpha), `from` being negative."""
    start = node.start or 0
    slide = node.slide or interval
    return -(-(1 + start + slide) // interval)
