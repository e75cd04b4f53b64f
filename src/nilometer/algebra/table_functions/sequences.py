"""Sequences of slots and their symbols: the options that the mining functions share, and what they mean.

EVERY d cuts time into slots (k d, (k + 1) d] since 1970. Slot k of a source holds its last reading in it by (time,
position); NULL, NaN and the infinities are no readings; a slot without one is a gap. FILL n repeats the last reading over
at most n gaps. A gap equals nothing, not even another gap.

    LEVELS n BETWEEN a AND b   symbols 0 ... n - 1 of equal widths; values outside are clamped
    BREAKS (x, y, ...)         the symbol is the number of breaks <= value
    VALUES                     INT, STRING and BOOLEAN as they are; the default for these

A window at T holds the slots that lie wholly within it.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable
from itertools import pairwise
from typing import Any, Final

from nilometer.algebra.table_function import (
    Choice,
    Frame,
    FunctionCall,
    Intervals,
    Option,
    OptionKind,
    Refusal,
)
from nilometer.types import INT, Kind, OwnWindow, Schema, Type, format_duration

LEVELS: Final = "LEVELS"
BREAKS: Final = "BREAKS"
VALUES: Final = "VALUES"
SYMBOLS: Final = "SYMBOLS"

MOST_SYMBOLS = 1_000
"""How many different symbols a query may have."""

EVERY = Option(
    "EVERY",
    OptionKind.DURATION,
    default=Intervals(1, "how long is a slot?"),
    least=1,
    example="1 HOUR",
    meaning="the length of a slot; a slot holds the last reading in it",
)

FILL = Option(
    "FILL",
    OptionKind.WHOLE,
    default=0,
    least=0,
    most=1_000_000,
    example="2",
    meaning="how many gaps in a row the last reading fills",
)

SYMBOL_OPTIONS = Choice(
    SYMBOLS,
    (
        Option(
            LEVELS,
            (OptionKind.WHOLE, "BETWEEN", OptionKind.NUMBER, "AND", OptionKind.NUMBER),
            needs="a whole number of levels, and numbers for their bounds",
            example="8 BETWEEN 15 AND 35",
            meaning="so many levels of equal widths",
        ),
        Option(
            BREAKS,
            OptionKind.LIST,
            example="(10, 20.5)",
            meaning="the symbol is the number of breaks at or below",
        ),
        Option(VALUES, meaning="the values themselves"),
    ),
    default=VALUES,
)


def symbol_type(call: FunctionCall, input: Schema) -> Type:
    """The type of a symbol."""
    return input[call.columns[0]].type.plain if call[SYMBOLS] == VALUES else INT


def encoder(call: FunctionCall) -> Callable[[Any], Any]:
    """The symbol of one value."""
    match call[SYMBOLS], call[LEVELS], call[BREAKS]:
        case "LEVELS", (int(count), float(low), float(high)), _:
            return lambda value: level(value, count, low, high)
        case "BREAKS", _, tuple(breaks):
            return lambda value: bisect_right(breaks, value)
        case _:
            return lambda value: value


def level(value: float, count: int, low: float, high: float) -> int:
    """Which of `count` equal widths between the bounds holds the value; outside, the nearest.

    >>> [level(x, 4, 0.0, 8.0) for x in (-1, 0, 1.9, 2, 8, 100)]
    [0, 0, 0, 1, 3, 3]
    """
    if value <= low:
        return 0
    if value >= high:
        return count - 1
    return min(math.floor((value - low) * count / (high - low)), count - 1)


def refuses_symbols(call: FunctionCall, input: Schema) -> Refusal | None:
    """Symbols that make no sense for the column."""
    type_ = input[call.columns[0]].type
    match call[SYMBOLS], call[LEVELS], call[BREAKS]:
        case "LEVELS", (int(count), float(low), float(high)), _:
            if not 1 <= count <= MOST_SYMBOLS:
                return Refusal(
                    f"LEVELS needs 1 to {MOST_SYMBOLS:,} levels", "such as LEVELS 8 BETWEEN 15 AND 35"
                )
            if not low < high:
                return Refusal(
                    "LEVELS needs a lower bound below the upper one", "such as LEVELS 8 BETWEEN 15 AND 35"
                )
        case "BREAKS", _, tuple(breaks):
            if any(one >= other for one, other in pairwise(breaks)):  # type: ignore[operator]
                return Refusal("the numbers of BREAKS must ascend", "such as BREAKS (10, 20.5)")
            if len(breaks) >= MOST_SYMBOLS:
                return Refusal(f"BREAKS has at most {MOST_SYMBOLS - 1:,} numbers")
        case _ if type_.kind not in (Kind.INT, Kind.STRING, Kind.BOOLEAN):
            return Refusal(
                f"'{{column}}' is {type_}: which of its values are the same symbol?",
                "add LEVELS 8 BETWEEN 15 AND 35, or BREAKS (10, 20.5)",
                0,
            )
        case _:
            return refuses_window(call)
    if not type_.numeric:
        return Refusal(f"{call[SYMBOLS]} needs numbers, and '{{column}}' is {type_}", "leave it out", 0)
    return refuses_window(call)


def refuses_numbers(call: FunctionCall, input: Schema) -> Refusal | None:
    """A column that holds no numbers."""
    type_ = input[call.columns[0]].type
    if type_.kind not in (Kind.INT, Kind.FLOAT):
        return Refusal(f"{call.name} needs numbers, and '{{column}}' is {type_}", None, 0)
    return refuses_window(call)


def refuses_window(call: FunctionCall) -> Refusal | None:
    """A window without a whole slot."""
    every, window = call["EVERY"], call.window
    if isinstance(window, OwnWindow):
        return Refusal(f"{call.name} takes one length of time for all sources", "such as [RANGE 1 DAY]")
    length = window.start - window.end if isinstance(window, Frame) and window.start is not None else window
    if isinstance(every, int) and isinstance(length, int) and length < every:
        return Refusal(
            f"a window of {format_duration(length)} holds no slot of {format_duration(every)}",
            "use a longer window or a shorter EVERY",
        )
    return None


def slots_of_window(frame: Frame, every: int, tick: int) -> tuple[int, int | None]:
    """The slot behind the window's last at this tick, and its first (None: there is no first).

    >>> slots_of_window(Frame(20, 0, 5, True), 10, 45)
    (4, 3)
    """
    low = None if frame.start is None else -((frame.start - tick) // every)
    return (tick - frame.end) // every, low


def most_slots(frame: Frame, every: int) -> int:
    """How many slots a window can hold."""
    assert frame.start is not None
    return (frame.start - frame.end) // every
