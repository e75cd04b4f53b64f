"""Units of bound expressions: `convert(x, 'm')`, and a clash of units in a comparison or a sum.

A unit is known of a column that declares one, and of what keeps it: aggregates such as AVG, `abs`, `round`,
`coalesce`, sums with plain numbers. A product or a quotient has no known unit, because it may be a conversion
by hand. Only two known units can clash.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import TYPE_CHECKING

from nilometer.catalog.units import Unit, canonical_code, convertible, parse_unit
from nilometer.errors import CatalogError
from nilometer.expressions import Aggregate, Call, Case, Expression, Literal, type_of
from nilometer.language import ast
from nilometer.types import FLOAT

if TYPE_CHECKING:
    from nilometer.plan.bind.expressions import ExpressionBinder

_KEEPING = (
    "negative",
    "abs",
    "ceil",
    "floor",
    "round",
    "trunc",
    "float",
    "least",
    "greatest",
    "coalesce",
    "+",
    "-",
    "%",
)
_KEEPING_AGGREGATES = (
    *("sum", "avg", "min", "max", "median", "first", "last", "mode"),
    *("percentile_cont", "percentile_disc", "approx_percentile", "arg_min", "arg_max", "twa"),
)


def unit_of(expression: Expression, known: Callable[[Expression], str | None]) -> str | None:
    """The unit of an expression, if it is known; `known` tells those of columns and conversions."""
    found = known(expression)
    if found is not None:
        return found
    match expression:
        case Aggregate(function, argument) if function in _KEEPING_AGGREGATES and argument is not None:
            return unit_of(argument, known)
        case Call(function, arguments) if function in _KEEPING:
            return _one([unit_of(argument, known) for argument in arguments])
        case Case(_, values, otherwise):
            return _one([unit_of(value, known) for value in (*values, otherwise)])
        case _:
            return None


def _one(units: list[str | None]) -> str | None:
    """The unit that all have that have one; None if they differ."""
    different = {unit for unit in units if unit is not None}
    return different.pop() if len(different) == 1 else None


def check_units(
    binder: ExpressionBinder, node: ast.Expression, operator: str, left: Expression, right: Expression
) -> None:
    """Refuses a comparison, sum or difference of values of different units."""
    if not (type_of(left).numeric and type_of(right).numeric):
        return
    one, other = unit_of(left, binder.known_unit), unit_of(right, binder.known_unit)
    if one is None or other is None or parse_unit(one) == parse_unit(other):
        return
    what = (
        f"'{operator}' is not defined for values in '{one}' and in '{other}'"
        if operator in ("+", "-", "%")
        else f"cannot compare values in '{one}' with values in '{other}'"
    )
    if not convertible(one, other):
        binder.context.fail(what, node, detail="the units measure different things")
    right_text = binder.text_of(node.right) if isinstance(node, ast.Binary) else str(right)
    binder.context.fail(
        what,
        node,
        detail=f"the left side is {left}, the right side {right}",
        hint=f"write convert({right_text}, '{one}')",
    )


def bind_convert(binder: ExpressionBinder, node: ast.FunctionCall, arguments: list[Expression]) -> Expression:
    """The value in another unit, as plain arithmetic."""
    value, target = arguments
    assert isinstance(target, Literal)
    if target.value is None:
        return Literal(None, FLOAT)
    try:
        code = canonical_code(target.value)
    except CatalogError as error:
        binder.context.fail(error.message, node.arguments[1], detail=error.detail, hint=error.hint)
    source = unit_of(value, binder.known_unit)
    if source is None:
        binder.context.fail(
            f"the unit of {binder.text_of(node.arguments[0])} is not known",
            node.arguments[0],
            hint="declare it: CREATE STREAM river (depth INT UNIT 'cm') ...",
        )
    if not convertible(source, code):
        binder.context.fail(
            f"'{source}' cannot be converted to '{code}'",
            node,
            hint="convert between units that measure the same quantity",
        )
    from_unit, to_unit = parse_unit(source), parse_unit(code)
    converted = _converted(binder.as_float(value), from_unit, to_unit)
    binder.context.units[converted] = code
    return converted


def _converted(value: Expression, source: Unit, target: Unit) -> Expression:
    if source.steps is None and target.steps is None:
        # target = value * scale + offset: both are exact fractions and are rounded once.
        offset = target.from_base(source.to_base(Fraction(0)))
        scale = target.from_base(source.to_base(Fraction(1))) - offset
        return _plus(_scaled(value, float(scale)), float(offset))
    if source.steps is None:
        base = _plus(_scaled(value, float(source.step * source.factor)), float(source.offset * source.factor))
    else:
        exponent = _scaled(value, float(source.step) / source.steps)
        base = _scaled(Call("^", (Literal(10.0, FLOAT), exponent), FLOAT), float(source.factor))
    if target.steps is None:
        shifted = _plus(_scaled(base, float(1 / target.factor)), -float(target.offset))
        return _scaled(shifted, float(1 / target.step))
    ratio = _scaled(base, float(1 / target.factor))
    return _scaled(Call("log10", (ratio,), FLOAT), target.steps / float(target.step))


def _scaled(value: Expression, scale: float) -> Expression:
    return value if scale == 1.0 else Call("*", (value, Literal(scale, FLOAT)), FLOAT)


def _plus(value: Expression, offset: float) -> Expression:
    return value if offset == 0.0 else Call("+", (value, Literal(offset, FLOAT)), FLOAT)
