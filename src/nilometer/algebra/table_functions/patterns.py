"""PATTERNS: partial periodic patterns of a given period (Han, Dong, Yin; incremental, online and merged as in Aref,
Elfeky, Elmagarmid, STEAM's [4]).

A segment is p slots, from a multiple of p since 1970 on, in which the source has a reading, and which lies wholly in the
window. A pattern is a set of letters (position, symbol), at least one; confidence = segments that have all its letters /
segments. It is written with `*` for the other positions: `a*b**`, with spaces between if a symbol has several characters.
MAXIMAL leaves out the patterns that a longer one of the same count contains. ACROSS SOURCES counts the segments of all
sources together.
"""

from __future__ import annotations

from nilometer.algebra.table_function import (
    BY_SOURCE,
    REQUIRED,
    Divides,
    Frame,
    FunctionCall,
    Kept,
    Option,
    OptionKind,
    Output,
    Refusal,
    TableFunction,
    Undivided,
    Windowing,
)
from nilometer.algebra.table_functions.kept import CELL, SOURCE, SOURCES, slots, waiting
from nilometer.algebra.table_functions.sequences import EVERY, FILL, SYMBOL_OPTIONS, refuses_symbols
from nilometer.types import FLOAT, INT, STRING, Column, Schema, format_duration

ACROSS = "ACROSS SOURCES"
MOST_SEGMENTS = 100_000
"""How many different segments a source may have."""
MOST_PATTERNS = 1_000_000
"""How many patterns an evaluation may find."""


def _columns(call: FunctionCall, _input: Schema) -> tuple[Column, ...]:
    return (
        *(() if call[ACROSS] else (Column("id", call.id_type),)),
        Column("period", INT),
        Column("pattern", STRING),
        Column("letters", INT),
        Column("count", INT),
        Column("segments", INT),
        Column("confidence", FLOAT),
    )


def _divides(call: FunctionCall, _input: Schema) -> Divides:
    return Undivided("counts the segments of all sources together") if call[ACROSS] else BY_SOURCE


def _refuses(call: FunctionCall, input: Schema) -> Refusal | None:
    found = refuses_symbols(call, input)
    if found is not None:
        return found
    period, every, window = call["PERIOD"], call["EVERY"], call.window
    if (
        isinstance(window, Frame)
        and window.start is not None
        and isinstance(period, int)
        and isinstance(every, int)
    ):
        whole, length = period * every, window.start - window.end
        if length < whole:
            return Refusal(
                f"a window of {format_duration(length)} never holds a whole period of {format_duration(whole)}",
                "write a longer RANGE, such as ten periods, or a smaller PERIOD or EVERY",
            )
    return None


def _keeps(call: FunctionCall, input: Schema) -> tuple[Kept, ...]:
    """Without a beginning, equal segments are one; there is room for twice as many."""
    period, window = call["PERIOD"], call.window
    assert isinstance(period, int)
    assert isinstance(window, Frame)
    segment, own = 3 * CELL + 4 * period, SOURCE + 4 * period
    if window.start is None:
        each = Kept(2 * segment, f"different segment of a source, of at most {MOST_SEGMENTS:,}")
        return Kept(own, SOURCES), each, waiting(call, input)
    return Kept(own + segment * (slots(call) // period), SOURCES), waiting(call, input)


PATTERNS = TableFunction(
    name="PATTERNS",
    description="which symbols come at the same places of a period, and how often",
    example="PATTERNS(air, pm25 BREAKS (12, 35) EVERY 1 HOUR PERIOD 24) [RANGE 28 DAYS SLIDE 1 DAY]",
    gives=_columns,
    output=Output.WINDOWS,
    divides=_divides,
    options=(
        Option(
            "PERIOD",
            OptionKind.WHOLE,
            default=REQUIRED,
            least=1,
            most=1_000,
            example="24",
            meaning="the period, in slots",
        ),
        Option(
            "CONFIDENCE",
            OptionKind.NUMBER,
            default=0.8,
            least=0,
            most=1,
            emission_only=True,
            example="0.5",
            meaning="the least confidence of a pattern",
        ),
        Option(
            "MOST LETTERS",
            OptionKind.WHOLE,
            least=1,
            most=1_000,
            emission_only=True,
            example="3",
            meaning="how many letters a pattern has at most",
        ),
        EVERY,
        FILL,
        SYMBOL_OPTIONS,
        Option(ACROSS, meaning="the segments of all sources together"),
        Option(
            "MAXIMAL", emission_only=True, meaning="no pattern that a longer one of the same count contains"
        ),
    ),
    windowing=Windowing.FRAME,
    unbounded=True,
    wants="the column of the symbols",
    window_hint="[RANGE 28 DAYS SLIDE 1 DAY]: how far back, and how often",
    refuses=_refuses,
    keeps=_keeps,
)
