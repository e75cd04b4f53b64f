"""How many bytes the operators of the mining functions keep at most: the parts that they share.

A reading waits until event time has passed it and the next evaluation comes: those of DELAY and SLIDE wait. Texts count with
the 8 bytes of their place; their letters come on top.
"""

from __future__ import annotations

from nilometer.algebra.table_function import Frame, FunctionCall, Kept
from nilometer.algebra.table_functions.sequences import LEVELS, MOST_SYMBOLS, SYMBOLS, VALUES
from nilometer.types import Kind, Schema

CELL = 8
SOURCE = 3 * CELL
"""A source's id, and the slot and the value of its last reading."""
WAITING, SOURCES = "reading that waits", "source"


def waiting(call: FunctionCall, input: Schema, tags: int = 4) -> Kept:
    """The rows that wait, each with so many numbers of its own beside the columns: time, slot or tick, id, position."""
    widths = (input[name].type.plain.size or 1 for name in call.columns)
    return Kept(CELL * (tags + sum(widths)), WAITING)


def slots(call: FunctionCall) -> int:
    """How many slots the call's window holds at most."""
    every, window = call["EVERY"], call.window
    length = window.start - window.end if isinstance(window, Frame) and window.start is not None else window
    assert isinstance(every, int)
    assert isinstance(length, int)
    return length // every


def symbols(call: FunctionCall, input: Schema) -> int:
    """How many symbols the call's column has at most."""
    match call[SYMBOLS], call[LEVELS], call["BREAKS"]:
        case "LEVELS", (int(count), *_), _:
            return count
        case "BREAKS", _, tuple(breaks):
            return len(breaks) + 1
        case _:
            assert call[SYMBOLS] == VALUES
            return 2 if input[call.columns[0]].type.kind is Kind.BOOLEAN else MOST_SYMBOLS
