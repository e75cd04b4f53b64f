"""UNIT: a stream -> a stream, by a unit: code of a user's with a state (STEAM sections 1 and 3.2, "well-defined interfaces
for integrating stream pre- and post-processing units").

    UNIT form_spectra(events, energy WITH (16, 2.5))  =  UNIT(events, energy USING form_spectra WITH (16, 2.5))

The unit is given the rows in the order of (time, id, position), and gives rows for them. The binder asks the unit which
columns these have, and writes the answer and the code's name into the call: a plan says all that a host needs.

>>> [str(column) for column in given_columns("counts INT[16], label STRING")]
['counts INT[16]', 'label STRING']
"""

from __future__ import annotations

from nilometer.algebra.table_function import (
    BY_SOURCE,
    REQUIRED,
    Divides,
    FunctionCall,
    Option,
    OptionKind,
    Output,
    TableFunction,
    Undivided,
)
from nilometer.types import TIME, Column, Kind, Schema, Type, vector_of


def type_named(text: str) -> Type:
    """A type by its name: `FLOAT`, `INT[16]`."""
    element, bracket, size = text.partition("[")
    type_ = Type(Kind(element))
    return vector_of(type_, int(size.removesuffix("]"))) if bracket else type_


def given_columns(text: str) -> tuple[Column, ...]:
    """The columns of a list such as `counts INT[16], label STRING`."""
    pairs = (part.rsplit(" ", 1) for part in text.split(", "))
    return tuple(Column(name, type_named(type_)) for name, type_ in pairs)


def _columns(call: FunctionCall, _input: Schema) -> tuple[Column, ...]:
    given = call["GIVES"]
    return (
        Column("time", TIME),
        Column("id", call.id_type),
        *(given_columns(given) if isinstance(given, str) else ()),
    )


def _divides(call: FunctionCall, _input: Schema) -> Divides:
    return BY_SOURCE if call["EACH"] else Undivided("the unit sees all sources together")


UNIT = TableFunction(
    name="UNIT",
    description="rows that a unit, code of your own, makes of a stream",
    example="UNIT form_spectra(events, energy WITH (16, 2.5))",
    gives=_columns,
    output=Output.TUPLES,
    divides=_divides,
    options=(
        Option("USING", OptionKind.NAME, default=REQUIRED, example="form_spectra", meaning="the unit"),
        Option(
            "WITH", OptionKind.LIST, default=(), example="(16, 2.5)", meaning="numbers that the unit takes"
        ),
        Option(
            "GIVES", OptionKind.NAME, example='"counts INT[16]"', meaning="its columns, which the unit says"
        ),
        Option("EACH", meaning="each source can be computed on its own, which the unit says"),
    ),
    most_columns=None,
    wants="the columns that the unit takes",
)
