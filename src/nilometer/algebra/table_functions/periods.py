"""PERIODS: the periods at which a source's symbols repeat (Elfeky, Aref, Elmagarmid; STEAM's [16]).

T_0 ... T_(n-1) are the source's slots in the window, from its first reading there to the window's end; p <= n / 2.

    of symbols   count(a, l, p) = how many i with i mod p = l have T_i = T_(i+p) = a;  of = ceil((n - l) / p) - 1
    SEGMENTS     count(p) = how many i have T_i = T_(i+p);                             of = n - p

confidence = count / of. `position` is given as the number of the slot since 1970, modulo p. Without ALL, a row is left
out if a proper divisor of its period has one, too (of the same symbol, and the same position modulo that divisor).
PEAKS keeps, of neighbouring periods, the one of greatest confidence.
"""

from __future__ import annotations

from nilometer.algebra.table_function import (
    BY_SOURCE,
    REQUIRED,
    FunctionCall,
    Kept,
    Option,
    OptionKind,
    Output,
    Refusal,
    TableFunction,
    Windowing,
)
from nilometer.algebra.table_functions.kept import CELL, SOURCE, SOURCES, slots, symbols, waiting
from nilometer.algebra.table_functions.sequences import (
    EVERY,
    FILL,
    SYMBOL_OPTIONS,
    refuses_symbols,
    symbol_type,
)
from nilometer.types import FLOAT, INT, Column, Schema


def _columns(call: FunctionCall, input: Schema) -> tuple[Column, ...]:
    return (
        Column("id", call.id_type),
        Column("period", INT),
        Column("length", INT, unit="s"),
        Column("symbol", symbol_type(call, input)),
        Column("position", INT),
        Column("count", INT),
        Column("of", INT),
        Column("confidence", FLOAT),
    )


def _refuses(call: FunctionCall, input: Schema) -> Refusal | None:
    if call["PEAKS"] and not call["SEGMENTS"]:
        return Refusal(
            "PEAKS needs SEGMENTS", "neighbouring periods are compared by their segments: add SEGMENTS"
        )
    return refuses_symbols(call, input)


def _keeps(call: FunctionCall, input: Schema) -> tuple[Kept, ...]:
    up_to, held = call["UP TO"], slots(call)
    assert isinstance(up_to, int)
    most = max(min(up_to, held // 2), 1)
    counters = most + 1 if call["SEGMENTS"] else symbols(call, input) * most * (most + 1) // 2
    return Kept(SOURCE + CELL + 4 * (held + counters), SOURCES), waiting(call, input)


PERIODS = TableFunction(
    name="PERIODS",
    description="the periods at which the symbols of each source repeat",
    example="PERIODS(air, pm25 LEVELS 8 BETWEEN 0 AND 80 EVERY 1 HOUR UP TO 36) [RANGE 7 DAYS SLIDE 1 DAY]",
    gives=_columns,
    output=Output.WINDOWS,
    divides=BY_SOURCE,
    options=(
        Option(
            "UP TO",
            OptionKind.WHOLE,
            default=REQUIRED,
            least=1,
            most=10_000,
            example="36",
            meaning="the longest period, in slots",
        ),
        Option(
            "CONFIDENCE",
            OptionKind.NUMBER,
            default=0.8,
            least=0,
            most=1,
            emission_only=True,
            example="0.5",
            meaning="the least confidence of a row",
        ),
        EVERY,
        FILL,
        SYMBOL_OPTIONS,
        Option("SEGMENTS", meaning="compares whole sequences, not single symbols"),
        Option("PEAKS", emission_only=True, meaning="only the greatest confidence of neighbouring periods"),
        Option("ALL", emission_only=True, meaning="multiples of a period, too"),
    ),
    windowing=Windowing.FRAME,
    wants="the column of the symbols",
    window_hint="[RANGE 7 DAYS SLIDE 1 DAY]: how far back, and how often",
    refuses=_refuses,
    keeps=_keeps,
)
