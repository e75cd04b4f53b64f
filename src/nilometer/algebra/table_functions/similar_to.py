"""SIMILAR_TO: subsequences that are like an example (STEAM 7.3, subsequence similarity matching).

The example is a list of m numbers, a subsequence m slots in a row without a gap. Their distance is that of DISCORDS:
Euclidean between z-normalised values; RAW compares the values as they are.

    WITHIN e    a stream: every subsequence at distance <= e, when it is complete
    NEAREST k   windows: the k nearest subsequences of each source in the window, no two of which overlap
"""

from __future__ import annotations

from dataclasses import replace

from nilometer.algebra.table_function import (
    BY_SOURCE,
    REQUIRED,
    Frame,
    FunctionCall,
    Option,
    OptionKind,
    Output,
    Refusal,
    TableFunction,
    Windowing,
)
from nilometer.algebra.table_functions.sequences import EVERY, FILL, refuses_numbers
from nilometer.types import FLOAT, TIME, Column, Schema


def _columns(call: FunctionCall, _input: Schema) -> tuple[Column, ...]:
    return (
        Column("time", TIME),
        Column("id", call.id_type),
        Column("begin", TIME),
        Column("distance", FLOAT),
    )


def _refuses(call: FunctionCall, input: Schema) -> Refusal | None:
    example = call["EXAMPLE"]
    assert isinstance(example, tuple)
    if not 2 <= len(example) <= 10_000:
        return Refusal("an example has 2 to 10,000 numbers", "such as (1, 2.5, 4, 2.5, 1)")
    if (call["WITHIN"] is None) == (call["NEAREST"] is None):
        return Refusal(
            "SIMILAR_TO needs one of WITHIN and NEAREST",
            "WITHIN 2: all that are so near, as a stream; NEAREST 3: the nearest in each window",
        )
    if isinstance(call.window, Frame) and call.window.start is None:
        return Refusal(
            "SIMILAR_TO ... NEAREST needs a window with a beginning", "such as [RANGE 1 DAY SLIDE 1 HOUR]"
        )
    return refuses_numbers(call, input)


_NEAREST = TableFunction(
    name="SIMILAR_TO",
    description="the subsequences in a window that are most like an example",
    example="SIMILAR_TO(air, pm25, (1, 2, 4, 2, 1) NEAREST 3) [RANGE 1 DAY SLIDE 1 HOUR]",
    gives=_columns,
    output=Output.WINDOWS,
    divides=BY_SOURCE,
    options=(
        Option(
            "EXAMPLE",
            OptionKind.LIST,
            default=REQUIRED,
            positional=True,
            example="(1, 2, 4, 2, 1)",
            meaning="the numbers to look for",
        ),
        Option(
            "WITHIN",
            OptionKind.NUMBER,
            least=0,
            emission_only=True,
            example="1.5",
            meaning="how far a subsequence may be from the example",
        ),
        Option(
            "NEAREST",
            OptionKind.WHOLE,
            least=1,
            most=1_000,
            emission_only=True,
            example="3",
            meaning="how many of each source, in a window",
        ),
        EVERY,
        FILL,
        Option("RAW", meaning="compares the values as they are, not their shapes"),
    ),
    windowing=Windowing.FRAME,
    algorithm="NEAREST_TO",
    wants="the column to compare",
    window_hint="[RANGE 1 DAY SLIDE 1 HOUR]: how far back, and how often",
    refuses=_refuses,
)

SIMILAR_TO = replace(
    _NEAREST,
    description="the subsequences that are like an example",
    example="SIMILAR_TO(air, pm25, (1, 2, 4, 2, 1) WITHIN 1.5)",
    output=Output.EVENTS,
    windowing=Windowing.ABOVE,
    algorithm="",
    windows_if="NEAREST",
    windows=_NEAREST,
)
