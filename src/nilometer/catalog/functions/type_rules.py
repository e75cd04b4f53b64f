"""Type rules: the types of arguments -> the type of the result; a `ValueError` if they do not fit together."""

from __future__ import annotations

from nilometer.catalog.functions.signature import Rule
from nilometer.types import FLOAT, NULL, Kind, Type, list_of, vector_of


def first(types: tuple[Type, ...]) -> Type:
    """The type of the first argument."""
    return types[0]


def common(types: tuple[Type, ...]) -> Type:
    """The one type of all arguments: NULL fits any type, INT with FLOAT gives FLOAT."""
    found = NULL
    for next_type in types:
        if found.kind is Kind.NULL or next_type == found:
            found = next_type
        elif {found.kind, next_type.kind} == {Kind.INT, Kind.FLOAT}:
            found = FLOAT
        elif next_type.kind is not Kind.NULL:
            raise ValueError(f"values of one type, not {found} and {next_type}")
    return found


def of_arms(types: tuple[Type, ...]) -> Type:
    """The one type of all arguments but the first, which is a condition."""
    return common(types[1:])


def mean(types: tuple[Type, ...]) -> Type:
    """The type of a mean: of durations a duration, of vectors a vector, else FLOAT."""
    if types[0].size is not None:
        return vector_of(FLOAT, types[0].size)
    return types[0] if types[0].kind is Kind.DURATION else FLOAT


def element(types: tuple[Type, ...]) -> Type:
    """The type of the elements of a list or a vector."""
    return types[0].element or NULL


def listed(types: tuple[Type, ...]) -> Type:
    """A list of the first argument's type."""
    return list_of(types[0])


def always(result: Type) -> Rule:
    """A rule that returns the same type for any arguments."""
    return lambda _types: result
