"""Validation of Specs: each function refuses a wrong parameter. A wrong Spec is a bug of the planner, never
the user's fault.
"""

from __future__ import annotations

from enum import StrEnum

from nilometer.errors import InternalError
from nilometer.expressions import Expression, columns_of, type_of
from nilometer.types import Kind, Schema


def require(condition: bool, message: str) -> None:
    """Refuse a Spec for which the condition does not hold."""
    if not condition:
        raise InternalError(f"wrong operator: {message}")


def require_choice(name: str, choices: type[StrEnum], what: str) -> None:
    """Require that the name is one of the choices."""
    require(name in [choice.value for choice in choices], f"{what} {name}")


def require_columns(expression: Expression, schema: Schema, what: str) -> None:
    """Require that every column that the expression reads is in the schema."""
    missing = columns_of(expression) - set(schema.names)
    require(not missing, f"{what} reads {sorted(missing)}, which its input ({schema}) does not have")


def require_condition(predicate: Expression, schema: Schema, what: str) -> None:
    """Require a condition over columns of the schema."""
    require_columns(predicate, schema, what)
    require(type_of(predicate).kind in (Kind.BOOLEAN, Kind.NULL), f"{what} is not a condition")
