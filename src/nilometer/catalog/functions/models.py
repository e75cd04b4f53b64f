"""CLASSIFY, and the fields of what it gives."""

from __future__ import annotations

from typing import Any, Final

from nilometer.catalog.functions.arguments import FIELD_NAME, MODEL, STRUCT, VECTOR
from nilometer.catalog.functions.signature import FunctionKind, FunctionSignature
from nilometer.catalog.functions.type_rules import always, first
from nilometer.types import FLOAT, STRING, Column, Kind, Type, struct_of

CLASSIFIED: Final = struct_of(
    Column("label", STRING), Column("confidence", FLOAT), Column("second", STRING), Column("margin", FLOAT)
)


def _field_of(types: tuple[Type, ...], constants: tuple[Any, ...]) -> Type:
    if types[0].kind is Kind.NULL:
        return types[0]
    found = {column.name.lower(): column.type for column in types[0].fields}
    name = str(constants[1]).lower()
    if name not in found:
        raise ValueError(f"one of the fields {', '.join(found)}, not '{constants[1]}'")
    return found[name]


MODELS: Final[tuple[FunctionSignature, ...]] = (
    FunctionSignature(
        "classify",
        FunctionKind.SCALAR,
        (MODEL, VECTOR),
        always(CLASSIFIED),
        "what a model makes of a vector: label (NULL: none), confidence, second label and margin",
        "classify(hazmat, counts).label",
    ),
    FunctionSignature(
        "field",
        FunctionKind.SCALAR,
        (STRUCT, FIELD_NAME),
        first,
        "a field of a value that has several; also written `value.name`",
        "field(peak, 'energy')",
        shape=_field_of,
    ),
)
