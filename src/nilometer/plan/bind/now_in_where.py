"""Refuses a WHERE that compares a tuple's time with its own tick: `time > now - 1 HOUR` without a window.

Without a window `now` is the tick of the tuple itself: its time, for a sensed stream rounded down to the
interval. So such a condition has the same value for every tuple, and its author meant a window.
"""

from __future__ import annotations

import operator

from nilometer.algebra import Collection
from nilometer.expressions import COMPARISONS, MIRROR, Call, ColumnReference, Expression, Literal, Now, walk
from nilometer.language import ast
from nilometer.plan import logical
from nilometer.plan.bind.scope import Scope
from nilometer.types import Kind, format_duration

_COMPARE = {
    "=": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}

Linear = tuple[int, int, int]
"""How often the tuple's time and its tick are in a sum, and the constant rest in microseconds."""


def refuse_own_tick(scope: Scope, condition: Expression, place: ast.Expression) -> None:
    """Refuses a condition of a stream query that has the same value for every tuple, whatever its time."""
    nodes = [relation.node for relation in scope.relations]
    acquired = [node for node in nodes if isinstance(node, logical.Acquire)]
    others = [node for node in nodes if not isinstance(node, logical.Acquire)]
    if len(acquired) != 1 or any(node.collection is not Collection.TABLE for node in others):
        return
    stream = acquired[0].stream
    for part in walk(condition):
        value = _always(part, f"{acquired[0].alias}.time", stream.every)
        if value is None:
            continue
        length = _length(part)
        scope.context.fail(
            f"without a window, 'now' is the tuple's own time, so this is {'true' if value else 'false'} of every tuple",
            place,
            hint=f"give the stream a window, such as {stream.name} [RANGE {length}], or compare with a fixed"
            " time: time > TIME '2026-01-31T12:00Z'",
        )


def _always(part: Expression, time: str, every: int | None) -> bool | None:
    """The value that a comparison of the time with the tick has for every tuple; None if it varies."""
    if not isinstance(part, Call) or part.function not in COMPARISONS:
        return None
    left, right = (_linear(side, time) for side in part.arguments)
    if left is None or right is None:
        return None
    times, ticks, rest = (one - other for one, other in zip(left, right, strict=True))
    if (times, ticks) not in ((1, -1), (-1, 1)):
        return None
    # time - tick <comparison> bound, and the difference is from 0 to below the interval.
    symbol, bound = (part.function, -rest) if times == 1 else (MIRROR[part.function], rest)
    latest = (every or 1) - 1
    if symbol in ("=", "!=") and 0 <= bound <= latest and latest > 0:
        return None
    values = {_COMPARE[symbol](difference, bound) for difference in (0, latest)}
    return bool(values.pop()) if len(values) == 1 else None


def _linear(expression: Expression, time: str) -> Linear | None:
    match expression:
        case ColumnReference(name) if name == time:
            return 1, 0, 0
        case Now():
            return 0, 1, 0
        case Literal(int() as value, type_) if type_.kind is Kind.DURATION:
            return 0, 0, value
        case Call("+" | "-" as symbol, (left, right)):
            one, other = _linear(left, time), _linear(right, time)
            if one is None or other is None:
                return None
            sign = 1 if symbol == "+" else -1
            return one[0] + sign * other[0], one[1] + sign * other[1], one[2] + sign * other[2]
        case _:
            return None


def _length(part: Expression) -> str:
    """The length of time that the comparison names, for the hint."""
    for node in walk(part):
        if isinstance(node, Literal) and node.type.kind is Kind.DURATION and node.value:
            return format_duration(abs(node.value))
    return "1 HOUR"
