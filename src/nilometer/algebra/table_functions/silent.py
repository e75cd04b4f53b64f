"""SILENT: a row when a sensor has sent nothing for a given duration, and one when it sends again.

State 'silent' is at last_time + duration, 'returned' at the next tuple's time. A declared sensor that never
sent is silent a duration after the stream's first tick, with last_time NULL.
"""

from __future__ import annotations

from nilometer.algebra.table_function import (
    BY_SOURCE,
    FunctionCall,
    Intervals,
    Option,
    OptionKind,
    Output,
    TableFunction,
)
from nilometer.types import STRING, TIME, Column, Schema


def _columns(call: FunctionCall, _input: Schema) -> tuple[Column, ...]:
    return (
        Column("time", TIME),
        Column("id", call.id_type),
        Column("state", STRING),
        Column("last_time", TIME),
    )


SILENT = TableFunction(
    name="SILENT",
    description="a row when a sensor has not been heard for so long, and one when it returns",
    example="SILENT(air FOR 5 MINUTES)",
    gives=_columns,
    output=Output.EVENTS,
    divides=BY_SOURCE,
    options=(
        Option(
            "FOR",
            OptionKind.DURATION,
            default=Intervals(3, "how long is silence?"),
            least=1,
            example="5 MINUTES",
            meaning="how long a sensor is not heard before it counts as silent",
        ),
    ),
    least_columns=0,
    most_columns=0,
    ordered=False,
    sensors=True,
)
