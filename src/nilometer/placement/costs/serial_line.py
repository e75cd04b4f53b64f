"""The delivered tuples -> packets on the sink's serial line.

The paper's DELIVER prints a tuple as text, with the names and five characters per value. It rounds the number
of packets down (a slip of integer division in the released code, confirmed by Fig. 22). Our DELIVER passes
packets on unchanged.
"""

from __future__ import annotations

from nilometer.expressions import ColumnReference
from nilometer.placement.cost_parameters import CostParameters
from nilometer.plan import physical
from nilometer.types import Kind


def serial_packets_per_row(deliver: physical.Node, costs: CostParameters) -> int:
    """The packets per tuple, as the released code counts them."""
    names = ["evalEpoch", *_display_names(deliver)]
    characters = costs.serial_tuple_overhead + sum(len(name) + costs.serial_value_size for name in names)
    return int(characters // costs.serial_payload)


def _display_names(node: physical.Node) -> list[str]:
    """The names as the old code prints them: a tuple's time is `<extent>Epoch`, every other column has its
    bare name."""
    top = node
    while isinstance(top, physical.Deliver | physical.Exchange):
        top = top.input
    if not isinstance(top, physical.Project):
        return [column.name.rpartition(".")[2] for column in top.schema]
    names = []
    for item in top.items:
        source = item.expression
        if isinstance(source, ColumnReference) and source.type.kind is Kind.TIME and "." in source.name:
            names.append(f"{source.name.split('.')[0].lower()}Epoch")
        else:
            names.append(item.name)
    return names
