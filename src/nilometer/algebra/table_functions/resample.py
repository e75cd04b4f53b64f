"""RESAMPLE: a row for each sensor at every multiple of an interval, from its first tuple on.

At a multiple g the row holds the sensor's last tuple with g - d < time <= g. Where there is none, FILL NULL
gives NULLs and FILL PREVIOUS the last tuple before. FILL LINEAR puts g on the straight line between the tuples
before and behind it; such a row comes with the tuple behind it. Gaps longer than WITHIN have no rows.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from nilometer.algebra.table_function import (
    BY_SOURCE,
    REQUIRED,
    Choice,
    FunctionCall,
    Option,
    OptionKind,
    Output,
    Refusal,
    TableFunction,
)
from nilometer.algebra.table_functions.latest import only_needed, source_and_columns
from nilometer.types import FLOAT, Column, Kind, Schema

LINEAR: Final = "FILL LINEAR"
PREVIOUS: Final = "FILL PREVIOUS"
NULLS: Final = "FILL NULL"


def _columns(call: FunctionCall, input: Schema) -> tuple[Column, ...]:
    time, id_, *others = source_and_columns(call, input)
    if call["FILL"] == LINEAR:
        others = [replace(column, type=FLOAT) for column in others]
    return (time, id_, *others)


def _refuses(call: FunctionCall, input: Schema) -> Refusal | None:
    if call["FILL"] != LINEAR:
        return None
    for number, name in enumerate(call.columns):
        if input[name].type.kind not in (Kind.INT, Kind.FLOAT):
            bare = name.split(".", 1)[-1]
            return Refusal(
                f"FILL LINEAR needs numbers, and '{bare}' is {input[name].type}",
                "name the columns of numbers: RESAMPLE(s, v EVERY 1 MINUTE FILL LINEAR)",
                number,
            )
    return None


RESAMPLE = TableFunction(
    name="RESAMPLE",
    description="a row for each sensor at every multiple of an interval",
    example="RESAMPLE(air, pm25 EVERY 1 MINUTE FILL LINEAR)",
    gives=_columns,
    output=Output.EVENTS,
    divides=BY_SOURCE,
    options=(
        Option(
            "EVERY",
            OptionKind.DURATION,
            default=REQUIRED,
            least=1,
            example="1 MINUTE",
            meaning="the interval, whose multiples since 1970 have rows",
        ),
        Choice(
            "FILL",
            (
                Option(NULLS, meaning="NULLs where the last interval has no tuple"),
                Option(PREVIOUS, meaning="the last tuple, however old"),
                Option(LINEAR, meaning="the straight line between the tuples before and behind"),
            ),
            default=NULLS,
        ),
        Option(
            "WITHIN",
            OptionKind.DURATION,
            least=1,
            example="1 HOUR",
            meaning="how long a gap is filled; beyond it there are no rows until the sensor returns",
        ),
    ),
    least_columns=0,
    most_columns=None,
    all_columns=True,
    refuses=_refuses,
    narrowed=only_needed,
)
