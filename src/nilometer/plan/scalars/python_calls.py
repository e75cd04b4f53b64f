"""A call of a function in Python, for one row: what it means. NULL in, NULL out; an error of the function is one of the row."""

from __future__ import annotations

from typing import Any

from nilometer.algebra.conversion_errors import function_failed
from nilometer.expressions import Call, type_of
from nilometer.types import Kind


def call_python(call: Call, values: list[Any]) -> Any:
    """The value of the function for one row, by a worker."""
    reference, _, *given = values
    if any(value is None for value in given):
        return None
    import numpy as np  # not at the top: `explain` starts without numpy

    from nilometer.workers import functions

    arguments = []
    for argument, value in zip(call.arguments[2:], given, strict=True):
        kind = type_of(argument).plain
        column = np.array([value], dtype=object if kind.kind is Kind.STRING else None)
        arguments.append(functions.Argument(kind, column))
    found = functions.call(reference, arguments, call.type, 1)
    for reason in found.failed:
        raise function_failed(reference, reason)
    if found.nulls[0]:
        return None
    value = found.values[0].tolist() if call.type.kind is not Kind.STRING else found.values[0]
    return tuple(value) if isinstance(value, list) else value
