"""The columns of the functions of a phenomenon: of its candidates, updates, states, predictions, members and summaries."""

from __future__ import annotations

from nilometer.algebra.table_function import FunctionCall
from nilometer.types import BOOLEAN, FLOAT, INT, POINT, STRING, TIME, Column, Schema, Type, list_of


def class_type(call: FunctionCall, value: Type) -> Type:
    """The type of `value`: the class of a phenomenon's readings."""
    match call["LIKENESS"]:
        case "EQUAL":
            return value.plain
        case "BUCKET":
            return INT
        case _:
            return STRING


def _value_type(call: FunctionCall, input: Schema) -> Type:
    """The class's type; the tracker, whose input are candidates, finds it in them."""
    name = call.columns[0]
    return class_type(call, input[name].type) if name in input else input[f"{call.alias}.value"].type.plain


def _coordinates(call: FunctionCall, input: Schema) -> str | None:
    place = call.columns[1] if len(call.columns) > 1 else ""
    own = f"{call.alias}.place"
    return input[place].unit if place in input else input[own].unit if own in input else None


def candidate_columns(call: FunctionCall, input: Schema) -> tuple[Column, ...]:
    """A source that became or is no longer a candidate (n = 0), or whose readings in the window changed."""
    return (
        Column("id", call.id_type),
        Column("value", _value_type(call, input)),
        Column("n", INT),
        Column("sum", FLOAT),
        Column("low", FLOAT),
        Column("high", FLOAT),
        Column("place", POINT, _coordinates(call, input)),
    )


def _described(call: FunctionCall, input: Schema) -> tuple[Column, ...]:
    """From `parents` on, the columns of PHENOMENA and CURRENT are the same."""
    return (
        Column("parents", list_of(STRING)),
        Column("children", list_of(STRING)),
        *_state(call, input),
    )


def _state(call: FunctionCall, input: Schema) -> tuple[Column, ...]:
    return (
        Column("strength", INT),
        Column("readings", INT),
        Column("mean", FLOAT),
        Column("low", FLOAT),
        Column("high", FLOAT),
        Column("location", POINT, _coordinates(call, input)),
        Column("region", STRING),
        Column("area", FLOAT),
        Column("velocity_x", FLOAT),
        Column("velocity_y", FLOAT),
        Column("born", TIME),
    )


def update_columns(call: FunctionCall, input: Schema) -> tuple[Column, ...]:
    """An update of a phenomenon."""
    members = list_of(call.id_type.plain)
    return (
        Column("time", TIME),
        Column("id", STRING),
        Column("kind", STRING),
        Column("value", _value_type(call, input)),
        Column("size", INT),
        Column("members", members),
        Column("gained", members),
        Column("lost", members),
        *_described(call, input),
    )


def current_columns(call: FunctionCall, input: Schema) -> tuple[Column, ...]:
    """A phenomenon at an evaluation."""
    return (
        Column("time", TIME),
        Column("id", STRING),
        Column("value", _value_type(call, input)),
        Column("size", INT),
        Column("members", list_of(call.id_type.plain)),
        *_described(call, input),
    )


def arrival_columns(call: FunctionCall, _input: Schema) -> tuple[Column, ...]:
    """A sensor that a phenomenon is expected to reach."""
    return (
        Column("time", TIME),
        Column("id", STRING),
        Column("sensor", call.id_type.plain),
        Column("at", TIME),
        Column("seconds", FLOAT, "s"),
    )


def summary_columns(call: FunctionCall, _input: Schema) -> tuple[Column, ...]:
    """A phenomenon, or a cell of the other sensors (its id is NULL), and who joined and left it."""
    members = list_of(call.id_type.plain)
    return (
        Column("time", TIME),
        Column("id", STRING),
        Column("cell", INT),
        Column("size", INT),
        Column("gained", members),
        Column("lost", members),
        Column("readings", INT),
        Column("mean", FLOAT),
        Column("low", FLOAT),
        Column("high", FLOAT),
    )


def predicted_columns(call: FunctionCall, input: Schema) -> tuple[Column, ...]:
    """Where a phenomenon is expected to be."""
    return (
        Column("time", TIME),
        Column("id", STRING),
        Column("at", TIME),
        Column("location", POINT, _coordinates(call, input)),
        Column("region", STRING),
        Column("size_expected", FLOAT),
    )


def membership_columns(call: FunctionCall, input: Schema) -> tuple[Column, ...]:  # noqa: ARG001 - of any input
    """A sensor that came to a phenomenon, or left."""
    return (Column("time", TIME), Column("id", call.id_type.plain), Column("inside", BOOLEAN))
