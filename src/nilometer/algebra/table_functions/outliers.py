"""OUTLIERS: readings far from the median of their source's readings before them.

A reading x is judged before it joins the others: it is an outlier if |x - median| > k * 1.4826 * MAD of its source's
readings in the last w, where MAD is the median distance from the median; 1.4826 MAD estimates the standard deviation of a
normal distribution. If MAD = 0, any other value is an outlier. Before AFTER n readings are known, none is.
"""

from __future__ import annotations

from nilometer.algebra.table_function import (
    BY_SOURCE,
    FunctionCall,
    Kept,
    Option,
    OptionKind,
    Output,
    TableFunction,
    Windowing,
)
from nilometer.algebra.table_functions.kept import CELL, SOURCES, waiting
from nilometer.algebra.table_functions.sequences import refuses_numbers
from nilometer.types import FLOAT, TIME, Column, Schema

SCALE = 1.4826


def _columns(call: FunctionCall, _input: Schema) -> tuple[Column, ...]:
    return (
        Column("time", TIME),
        Column("id", call.id_type),
        Column("value", FLOAT),
        Column("median", FLOAT),
        Column("deviation", FLOAT),
    )


def _keeps(call: FunctionCall, input: Schema) -> tuple[Kept, ...]:
    """A reading is in the order of time and in the order of values, with room for twice as many."""
    return Kept(5 * CELL, SOURCES), Kept(6 * CELL, "reading in the range"), waiting(call, input)


OUTLIERS = TableFunction(
    name="OUTLIERS",
    description="readings far from the median of their source's last ones",
    example="OUTLIERS(air, pm25 DEVIATIONS 5) [RANGE 1 DAY]",
    gives=_columns,
    output=Output.TUPLES,
    divides=BY_SOURCE,
    options=(
        Option(
            "DEVIATIONS",
            OptionKind.NUMBER,
            default=5.0,
            least=0,
            emission_only=True,
            example="3.5",
            meaning="how many scaled deviations from the median are too many",
        ),
        Option(
            "AFTER",
            OptionKind.WHOLE,
            default=10,
            least=1,
            emission_only=True,
            example="30",
            meaning="how many readings must be known before one is judged",
        ),
    ),
    windowing=Windowing.REACH,
    wants="the column to judge",
    window_hint="[RANGE 1 DAY]: how far back the readings that it is compared with lie",
    refuses=refuses_numbers,
    keeps=_keeps,
)
