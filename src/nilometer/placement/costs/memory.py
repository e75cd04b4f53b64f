"""An operator -> the bytes it keeps on a mote: the memory models of SNEE section 4.6, for all operators.

The model adds up the sizes of the state that the pseudocode declares: the tuples of the result, and those
that a window remembers.
"""

from __future__ import annotations

from nilometer.placement.cost_parameters import CostParameters
from nilometer.placement.costs.operators import is_projection_list
from nilometer.placement.costs.rows import Rows
from nilometer.placement.population import Population
from nilometer.placement.tuple_layout import tuple_layout
from nilometer.placement.volume import readings_kept
from nilometer.placement.wire_format import WireFormat
from nilometer.plan import physical


def memory(
    node: physical.Node, rows: Rows, population: Population, costs: CostParameters, wire: WireFormat
) -> int:
    """Bytes that the operator keeps for itself, without what is buffered."""
    own = int(costs.operator_ram)
    size = tuple_layout(node, wire, population).size
    output, incoming = int(rows.output), int(rows.all_in)
    match node:
        case physical.Deliver() | physical.RStream() | physical.Rename() | physical.TimeWindow(elided=True):
            return 0
        case physical.Project(input) if is_projection_list(node) and not isinstance(input, physical.Exchange):
            # It stands for the output of the operator below, whose own output is then not kept.
            return output * (size - tuple_layout(input, wire, population).size)
        case physical.TimeWindow():
            return own + max(output, incoming * readings_kept(node, population.interval)) * size
        case physical.IStream() | physical.DStream():
            return own + 2 * output * size
        case _:
            return own + output * size
