"""An expression -> how many of its steps run in subroutines: steps with FLOATs, and divisions, for which a
mote's processor has no instructions."""

from __future__ import annotations

from nilometer.expressions import ARITHMETIC, COMPARISONS, Call, Expression, type_of, walk
from nilometer.plan import physical
from nilometer.types import Kind

CONVERTED = 2
"""A raw reading of a converter becomes a FLOAT and is multiplied by the value of one count: two steps."""


DIVIDED = 4
"""A division of INTs takes as long as this many average steps with FLOATs: 230 cycles for 16 bits."""

SLOW = 7
"""The same for a division of FLOATs, and for a root: 450 to 500 cycles."""


def float_steps(expression: Expression | None) -> int:
    """The number of comparisons and computations with a FLOAT operand, divisions of INTs, and roots. A slow
    step counts several times."""
    if expression is None:
        return 0
    return sum(_steps(part) for part in walk(expression) if isinstance(part, Call))


def _steps(call: Call) -> int:
    divides = call.function in ("/", "%", "mod")
    if call.function == "sqrt":
        return SLOW
    if any(map(is_float, call.arguments)):
        return SLOW if divides else int(call.function in (*COMPARISONS, *ARITHMETIC))
    return DIVIDED if divides else 0


def acquired_float_steps(node: physical.SpAcquire) -> int:
    """The steps that turn sensed values into FLOATs."""
    sensed = (c for c in (*node.columns, *node.reads) if c.name.lower() not in ("id", "time"))
    return CONVERTED * sum(column.type.kind is Kind.FLOAT for column in sensed)


def is_float(expression: Expression) -> bool:
    """Whether its value is a FLOAT."""
    return type_of(expression).kind is Kind.FLOAT
