"""An operator -> the bytes it keeps on a mote: the memory models of SNEE section 4.6, for all operators.

The sum of the sizes of what the pseudocode declares as state: the tuples of its result, and what a window remembers.
"""

from __future__ import annotations

from nilometer.placement.cost_parameters import CostParameters
from nilometer.placement.costs.operators import Rows, is_projection_list
from nilometer.placement.population import Population
from nilometer.placement.tuple_layout import tuple_layout
from nilometer.placement.volume import readings_kept
from nilometer.placement.wire_format import WireFormat
from nilometer.plan import physical


def memory(
    node: physical.Node, rows: Rows, population: Population, costs: CostParameters, wire: WireFormat
) -> int:
    """Bytes that the operator keeps for itself, whatever is buffered."""
    own = int(costs.operator_ram)
    size = tuple_layout(node, wire, population).size
    match node:
        case physical.Deliver() | physical.RStream() | physical.Rename() | physical.TimeWindow(elided=True):
            return 0
        case physical.Project(input) if is_projection_list(node) and not isinstance(input, physical.Exchange):
            # It stands for the output of the operator below, whose own output is then not kept.
            return rows.output * (size - tuple_layout(input, wire, population).size)
        case physical.TimeWindow():
            return own + max(rows.output, rows.all_in * readings_kept(node, population.interval)) * size
        case physical.IStream() | physical.DStream():
            return own + 2 * rows.output * size
        case _:
            return own + rows.output * size
