"""SESSION: each tuple with the session that it belongs to, once the session is over.

A session of a sensor (or of a key: the columns given) is a longest run of its tuples in which none is later
than the one before it by more than the pause. It begins at its first tuple and ends a pause after its last
one; that end is the tick of its rows.
"""

from __future__ import annotations

from nilometer.algebra.table_function import (
    BY_SOURCE,
    REQUIRED,
    ByValue,
    Divides,
    FunctionCall,
    Option,
    OptionKind,
    Output,
    TableFunction,
)
from nilometer.types import TIME, Column, Schema

WINDOW_COLUMNS = ("window_start", "window_end", "window_time")
"""The columns that a group window adds: its first moment, the moment after it, and the last millisecond."""


def bare(name: str) -> str:
    """A column's name without its alias."""
    return name.split(".", 1)[-1]


def _columns(_call: FunctionCall, input: Schema) -> tuple[Column, ...]:
    own = tuple(Column(bare(column.name), column.type, column.unit) for column in input)
    return own + tuple(Column(name, TIME) for name in WINDOW_COLUMNS)


def _divides(call: FunctionCall, _input: Schema) -> Divides:
    return ByValue(call.columns[0], bare(call.columns[0])) if call.columns else BY_SOURCE


SESSION = TableFunction(
    name="SESSION",
    description="each tuple with its session: a run of a sensor's tuples without a longer pause",
    example="SESSION(air, 10 MINUTES)",
    gives=_columns,
    output=Output.EVENTS,
    divides=_divides,
    options=(
        Option(
            "FOR",
            OptionKind.DURATION,
            default=REQUIRED,
            least=1,
            positional=True,
            example="10 MINUTES",
            meaning="the longest pause within a session",
        ),
    ),
    least_columns=0,
    most_columns=None,
    ordered=False,
    windowed=True,
    wants="the columns that have sessions of their own",
)
