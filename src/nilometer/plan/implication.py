"""Whether one condition follows from another: by equal parts, and by thresholds on one column.

>>> from nilometer.types import BOOLEAN, INT
>>> def above(bound):
...     return Call(">", (ColumnReference("pm25", INT), Literal(bound, INT)), BOOLEAN)
>>> implies(above(60), above(35)), implies(above(20), above(35))
(True, False)
"""

from __future__ import annotations

from nilometer.expressions import (
    COMPARISONS,
    LOGICAL,
    MIRROR,
    Call,
    ColumnReference,
    Expression,
    Literal,
    conjuncts,
    walk,
)


def implies(strong: Expression, weak: Expression) -> bool:
    """Whether `weak` is provably true wherever `strong` is: by equal conditions, and by thresholds on one
    column.
    """
    parts = conjuncts(strong)
    if strong != weak and not all(quiet(part) for part in parts):
        return False  # if it fails, it asks for the tuple, and the other may not
    return all(any(_part_implies(part, wanted) for part in parts) for wanted in conjuncts(weak))


def quiet(part: Expression) -> bool:
    """Whether the condition cannot fail: no arithmetic and no function that could overflow."""
    calm = (*COMPARISONS, *LOGICAL, "is_null")
    return all(not isinstance(node, Call) or node.function in calm for node in walk(part))


def _part_implies(strong: Expression, weak: Expression) -> bool:
    if strong == weak:
        return True
    first, second = threshold(strong), threshold(weak)
    if first is None or second is None or first[0] != second[0]:
        return False
    (_, way, low), (_, other, high) = first, second
    bound, limit = low.value, high.value
    match way, other:
        case (">" | ">=" | "=", ">") | (">", ">="):
            return bool(bound > limit or (bound == limit and way == ">"))
        case (">=" | "=", ">="):
            return bool(bound >= limit)
        case ("<" | "<=" | "=", "<") | ("<", "<="):
            return bool(bound < limit or (bound == limit and way == "<"))
        case ("<=" | "=", "<="):
            return bool(bound <= limit)
    return False


def threshold(part: Expression) -> tuple[ColumnReference, str, Literal] | None:
    """`column > constant` and similar conditions, with the column on the left."""
    match part:
        case Call(way, (ColumnReference() as column, Literal() as bound)) if way in MIRROR:
            found = column, way, bound
        case Call(way, (Literal() as bound, ColumnReference() as column)) if way in MIRROR:
            found = column, MIRROR[way], bound
        case _:
            return None
    return found if column.type.numeric and bound.value is not None else None
