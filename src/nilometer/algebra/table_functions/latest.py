"""LATEST: at each evaluation, the last tuple of each sensor in the window; without a window, of all so far."""

from __future__ import annotations

from dataclasses import replace

from nilometer.algebra.table_function import BY_SOURCE, FunctionCall, Output, TableFunction, Windowing
from nilometer.types import TIME, Column, Schema


def source_and_columns(call: FunctionCall, input: Schema) -> tuple[Column, ...]:
    """The time and the id of a tuple, and the columns that the call names."""
    named = (replace(input[name], name=name.split(".", 1)[-1]) for name in call.columns)
    return (Column("time", TIME), Column("id", call.id_type), *named)


def only_needed(call: FunctionCall, needed: frozenset[str]) -> FunctionCall:
    """The call without the columns that nobody reads."""
    kept = tuple(name for name in call.columns if name.split(".", 1)[-1] in needed)
    return replace(call, columns=kept)


LATEST = TableFunction(
    name="LATEST",
    description="at each evaluation, the last tuple of each sensor in the window",
    example="LATEST(air) [RANGE 1 HOUR SLIDE 1 MINUTE]",
    gives=source_and_columns,
    output=Output.WINDOWS,
    divides=BY_SOURCE,
    least_columns=0,
    most_columns=None,
    windowing=Windowing.FRAME,
    all_columns=True,
    unbounded=True,
    window_hint="[UNBOUNDED SLIDE 1 MINUTE]: how often, and how far back",
    narrowed=only_needed,
)
