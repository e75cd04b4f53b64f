"""THROUGH of a stream's declaration -> the catalog's `Through`, checked against what the unit says of itself."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NoReturn

from nilometer.catalog.through import Through
from nilometer.errors import CatalogError, NilometerError
from nilometer.language import ast
from nilometer.types import Column

OWN = ("time", "id")


def through_of(
    statement: ast.CreateStream, through: ast.Through, declared: Sequence[Column], text: str | None
) -> Through:
    """The unit before the log of a stream. Its columns must be those that the stream declares, besides time and id."""
    from nilometer.workers.units import describe, find_unit  # not at the top: it needs numpy

    numbers = tuple(_number(amount, text) for amount in through.numbers)
    names = [column.name for column in through.columns]
    for place, column in enumerate(through.columns):
        if column.name.lower() in OWN:
            _fail(text, column, f"every unit is given '{column.name.lower()}'", "name the other columns only")
        if not column.name.isidentifier() or names.index(column.name) < place:
            _fail(
                text, column, f"'{column.name}' is no name for a column of a unit", "write letters and digits"
            )
    try:
        unit = find_unit(through.unit)
        found = describe(unit, numbers)
    except NilometerError as error:
        raise error.at(text, through.span) from None
    if len(found.inputs) != len(names):
        _fail(
            text,
            through,
            f"the unit {through.unit} takes {len(found.inputs)} columns, not {len(names)}",
            f"it takes {', '.join(map(str, found.inputs))}, besides time and id",
        )
    own = {column.name: column.type.plain for column in declared if column.name.lower() not in OWN}
    given = {column.name: column.type.plain for column in found.columns}
    if own != given:
        wanted = ", ".join(f"{name} {type_}" for name, type_ in given.items())
        _fail(
            text,
            statement,
            f"the unit {through.unit} gives ({wanted})",
            "declare the stream with these columns",
        )
    for definition in statement.columns:
        if definition.origin is not None and definition.name.lower() not in OWN:
            _fail(
                text,
                definition,
                f"'{definition.name}' comes from the unit {through.unit}",
                f"write where the unit's own columns come from: THROUGH {through.unit}({names[0]} FROM field)",
            )
    takes = ", ".join(f"{name} {type_}" for name, type_ in zip(names, found.inputs, strict=True))
    return Through(through.unit, unit, takes, numbers)


def _number(amount: ast.Amount, text: str | None) -> float:
    if isinstance(amount.count, str):
        _fail(text, amount, "a unit before a log takes numbers, no parameters", "such as WITH (16, 2.5)")
    return float(amount.count)


def _fail(text: str | None, node: ast.Node, message: str, hint: str) -> NoReturn:
    raise CatalogError(message, hint=hint).at(text, node.span)
