"""An expression -> how many of its steps are done with FLOATs, which a processor without such instructions pays for one by one."""

from __future__ import annotations

from nilometer.expressions import ARITHMETIC, COMPARISONS, Call, Expression, type_of, walk
from nilometer.plan import physical
from nilometer.types import Kind

CONVERTED = 2
"""A reading of a converter becomes a FLOAT, and is multiplied by what a count stands for."""


def float_steps(expression: Expression | None) -> int:
    """The comparisons and computations that have a FLOAT among their operands."""
    if expression is None:
        return 0
    calls = (part for part in walk(expression) if isinstance(part, Call))
    return sum(
        call.function in (*COMPARISONS, *ARITHMETIC) and any(map(is_float, call.arguments)) for call in calls
    )


def acquired_float_steps(node: physical.SpAcquire) -> int:
    """The steps of making FLOATs of what was sensed."""
    sensed = (c for c in (*node.columns, *node.reads) if c.name.lower() not in ("id", "time"))
    return CONVERTED * sum(column.type.kind is Kind.FLOAT for column in sensed)


def is_float(expression: Expression) -> bool:
    """Whether its value is a FLOAT."""
    return type_of(expression).kind is Kind.FLOAT
