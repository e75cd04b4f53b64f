"""SIMILAR_TO: subsequences that are like an example (STEAM 7.3, subsequence similarity matching).

The example is a list of m numbers, a subsequence m slots in a row without a gap. Their distance is that of DISCORDS:
Euclidean between z-normalised values; RAW compares the values as they are. Several examples have names, and their rows a
column `example`.

    (1, 2, 1)                               the numbers
    ('spike' (0, 4, 0), 'step' (0, 0, 1))   several, which may have different lengths
    OF 7 AT '2026-03-01T06:00Z' LENGTH 20   the last 20 slots of source 7, up to the one with this time
    shapes                                  a table with the columns name, position and value

The engine writes the numbers of the last two into the query when it is asked or created (engine/examples.py).

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
    Kept,
    Option,
    OptionKind,
    Output,
    Refusal,
    TableFunction,
    Windowing,
    shape_names,
    shapes_of,
)
from nilometer.algebra.table_functions.kept import CELL, SOURCE, SOURCES, slots, waiting
from nilometer.algebra.table_functions.sequences import EVERY, FILL, refuses_numbers
from nilometer.types import FLOAT, STRING, TIME, Column, Schema

LONGEST = 10_000
"""The numbers of an example."""
MOST_NUMBERS = 100_000
"""The numbers of all examples of a query."""


def _columns(call: FunctionCall, _input: Schema) -> tuple[Column, ...]:
    return (
        Column("time", TIME),
        Column("id", call.id_type),
        *((Column("example", STRING),) if shape_names(call["EXAMPLE"]) else ()),
        Column("begin", TIME),
        Column("distance", FLOAT),
    )


def _refuses(call: FunctionCall, input: Schema) -> Refusal | None:
    names, shapes = shape_names(call["EXAMPLE"]), shapes_of(call["EXAMPLE"])
    for place, shape in enumerate(shapes):
        if not 2 <= len(shape) <= LONGEST:
            which = f"'{names[place]}'" if names else "this one"
            return Refusal(
                f"an example has 2 to {LONGEST:,} numbers, and {which} {len(shape):,}",
                "such as (1, 2.5, 4, 2.5, 1)",
            )
    if len(set(names)) < len(names):
        return Refusal("two examples have the same name", "give each a name of its own")
    if sum(map(len, shapes)) > MOST_NUMBERS:
        return Refusal(
            f"the examples have more than {MOST_NUMBERS:,} numbers", "ask for them in several queries"
        )
    if call["LENGTH"] is not None:
        return Refusal(
            "LENGTH says how long an example OF a source is; these numbers have a length", "leave it out"
        )
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


def _keeps(call: FunctionCall, input: Schema) -> tuple[Kept, ...]:
    shapes = shapes_of(call["EXAMPLE"])
    own = SOURCE + CELL * (max(map(len, shapes)) - 1)
    if isinstance(call.window, Frame):  # of each subsequence: id, example, begin, distance
        coming = -(-call.window.slide // _every(call))
        own += 4 * CELL * (slots(call) + coming) * len(shapes)
    return Kept(own, SOURCES), waiting(call, input)


def _every(call: FunctionCall) -> int:
    every = call["EVERY"]
    assert isinstance(every, int)
    return every


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
            OptionKind.SHAPES,
            default=REQUIRED,
            positional=True,
            example="(1, 2, 4, 2, 1)",
            meaning="the numbers to look for, OF 7 AT a time, or a table of examples",
        ),
        Option(
            "LENGTH",
            OptionKind.WHOLE,
            least=2,
            most=LONGEST,
            example="20",
            meaning="the slots of an example OF a source",
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
    keeps=_keeps,
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
