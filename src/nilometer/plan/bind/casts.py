r"""Binds CAST, TRY_CAST and `::` to the conversion between two types, or refuses it with what to write.

| from \ to | INT | FLOAT | STRING | BOOLEAN | TIME, DATE |
|---|---|---|---|---|---|
| INT | itself | nearest | digits | 0 is false | to_timestamp |
| FLOAT | nearest, halves away from 0 | itself | shortest | 0 is false | to_timestamp |
| BOOLEAN | 0, 1 | 0.0, 1.0 | TRUE, FALSE | itself | - |
| STRING | digits | a number | itself | true, yes, on, 1 ... | ISO-8601, in UTC by default |
| TIME | epoch | epoch | ISO-8601 | - | itself |
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from nilometer.expressions import CASTS, Call, Expression, Literal, type_of
from nilometer.language import ast
from nilometer.types import DAY, FLOAT, INT, STRING, TIME, Kind, Type

if TYPE_CHECKING:
    from nilometer.plan.bind.expressions import ExpressionBinder

_CASTABLE = {
    Kind.INT: (Kind.FLOAT, Kind.BOOLEAN, Kind.STRING),
    Kind.FLOAT: (Kind.INT, Kind.BOOLEAN, Kind.STRING),
    Kind.BOOLEAN: (Kind.INT, Kind.FLOAT, Kind.STRING),
    Kind.TIME: (Kind.STRING,),
    Kind.STRING: (Kind.INT, Kind.FLOAT, Kind.BOOLEAN, Kind.TIME, Kind.DURATION, Kind.POINT),
}


def bind_cast(binder: ExpressionBinder, node: ast.Cast, operand: Expression) -> Expression:
    """The operand in another type."""
    target = TIME if node.type == "DATE" else Type(Kind(node.type))
    value = _converted(binder, node, operand, target)
    if node.type == "DATE":
        if isinstance(value, Literal) and value.value is not None and value.type.kind is Kind.TIME:
            return Literal(value.value - value.value % DAY, TIME)
        return Call("date_trunc", (Literal("day", STRING), value), TIME)
    if node.size is None:
        return value
    match target.kind:
        case Kind.FLOAT:
            return Call("round", (value, Literal(node.size, INT)), FLOAT)
        case Kind.STRING:
            return Call("left", (value, Literal(node.size, INT)), STRING)
        case _:
            unit = {0: "second", 3: "millisecond", 6: "microsecond"}[node.size]
            return Call("date_trunc", (Literal(unit, STRING), value), TIME)


def _converted(binder: ExpressionBinder, node: ast.Cast, operand: Expression, target: Type) -> Expression:
    source = type_of(operand)
    if source.kind is target.kind:
        return operand
    if source.kind is Kind.NULL:
        return Literal(None, target)
    if source.kind not in _CASTABLE.get(target.kind, ()):
        binder.context.fail(
            f"a value of type {source.plain} cannot become {target}",
            node,
            hint=_hint(source.kind, target.kind),
        )
    if target.kind is Kind.STRING:
        return Call("string", (operand,), STRING)
    if (source.kind, target.kind) == (Kind.INT, Kind.FLOAT):
        return binder.as_float(operand)
    function = next(name for name, type_ in CASTS.items() if type_ == target.kind)
    # A number or a truth becomes a FLOAT or a BOOLEAN without fail.
    return Call(f"try_{function}" if node.safe else function, (operand,), target)


def _hint(source: Kind, target: Kind) -> str | None:
    if target is Kind.TIME and source in (Kind.INT, Kind.FLOAT):
        return "to_timestamp(x) takes seconds since 1970"
    if source is Kind.TIME:
        return "epoch(t) gives seconds since 1970, EXTRACT(hour FROM t) a field"
    if source is Kind.DURATION:
        return "divide it by a unit: d / 1 SECOND"
    if target is Kind.POINT:
        return "write POINT(x, y)"
    return None


def as_text(binder: ExpressionBinder, value: Expression) -> Expression:
    """The value as STRING, for `||` and format."""
    type_ = type_of(value)
    if type_.kind is Kind.STRING:
        return value
    if type_.kind is Kind.NULL:
        return Literal(None, STRING)
    if type_.kind not in _CASTABLE[Kind.STRING]:
        binder.context.fail(f"a value of type {type_} has no text", None)
    return Call("string", (value,), STRING)
