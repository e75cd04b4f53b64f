"""DISCORDS and MOTIFS: subsequences unlike any before them, and pairs of subsequences that are most alike.

A subsequence is m slots in a row without a gap. Their distance is Euclidean between their z-normalised values (RAW: the
values as they are); a constant subsequence is all zeros then, so two constant ones are at distance 0, and a constant one
is at sqrt(m) from any other. The left profile D of a subsequence is its least distance to those of the same source that
end at least ceil(m / 4) slots earlier, within the window that ends with it; of equal ones the earliest counts.

    DISCORDS           a stream: D of every subsequence, when it is complete; it never changes
    DISCORDS ... TOP k windows: the k greatest D in the window, no two of which overlap
    MOTIFS             windows: the k least pairs (subsequence, nearest one before it in the window); a pair that overlaps
                       one before it is left out

`time` is the end of the subsequence, `begin` its beginning, `nearest` the beginning of the one that is most alike.
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
)
from nilometer.algebra.table_functions.kept import CELL, SOURCE, SOURCES, slots, waiting
from nilometer.algebra.table_functions.sequences import EVERY, FILL, refuses_numbers
from nilometer.types import FLOAT, TIME, Column, Schema


def _columns(call: FunctionCall, _input: Schema) -> tuple[Column, ...]:
    return (
        Column("time", TIME),
        Column("id", call.id_type),
        Column("begin", TIME),
        Column("distance", FLOAT),
        Column("nearest", TIME),
    )


def zone(length: int) -> int:
    """How many slots apart two subsequences must end to be compared."""
    return -(-length // 4)


def _refuses(call: FunctionCall, input: Schema) -> Refusal | None:
    every, length, window = call["EVERY"], call["LENGTH"], call.window
    assert isinstance(every, int)
    assert isinstance(length, int)
    if isinstance(window, Frame) and window.start is None:
        return Refusal(f"{call.name} needs a window with a beginning", "such as [RANGE 1 DAY SLIDE 1 HOUR]")
    whole = window.start - window.end if isinstance(window, Frame) and window.start is not None else window
    if isinstance(whole, int) and whole // every < length + zone(length):
        return Refusal(
            f"the window has {whole // every:,} slots, too few for two subsequences of {length:,}",
            "use a longer window, a shorter LENGTH or a shorter EVERY",
        )
    return refuses_numbers(call, input)


def _options(top: int | None) -> tuple[Option, ...]:
    return (
        Option(
            "LENGTH",
            OptionKind.WHOLE,
            default=REQUIRED,
            least=2,
            most=10_000,
            example="24",
            meaning="how many slots a subsequence has",
        ),
        Option(
            "TOP",
            OptionKind.WHOLE,
            default=top,
            least=1,
            most=1_000,
            emission_only=True,
            example="3",
            meaning="how many of each source, in a window",
        ),
        EVERY,
        FILL,
        Option("RAW", meaning="compares the values as they are, not their shapes"),
    )


def _keeps(call: FunctionCall, input: Schema) -> tuple[Kept, ...]:
    """Value, mean, scale, distance and the nearest one of each slot, with room for two windows."""
    return Kept(SOURCE + CELL + 10 * CELL * slots(call), SOURCES), waiting(call, input)


_TOP_DISCORDS = TableFunction(
    name="DISCORDS",
    description="the subsequences of each source that are least like those before them",
    example="DISCORDS(air, pm25 LENGTH 24 EVERY 1 HOUR TOP 3) [RANGE 14 DAYS SLIDE 1 DAY]",
    gives=_columns,
    output=Output.WINDOWS,
    divides=BY_SOURCE,
    options=_options(None),
    windowing=Windowing.FRAME,
    algorithm="TOP_DISCORDS",
    wants="the column to compare",
    window_hint="[RANGE 14 DAYS SLIDE 1 DAY]: how far back, and how often",
    refuses=_refuses,
    keeps=_keeps,
)

DISCORDS = replace(
    _TOP_DISCORDS,
    description="how unlike all before it each subsequence of a source is",
    example="DISCORDS(air, pm25 LENGTH 24 EVERY 1 HOUR) [RANGE 14 DAYS]",
    output=Output.EVENTS,
    windowing=Windowing.REACH,
    algorithm="",
    window_hint="[RANGE 14 DAYS]: how far back the others lie",
    windows_if="TOP",
    windows=_TOP_DISCORDS,
)

MOTIFS = replace(
    _TOP_DISCORDS,
    name="MOTIFS",
    description="the subsequences of each source that are most alike",
    example="MOTIFS(air, pm25 LENGTH 24 EVERY 1 HOUR TOP 3) [RANGE 14 DAYS SLIDE 1 DAY]",
    options=_options(1),
    algorithm="",
)
