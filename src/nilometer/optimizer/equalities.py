"""Recognises a condition that is an equality between two inputs, and returns the key of each side."""

from __future__ import annotations

from nilometer.expressions import Call, Expression, type_of
from nilometer.optimizer.rewriting import reads_only
from nilometer.plan import logical
from nilometer.types import Kind

HASHABLE = (Kind.INT, Kind.FLOAT, Kind.STRING, Kind.BOOLEAN, Kind.TIME, Kind.DURATION)


def equality_between(
    condition: Expression, left: logical.Node, right: logical.Node
) -> tuple[Expression, Expression] | None:
    """The key of each side if the condition is an equality between the two, of one type."""
    match condition:
        case Call("=", (one, other)) if _hashable(one, other):
            if reads_only(one, left) and reads_only(other, right):
                return one, other
            if reads_only(other, left) and reads_only(one, right):
                return other, one
    return None


def _hashable(one: Expression, other: Expression) -> bool:
    return type_of(one).plain == type_of(other).plain and type_of(one).kind in HASHABLE
