"""Bound expressions -> C: a value with the condition under which it is NULL; a predicate as "is true" and "is
false".

The meaning is that of `plan.scalar`. An expression that a mote cannot compute as the reference does is
refused, not approximated, except for the precision of `float` (see `values`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from nilometer.errors import UnsupportedError
from nilometer.expressions import (
    COMPARISONS,
    Call,
    Case,
    ColumnReference,
    Expression,
    InList,
    Literal,
    Now,
    type_of,
)
from nilometer.plan import physical
from nilometer.sensornet.motes.values import TIME_FIELD, CType, Field, Value, either, integer, real
from nilometer.types import BOOLEAN, Kind

Row = Mapping[str, Value]
"""The columns in scope, by name. `@now` is the number of the evaluation."""

NOW = "@now"


def conditions_of(node: physical.Node) -> list[Expression]:
    """The conditions that an operator tests on a row, or on a pair of rows."""
    match node:
        case physical.Select(predicate=predicate) | physical.NlJoin(predicate=predicate):
            return [] if predicate is None else [predicate]
        case physical.HashJoin(keys=keys, residual=residual):
            same: list[Expression] = [Call("=", pair, BOOLEAN) for pair in keys]
            return same if residual is None else [*same, residual]
    return []


def value_of(expression: Expression, row: Row) -> Value:
    """The value of a scalar expression."""
    match expression:
        case Literal(value=None):
            raise _refused(expression, "a constant NULL")
        case Literal(value=constant, type=type_) if type_.kind is Kind.INT:
            return Value(_integer_text(constant), integer(constant, constant, str(expression)))
        case Literal(value=constant, type=type_) if type_.kind is Kind.FLOAT:
            return Value(_float_text(float(constant)), real(constant, constant, str(expression)))
        case ColumnReference(name=name):
            return row[name]
        case Now():
            return row[NOW]
        case Case():
            return _case(expression, row)
        case Call(type=type_) if type_.kind in (Kind.INT, Kind.FLOAT):
            return _call(expression, row)
        case _ if type_of(expression).kind is Kind.BOOLEAN:
            true, false = is_true(expression, row), is_false(expression, row)
            return Value(f"({true})", Field(CType.BYTE, 0, 1, True), f"!(({true}) || ({false}))")
    raise _refused(expression, f"a {type_of(expression).kind}")


def is_true(predicate: Expression, row: Row) -> str:
    """The C condition that the predicate is true (and not NULL)."""
    return _truth(predicate, row, True)


def is_false(predicate: Expression, row: Row) -> str:
    """The C condition that the predicate is false (and not NULL)."""
    return _truth(predicate, row, False)


def _truth(predicate: Expression, row: Row, wanted: bool) -> str:
    match predicate:
        case Literal(value=constant):
            return "1" if constant is wanted else "0"
        case Call("and" | "or" as word, arguments):
            parts = [f"({_truth(part, row, wanted)})" for part in arguments]
            return (" && " if (word == "and") == wanted else " || ").join(parts)
        case Call("not", (inner,)):
            return _truth(inner, row, not wanted)
        case Call("is_null", (inner,)):
            null = value_of(inner, row).null or "0"
            return f"({null})" if wanted else f"!({null})"
        case Call(symbol, (left, right)) if symbol in COMPARISONS:
            return _comparison(
                symbol if wanted else _OPPOSITE[symbol], value_of(left, row), value_of(right, row)
            )
        case InList(operand=operand, items=items):
            value = value_of(operand, row)
            tests = [_comparison("=" if wanted else "!=", value, value_of(item, row)) for item in items]
            return (" || " if wanted else " && ").join(f"({test})" for test in tests)
    raise _refused(predicate, "this condition")


_OPPOSITE = {"=": "!=", "!=": "=", "<": ">=", "<=": ">", ">": "<=", ">=": "<"}


def _comparison(symbol: str, left: Value, right: Value) -> str:
    test = f"{left.text} {'==' if symbol == '=' else symbol} {right.text}"
    nulls = [null for null in (left.null, right.null) if null is not None]
    return f"!({either(nulls)}) && {test}" if nulls else test


def _case(expression: Case, row: Row) -> Value:
    arms = (*expression.values, expression.otherwise)
    nulls = [isinstance(arm, Literal) and arm.value is None for arm in arms]
    if all(nulls):
        raise _refused(expression, "a constant NULL")
    found = [value_of(arm, row) for arm, null in zip(arms, nulls, strict=True) if not null]
    field = joined([value.field for value in found], str(expression))
    field = replace(field, nullable=field.nullable or any(nulls))
    others = iter(found)
    values = [Value("0", field, "1") if null else next(others) for null in nulls]
    text, null = f"({values[-1].text})", values[-1].null or "0"
    for condition, value in zip(reversed(expression.conditions), reversed(values[:-1]), strict=True):
        true = is_true(condition, row)
        text = f"({true} ? ({field.ctype})({value.text}) : {text})"
        null = f"({true} ? ({value.null or '0'}) : {null})"
    return Value(text, field, null if field.nullable else None)


def joined(fields: list[Field], what: str) -> Field:
    """A field that can hold values of any of these fields."""
    low, high = min(f.low for f in fields), max(f.high for f in fields)
    nullable = any(f.nullable for f in fields)
    if all(f.is_time for f in fields):
        return Field(CType.NUMBER, nullable=nullable)
    if any(f.ctype is CType.FLOAT for f in fields):
        return real(low, high, what, nullable=nullable)
    return integer(int(low), int(high), what, nullable=nullable)


def _call(call: Call, row: Row) -> Value:
    arguments = [value_of(argument, row) for argument in call.arguments]
    if any(value.field is TIME_FIELD or value.field.is_time for value in arguments):
        raise _refused(call, "arithmetic with times")
    nulls = [value.null for value in arguments if value.null is not None]
    low, high = _range(call, [value.field for value in arguments])
    texts = [value.text for value in arguments]
    match call.function:
        case "/" | "%" | "mod" if not _never_zero(arguments[1].field):
            nulls.append(f"{texts[1]} == 0")
        case "sqrt" if arguments[0].field.low < 0:
            nulls.append(f"{texts[0]} < 0")
    make = real if call.type.kind is Kind.FLOAT else integer
    field = make(low, high, str(call), nullable=bool(nulls))
    null = either(nulls) if nulls else None
    return Value(_text(call, texts, field, null), field, null)


def _text(call: Call, texts: list[str], field: Field, null: str | None) -> str:
    wide = f"({field.ctype})"
    match call.function:
        case "+" | "-" | "*" as symbol:
            return f"({wide}{texts[0]} {symbol} {texts[1]})"
        case "/" | "%" | "mod" as name:
            # The operands are not narrowed to the result's type first: the wider of the two decides.
            division = f"{texts[0]} {'/' if name == '/' else '%'} {texts[1]}"
            return f"({division})" if null is None else f"({null} ? 0 : {division})"
        case "negative":
            return f"(-{wide}{texts[0]})"
        case "float":
            return f"((float){texts[0]})"
        case "abs":
            return f"({texts[0]} < 0 ? -{wide}{texts[0]} : {wide}{texts[0]})"
        case "sqr":
            return f"({wide}{texts[0]} * {texts[0]})"
        case "sqrt":
            return f"sqrt({texts[0]})"
    raise _refused(call, f"the function {call.function}")


def _range(call: Call, fields: list[Field]) -> tuple[int, int]:
    """The least and the greatest result; for FLOATs, too, as a bound on overflow."""
    corners = [(f.low, f.high) for f in fields]
    match call.function:
        case "+":
            result = corners[0][0] + corners[1][0], corners[0][1] + corners[1][1]
        case "-":
            result = corners[0][0] - corners[1][1], corners[0][1] - corners[1][0]
        case "*":
            products = [a * b for a in corners[0] for b in corners[1]]
            result = min(products), max(products)
        case "sqr":
            squares = [corner * corner for corner in corners[0]]
            result = 0 if corners[0][0] <= 0 <= corners[0][1] else min(squares), max(squares)
        case "/" if call.type.kind is Kind.INT:
            most = max(abs(corner) for corner in corners[0])
            result = -most, most
        case "/" if _never_zero(fields[1]):
            quotients = [a / b for a in corners[0] for b in corners[1]]
            result = min(quotients), max(quotients)
        case "%" | "mod" if call.type.kind is Kind.INT:
            most = max(abs(corner) for corner in corners[1])
            result = -most, most
        case "negative":
            result = -corners[0][1], -corners[0][0]
        case "abs":
            most = max(abs(corner) for corner in corners[0])
            result = 0, most
        case "float":
            result = corners[0]
        case "sqrt":
            result = 0, max(corners[0][1], 0) ** 0.5
        case _:
            raise _refused(call, f"the function {call.function}")
    return result  # type: ignore[return-value]  # whole for INT: sums and products of whole numbers


def _never_zero(field: Field) -> bool:
    return field.low > 0 or field.high < 0


def _integer_text(constant: int) -> str:
    return f"{constant}" if -(2**15) < constant < 2**15 else f"{constant}L"


def _float_text(constant: float) -> str:
    return f"{constant!r}f" if constant >= 0 else f"({constant!r}f)"


def _refused(expression: Expression, what: str) -> UnsupportedError:
    return UnsupportedError(
        f"a mote cannot compute {what}", detail=f"in {expression}", hint="leave it to the gateway"
    )
