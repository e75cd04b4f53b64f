"""Binds the calls of scalar functions that need more than their types: constants are checked, shorthands
written out.

A shorthand becomes the function that it stands for (`hour(t)` is `date_part('hour', t)`), so that the hosts
have fewer functions to agree on. Zones, fields, formats and patterns are constants and are checked here: no
row can make them fail.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

from nilometer.algebra.regular_expression import parse_pattern, parse_replacement
from nilometer.algebra.text_format import parse_text_format
from nilometer.algebra.time_format import parse_format, reading_pattern
from nilometer.catalog import functions
from nilometer.expressions import Call, Case, Expression, Literal, type_of
from nilometer.language import ast
from nilometer.plan.bind.places import bind_distance
from nilometer.plan.bind.scope import nearest
from nilometer.plan.bind.units import bind_convert
from nilometer.time_zones import CALENDAR, FIXED, is_zone, zone_names
from nilometer.types import BOOLEAN, FLOAT, INT, STRING, TIME, Kind

if TYPE_CHECKING:
    from nilometer.plan.bind.expressions import ExpressionBinder

Arguments = list[Expression]
Form = Callable[["ExpressionBinder", ast.FunctionCall, Arguments], Expression]

LONGEST_PADDING = 10_000
MOST_MONTHS = 120_000

_UNITS = tuple(unit.lower() for unit in (*FIXED, *CALENDAR))
_FIELDS = (*_UNITS, "dow", "isodow", "doy", "isoyear", "epoch")
_SPELLINGS = {"day_of_week": "isodow", "dayofweek": "dow", "day_of_year": "doy", "dayofyear": "doy"}


def check_constants(
    binder: ExpressionBinder,
    node: ast.FunctionCall,
    signature: functions.FunctionSignature,
    arguments: Arguments,
) -> None:
    """Refuses a column where only a constant can stand."""
    for index, place in enumerate((*signature.arguments, *signature.optional)):
        if place.constant and index < len(arguments) and not isinstance(arguments[index], Literal):
            binder.context.fail(
                f"{signature.name} takes {place.text} as argument {index + 1}, not a value that changes",
                node.arguments[index],
                hint=f"for example {signature.example}",
            )


# ---- shorthands ------------------------------------------------------------------------------------------------------


def _nullif(binder: ExpressionBinder, node: ast.FunctionCall, arguments: Arguments) -> Expression:
    value, other = arguments
    equal = binder.compare(node, "=", value, other)
    return Case((equal,), (Literal(None, type_of(value)),), value, type_of(value))


def _if(binder: ExpressionBinder, node: ast.FunctionCall, arguments: Arguments) -> Expression:
    condition, *arms = arguments
    value, otherwise = binder.unify(arms, list(node.arguments[1:]))
    return Case((condition,), (value,), otherwise, type_of(otherwise))


def _log(_binder: ExpressionBinder, _node: ast.FunctionCall, arguments: Arguments) -> Expression:
    if len(arguments) == 1:
        return Call("log10", tuple(arguments), FLOAT)
    base, value = arguments
    if isinstance(base, Literal) and base.value in (2.0, 10.0):
        return Call("log2" if base.value == 2.0 else "log10", (value,), FLOAT)
    return Call("/", (Call("ln", (value,), FLOAT), Call("ln", (base,), FLOAT)), FLOAT)


def _times(factor: float) -> Form:
    return lambda _binder, _node, arguments: Call("*", (arguments[0], Literal(factor, FLOAT)), FLOAT)


def _part(field: str) -> Form:
    return lambda _binder, _node, arguments: Call("date_part", (Literal(field, STRING), arguments[0]), INT)


# ---- times -----------------------------------------------------------------------------------------------------------


def _date_part(binder: ExpressionBinder, node: ast.FunctionCall, arguments: Arguments) -> Expression:
    field = _field(binder, node, arguments[0], _FIELDS)
    if field is None:
        return Literal(None, INT)
    if field == "epoch":
        return Call("epoch", (arguments[1],), FLOAT)
    return Call("date_part", (Literal(field, STRING), arguments[1]), INT)


def _date_trunc(binder: ExpressionBinder, node: ast.FunctionCall, arguments: Arguments) -> Expression:
    unit = _field(binder, node, arguments[0], _UNITS)
    zone = _zone(binder, node.arguments[2], arguments[2]) if len(arguments) == 3 else ()
    if unit is None or zone is None:
        return Literal(None, TIME)
    return Call("date_trunc", (Literal(unit, STRING), arguments[1], *zone), TIME)


def _field(
    binder: ExpressionBinder, node: ast.FunctionCall, argument: Expression, known: tuple[str, ...]
) -> str | None:
    assert isinstance(argument, Literal)
    if argument.value is None:
        return None
    written = str(argument.value).lower().strip()
    plural = written.removesuffix("s")
    field = _SPELLINGS.get(written, plural if plural in known else written)
    if field not in known:
        binder.context.fail(
            f"no field '{argument.value}' of a time",
            node.arguments[0],
            detail=f"the fields are {', '.join(known)}",
            hint=nearest(written, known),
        )
    return field


def _zone(binder: ExpressionBinder, place: ast.Expression, argument: Expression) -> tuple[Literal] | None:
    assert isinstance(argument, Literal)
    if argument.value is None:
        return None
    name = str(argument.value)
    if not is_zone(name):
        known = nearest(name, zone_names()) if "/" in name else None
        binder.context.fail(
            f"no time zone '{name}'", place, hint=known or "name a city of the zone, such as 'Europe/Zurich'"
        )
    return (Literal(name, STRING),)


def _timezone(binder: ExpressionBinder, node: ast.FunctionCall, arguments: Arguments) -> Expression:
    zone = _zone(binder, node.arguments[0], arguments[0])
    return Literal(None, TIME) if zone is None else Call("timezone", (*zone, arguments[1]), TIME)


def _to_utc(binder: ExpressionBinder, node: ast.FunctionCall, arguments: Arguments) -> Expression:
    zone = _zone(binder, node.arguments[1], arguments[1])
    return Literal(None, TIME) if zone is None else Call("to_utc", (arguments[0], *zone), TIME)


def _date_bin(binder: ExpressionBinder, node: ast.FunctionCall, arguments: Arguments) -> Expression:
    width = arguments[0]
    assert isinstance(width, Literal)
    if width.value is None:
        return Literal(None, TIME)
    if width.value <= 0:
        binder.context.fail(
            "an interval of date_bin is longer than 0", node.arguments[0], hint=_example(node)
        )
    origin = arguments[2] if len(arguments) == 3 else Literal(0, TIME)
    return Call("date_bin", (width, arguments[1], origin), TIME)


def _add_months(binder: ExpressionBinder, node: ast.FunctionCall, arguments: Arguments) -> Expression:
    moment, count = arguments
    assert isinstance(count, Literal)
    if count.value is None:
        return Literal(None, TIME)
    if abs(count.value) > MOST_MONTHS:
        binder.context.fail(f"add_months takes at most {MOST_MONTHS:,} months", node.arguments[1])
    return Call("add_months", (moment, count), TIME)


def _to_char(binder: ExpressionBinder, node: ast.FunctionCall, arguments: Arguments) -> Expression:
    _checked(binder, node, 1, arguments[1], parse_format)
    return Call("to_char", tuple(arguments), STRING)


def _to_timestamp(binder: ExpressionBinder, node: ast.FunctionCall, arguments: Arguments) -> Expression:
    value = arguments[0]
    if type_of(value).kind is Kind.STRING and len(arguments) == 1:
        return Call("cast_time", (value,), TIME)
    if len(arguments) == 2:
        if type_of(value).kind is not Kind.STRING:
            binder.context.fail(
                "a format is for text, not for a number", node.arguments[1], hint="leave the format out"
            )
        _checked(binder, node, 1, arguments[1], lambda text: reading_pattern(parse_format(text)))
    return Call("to_timestamp", tuple(arguments), TIME)


def _checked(
    binder: ExpressionBinder,
    node: ast.FunctionCall,
    index: int,
    argument: Expression,
    check: Callable[[str], object],
) -> None:
    """Lets `check` refuse a constant text, the argument of that index."""
    if not isinstance(argument, Literal) or argument.value is None:
        return
    try:
        check(str(argument.value))
    except ValueError as error:
        binder.context.fail(str(error), node.arguments[index], hint=_example(node))


def _example(node: ast.FunctionCall) -> str:
    signature = functions.resolve(node.name)
    assert signature is not None
    return f"for example {signature.example}"


# ---- text ------------------------------------------------------------------------------------------------------------


def _pad(name: str) -> Form:
    def bind(binder: ExpressionBinder, node: ast.FunctionCall, arguments: Arguments) -> Expression:
        length = arguments[1]
        assert isinstance(length, Literal)
        if length.value is not None and length.value > LONGEST_PADDING:
            binder.context.fail(
                f"{name} makes texts of at most {LONGEST_PADDING:,} characters",
                node.arguments[1],
                hint=_example(node),
            )
        return Call(name, tuple(arguments), STRING)

    return bind


def _regexp(name: str) -> Form:
    def bind(binder: ExpressionBinder, node: ast.FunctionCall, arguments: Arguments) -> Expression:
        result = BOOLEAN if name == "regexp_like" else STRING
        constants = [a.value for a in arguments[1:] if isinstance(a, Literal)]
        if None in constants:
            return Literal(None, result)
        _checked(binder, node, 1, arguments[1], parse_pattern)
        groups = parse_pattern(constants[0]).groups
        if name == "regexp_extract" and len(constants) == 2 and not 0 <= constants[1] <= groups:
            binder.context.fail(
                f"the pattern has {groups} groups, so there is no group {constants[1]}",
                node.arguments[2],
                hint="group 0 is the whole match",
            )
        if name == "regexp_replace":
            _checked(binder, node, 2, arguments[2], lambda text: parse_replacement(text, groups))
        if name != "regexp_extract" and len(constants) == (3 if name == "regexp_replace" else 2):
            allowed = "ig" if name == "regexp_replace" else "i"
            if not set(constants[-1]) <= set(allowed):
                flags = " and ".join(f"'{flag}'" for flag in allowed)
                binder.context.fail(
                    f"the flags of {name} are {flags}", node.arguments[-1], hint=_example(node)
                )
        return Call(name, tuple(arguments), result)

    return bind


def _format(binder: ExpressionBinder, node: ast.FunctionCall, arguments: Arguments) -> Expression:
    """Every place gets an argument of its own, and those without a specification become text."""
    template, *values = arguments
    assert isinstance(template, Literal)
    if template.value is None:
        return Literal(None, STRING)
    try:
        pieces = parse_text_format(template.value, len(values))
    except ValueError as error:
        binder.context.fail(str(error), node.arguments[0], hint=_example(node))
    written, placed = "", []
    for text, index, specification in pieces:
        written += text.replace("{", "{{").replace("}", "}}")
        if index is None:
            continue
        written += "{:" + specification + "}" if specification else "{}"
        placed.append(_formatted(binder, node.arguments[index + 1], values[index], specification))
    if not placed:
        return Literal("".join(text for text, _, _ in pieces), STRING)
    return Call("format", (Literal(written, STRING), *placed), STRING)


def _formatted(
    binder: ExpressionBinder, place: ast.Expression, value: Expression, specification: str
) -> Expression:
    if not specification:
        return binder.as_text(value)
    sample = {Kind.INT: 1, Kind.FLOAT: 1.0, Kind.STRING: "a", Kind.NULL: 1}.get(type_of(value).kind)
    try:
        if sample is None:
            raise ValueError
        format(sample, specification)
    except ValueError:
        binder.context.fail(
            f"'{{:{specification}}}' cannot write a value of type {type_of(value)}",
            place,
            hint="write {} for the value as it is, {:.2f} for a number, {:8} for a width",
        )
    return value


FORMS: dict[str, Form] = {
    "distance": bind_distance,
    "nullif": _nullif,
    "if": _if,
    "log": _log,
    "degrees": _times(180.0 / math.pi),
    "radians": _times(math.pi / 180.0),
    "pi": lambda _binder, _node, _arguments: Literal(math.pi, FLOAT),
    **{name: _part(name) for name in ("year", "month", "day", "hour", "minute", "second")},
    "day_of_week": _part("isodow"),
    "date_part": _date_part,
    "date_trunc": _date_trunc,
    "date_bin": _date_bin,
    "add_months": _add_months,
    "timezone": _timezone,
    "to_utc": _to_utc,
    "to_char": _to_char,
    "to_timestamp": _to_timestamp,
    "lpad": _pad("lpad"),
    "rpad": _pad("rpad"),
    "regexp_like": _regexp("regexp_like"),
    "regexp_replace": _regexp("regexp_replace"),
    "regexp_extract": _regexp("regexp_extract"),
    "format": _format,
    "convert": bind_convert,
}
"""The functions that are bound here, by name."""
