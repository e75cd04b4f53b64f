"""The errors of values that cannot be converted, the same on every host."""

from __future__ import annotations

import re
from typing import Any

from nilometer.errors import DataError, FunctionFailedError

TARGETS = {
    "cast_int": "a 64-bit INT",
    "cast_float": "a FLOAT",
    "cast_boolean": "a BOOLEAN",
    "cast_time": "a TIME",
}


def cannot_cast(value: Any, function: str) -> DataError:
    """A value that has no meaning in the type of a CAST."""
    return DataError(
        f"{_shown(value)} is not {TARGETS[function]}", hint="TRY_CAST gives NULL instead of an error"
    )


def no_such_time(value: Any, template: str | None) -> DataError:
    """What to_timestamp cannot read."""
    if template is not None:
        return DataError(f"{_shown(value)} is not a TIME in the format '{template}'")
    return DataError(f"{value} seconds since 1970 do not fit a TIME")


def _shown(value: Any) -> str:
    if not isinstance(value, str):
        return str(value)
    return f"'{value[:40]}...'" if len(value) > 40 else f"'{value}'"


def function_failed(reference: str, reason: str) -> FunctionFailedError:
    """The error of a row for which a function in Python has raised."""
    return FunctionFailedError(f"the function {reference} failed: {reason}")


def place_of(expression: object) -> str:
    """Where a value is missing, for the detail of an error: calls of functions in Python by the names of their code.

    >>> place_of("python('plant:root', 'FLOAT', float(s.n)) + 1")
    'in plant:root(float(s.n)) + 1'
    """
    return "in " + re.sub(r"\bpython\('([\w.]+:\w+)', '[A-Z]+(?:\[\d+\])?', ", r"\1(", str(expression))
