"""SUBSEQUENCES: runs of symbols that many sources have (STEAM 7.2, "appearing across all incoming streams").

A subsequence is `LENGTH a TO b` slots in a row; with GAPS g, up to g slots are left out between neighbours. A gap in the
data breaks it. Its support is the number of sources that have it in the window, of those with a reading there. It is
written like a pattern: `abc`, or `on off on` if a symbol has several characters.

APPROXIMATE n keeps less: `sources` may be up to n too small, everything with enough support is shown, and nothing with less
than support - n, as long as the support is more than n sources. Time is cut into panes, a quarter of the window each. When a pane is over, the subsequences that at most
n / 5 sources have in it are forgotten there, and a window meets at most five panes that are over. Counting the sources of
what is left is exact, so no other error comes in, and none depends on chance.

Two steps: each source's occurrences, then how many sources have each subsequence. The second is divided by the subsequence
if SUPPORT is a number; ALL and PERCENT compare with the number of sources that were heard, so one place must see all.
"""

from __future__ import annotations

from nilometer.algebra.table_function import (
    BY_SOURCE,
    REQUIRED,
    ByValue,
    Choice,
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
from nilometer.types import INT, STRING, TIME, Column, Schema

SUPPORT = "SUPPORTED BY"
ALL, NUMBER, PERCENT = "SUPPORT ALL", "SUPPORT", "SUPPORT PERCENT"
PANES = 4
"""How many panes of APPROXIMATE a window has; it meets one more."""
OCCURRENCE = 7 * CELL
"""The bytes of an occurrence, with texts of up to 12 letters."""
MOST_FORMS = 1_000
"""How many ways there may be to leave slots out."""


def _columns(_call: FunctionCall, _input: Schema) -> tuple[Column, ...]:
    return (
        Column("sequence", STRING),
        Column("length", INT),
        Column("sources", INT),
        Column("count", INT),
        Column("first", TIME),
        Column("last", TIME),
    )


def _occurrences(call: FunctionCall, _input: Schema) -> tuple[Column, ...]:
    """`sequence` NULL: the source has a reading in that slot."""
    return (
        Column("id", call.id_type),
        Column("sequence", STRING),
        Column("length", INT),
        Column("begin", INT),
        Column("end", INT),
    )


def _lengths(call: FunctionCall) -> tuple[int, int, int]:
    """The shortest and the longest subsequence, and how many slots may lie between two of its letters."""
    lengths, gaps = call["LENGTH"], call["GAPS"]
    assert isinstance(lengths, tuple)
    assert isinstance(gaps, int)
    low, high = lengths
    assert isinstance(low, int)
    assert isinstance(high, int)
    return low, high, gaps


def _refuses(call: FunctionCall, input: Schema) -> Refusal | None:
    low, high, gaps = _lengths(call)
    if not 1 <= low <= high <= 1_000:
        return Refusal("LENGTH needs two lengths, the smaller first", "such as LENGTH 2 TO 5")
    every, frame = call["EVERY"], call.window
    if isinstance(frame, Frame) and frame.start is not None and isinstance(every, int):
        slots = (frame.start - frame.end) // every
        if low > slots:
            return Refusal(
                f"the window has {slots:,} slots, too few for a subsequence of {low:,}",
                "use a longer window, a smaller LENGTH or a shorter EVERY",
            )
    missing, number = call["APPROXIMATE"], call[NUMBER]
    if isinstance(missing, int) and isinstance(number, int) and number <= missing:
        return Refusal(
            f"SUPPORT must be more than APPROXIMATE {missing}, and is {number}",
            "so many sources may be missing in a count; ask for fewer, or for more support",
        )
    forms = sum((gaps + 1) ** (length - 1) for length in range(low, min(high, 20) + 1))
    if forms > MOST_FORMS or (high > 20 and gaps):
        return Refusal(
            f"GAPS {gaps} and LENGTH {low} TO {high} have {forms:,} forms or more",
            f"at most {MOST_FORMS:,}: use fewer GAPS or a smaller LENGTH",
        )
    if isinstance(call.window, Frame) and call.window.start is None:
        return Refusal(
            "SUBSEQUENCES needs a window with a beginning", "such as [RANGE 1 HOUR SLIDE 1 MINUTE]"
        )
    return refuses_symbols(call, input)


def _divides(call: FunctionCall, _input: Schema) -> Divides:
    if call[SUPPORT] == NUMBER:
        return ByValue(f"{call.alias}.sequence", "sequence")
    return Undivided("compares with the number of sources that were heard")


def _shape(call: FunctionCall) -> tuple[int, int]:
    """How many forms the subsequences have, and how many slots the longest one spans."""
    low, high, gaps = _lengths(call)
    return sum((gaps + 1) ** (length - 1) for length in range(low, high + 1)), (high - 1) * (gaps + 1) + 1


def _keeps_slots(call: FunctionCall, input: Schema) -> tuple[Kept, ...]:
    return Kept(SOURCE + 4 * (_shape(call)[1] - 1), SOURCES), waiting(call, input)


def _keeps(call: FunctionCall, _input: Schema) -> tuple[Kept, ...]:
    """A row says that the source was heard in a slot, or has a subsequence there: tick, id, text, length, begin, end."""
    frame, every = call.window, call["EVERY"]
    assert isinstance(frame, Frame)
    assert isinstance(every, int)
    coming = -(-frame.slide // every)
    return (Kept(OCCURRENCE * (slots(call) + coming) * (_shape(call)[0] + 1), SOURCES),)


OCCURRENCES = TableFunction(
    name="SUBSEQUENCES",
    description="the occurrences of each source's subsequences",
    example="SUBSEQUENCES(air, pm25 BREAKS (12, 35) LENGTH 2 TO 4) [RANGE 1 HOUR SLIDE 5 MINUTES]",
    gives=_occurrences,
    output=Output.EVENTS,
    divides=BY_SOURCE,
    options=(
        Option(
            "LENGTH",
            (OptionKind.WHOLE, "TO", OptionKind.WHOLE),
            default=REQUIRED,
            needs="two whole numbers",
            example="2 TO 5",
            meaning="the shortest and the longest, in slots",
        ),
        Option(
            "GAPS",
            OptionKind.WHOLE,
            default=0,
            least=0,
            most=9,
            example="1",
            meaning="how many slots may be left out between neighbours",
        ),
        EVERY,
        FILL,
        SYMBOL_OPTIONS,
        Choice(
            SUPPORT,
            (
                Option(ALL, emission_only=True, meaning="every source with a reading in the window has it"),
                Option(
                    NUMBER,
                    OptionKind.WHOLE,
                    least=1,
                    emission_only=True,
                    needs="a whole number of sources",
                    example="3",
                    meaning="at least so many sources have it",
                ),
                Option(
                    PERCENT,
                    OptionKind.NUMBER,
                    least=0,
                    most=100,
                    emission_only=True,
                    example="80",
                    meaning="at least this part of the sources has it",
                ),
            ),
            default=ALL,
            emission_only=True,
        ),
        Option(
            "APPROXIMATE",
            OptionKind.WHOLE,
            least=PANES + 1,
            most=1_000_000,
            example="20",
            meaning="forgets rare subsequences early; so many sources may be missing in a count",
        ),
    ),
    windowing=Windowing.FRAME,
    algorithm="SUBSEQUENCES_OCCUR",
    wants="the column of the symbols",
    window_hint="[RANGE 1 HOUR SLIDE 5 MINUTES]: how far back, and how often",
    refuses=_refuses,
    keeps=_keeps_slots,
)

SUBSEQUENCES = TableFunction(
    name="SUBSEQUENCES",
    description="runs of symbols that many sources have",
    example=OCCURRENCES.example,
    gives=_columns,
    output=Output.WINDOWS,
    divides=_divides,
    options=OCCURRENCES.options,
    windowing=Windowing.FRAME,
    first=OCCURRENCES,
    wants=OCCURRENCES.wants,
    window_hint=OCCURRENCES.window_hint,
    refuses=_refuses,
    keeps=_keeps,
)


def pane_of(call: FunctionCall) -> int:
    """The slots of a pane of APPROXIMATE."""
    frame, every = call.window, call["EVERY"]
    assert isinstance(frame, Frame)
    assert frame.start is not None
    assert isinstance(every, int)
    return max(1, -(-(frame.start - frame.end) // (PANES * every)), -(-frame.slide // every))


def forgotten(call: FunctionCall) -> int:
    """A subsequence that at most so many sources have in a pane is forgotten there; 0: none is."""
    approximate = call["APPROXIMATE"]
    return approximate // (PANES + 1) if isinstance(approximate, int) else 0


def supported(call: FunctionCall, sources: int, heard: int) -> bool:
    """Whether so many of the sources that were heard are enough, or may be."""
    approximate = call["APPROXIMATE"]
    sources += approximate if isinstance(approximate, int) else 0
    match call[SUPPORT], call[NUMBER], call[PERCENT]:
        case "SUPPORT", int(number), _:
            return sources >= number
        case "SUPPORT PERCENT", _, float(percent):
            return 100 * sources >= percent * heard
        case _:
            return sources >= heard
