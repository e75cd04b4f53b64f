"""Prints bound expressions as plan text and reads them back: `read(parse(print_expression(e)), schema) == e`.

The text is `str(expression)`, so that a plan reads like a query. `str` would lose some details: the type of a
NULL, an empty IN list, a list, text with line ends. These are written as calls of names that no function has.
Names that are not plain words stand in double quotes.

>>> from nilometer.language import parse_expression
>>> from nilometer.types import INT, Column, Schema
>>> schema = Schema((Column("R.depth", INT),))
>>> bound = read_expression(parse_expression("R.depth > 10 AND NOT R.depth = null_int()"), schema)
>>> print_expression(bound)
'R.depth > 10 AND (NOT R.depth = null_int())'
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

from nilometer.algebra import SortKey
from nilometer.catalog import functions
from nilometer.errors import NilometerError
from nilometer.expressions import (
    ARITHMETIC,
    CASTS,
    COMPARISONS,
    Aggregate,
    Call,
    Case,
    ColumnReference,
    Expression,
    InList,
    Literal,
    Now,
    python_type,
    transform,
    type_of,
)
from nilometer.language import ast
from nilometer.language.vocabulary import is_reserved
from nilometer.types import (
    BOOLEAN,
    DURATION,
    FLOAT,
    INT,
    NESTED,
    NULL,
    POINT,
    STRING,
    TIME,
    UNITS,
    Kind,
    Schema,
    Type,
    list_of,
    vector_of,
)

_WORD = r"[^\W\d]\w*"
_NAME = re.compile(rf"{_WORD}(?:\.{_WORD}){{0,2}}\Z")
_LINE_ENDS = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\\]")

_NULLS = {f"null_{kind.lower()}": Type(kind) for kind in Kind if kind not in (Kind.NULL, *NESTED)}


class PlanTextError(NilometerError):
    """A plan text that cannot be read."""


# ---- out -------------------------------------------------------------------------------------------------------------


def print_name(name: str) -> str:
    """A column, alias or extent as the language would take it."""
    if _NAME.match(name) and not is_reserved(name.split(".")[0]):
        return name
    return '"' + name.replace('"', '""') + '"'


def print_expression(expression: Expression) -> str:
    """The text of a bound expression."""
    return str(transform(expression, _escape))


def print_sort_key(key: SortKey) -> str:
    """The text of a key of ORDER BY."""
    text = print_expression(key.expression)
    return text + (" DESC" if key.descending else "") + (" NULLS FIRST" if key.nulls_first else "")


def _escape(node: Expression) -> Expression:
    match node:
        case ColumnReference(name, type_):
            return ColumnReference(print_name(name), type_)
        case Literal(None, Type(element=Type() as element, size=int() as size) as type_):
            return Call(f"null_{element.kind.lower()}_vector", (Literal(size, INT),), type_)
        case Literal(None, type_) if type_.kind is not Kind.NULL:
            return Call(f"null_{type_.kind.lower()}", (), type_)
        case Literal(tuple() as items, Type(kind=Kind.LIST) as type_):
            return Call("list", items, type_)
        case Literal(str() as value, type_) if _LINE_ENDS.search(value):
            return Call("unescape", (Literal(value.encode("unicode_escape").decode(), STRING),), type_)
        case Literal(int() as value, Type(kind=Kind.FLOAT) as type_):
            return Literal(float(value), type_)
        case Call("negative", (Literal(),)):
            return replace(node, function="negate")
        case InList(operand, ()):
            return Call("in_nothing", (operand,), BOOLEAN)
        case _:
            return node


# ---- in --------------------------------------------------------------------------------------------------------------


def read_expression(tree: ast.Expression, schema: Schema) -> Expression:
    """Builds the bound expression of a syntax tree, node for node; columns are those of the schema."""

    def read(node: ast.Expression) -> Expression:
        match node:
            case ast.Constant(value=value):
                return Literal(value, _constant_type(value))
            case ast.TimeConstant(microseconds=value):
                return Literal(value, TIME)
            case ast.PointConstant(x=x, y=y):
                return Literal((x, y), POINT)
            case ast.DurationConstant():
                return Literal(read_duration(node), DURATION)
            case ast.NowConstant():
                return Now()
            case ast.Name():
                if node.text not in schema:
                    raise PlanTextError(f"no column '{node.text}' in ({schema})")
                return ColumnReference(node.text, schema[node.text].type.plain)
            case ast.Unary("NOT", operand):
                return Call("not", (read(operand),), BOOLEAN)
            case ast.Unary(_, operand):
                bound = read(operand)
                return Call("negative", (bound,), type_of(bound))
            case ast.Binary("AND" | "OR" as word, left, right):
                return _read_logical(word, left, right, read)
            case ast.Binary("IS DISTINCT FROM", left, right):
                return Call("is_distinct", (read(left), read(right)), BOOLEAN)
            case ast.Binary(operator, left, right):
                return _binary(operator, read(left), read(right))
            case ast.Cast(operand, type_, None, safe):
                return _read_cast(read(operand), type_, safe)
            case ast.IsNull(operand, negated):
                return _negated(Call("is_null", (read(operand),), BOOLEAN), negated)
            case ast.Like(operand, pattern, negated):
                return _negated(Call("like", (read(operand), read(pattern)), BOOLEAN), negated)
            case ast.In(operand, items, negated):
                return _negated(_read_in(read(operand), [read(item) for item in items]), negated)
            case ast.Case(None, whens, otherwise) if otherwise is not None:
                conditions = tuple(read(condition) for condition, _ in whens)
                values = tuple(read(value) for _, value in whens)
                last = read(otherwise)
                return Case(conditions, values, last, type_of(last))
            case ast.FunctionCall(name, (ast.Star(),)) if name.lower() == "count":
                return Aggregate("count", None, False, INT)
            case ast.FunctionCall(name, arguments, distinct):
                return _read_call(name.lower(), tuple(read(argument) for argument in arguments), distinct)
            case _:
                raise PlanTextError(f"{type(node).__name__} cannot stand in a plan")

    return read(tree)


def read_duration(tree: ast.Expression) -> int:
    """A duration in microseconds, or a number of rows."""
    if not isinstance(tree, ast.DurationConstant):
        raise PlanTextError("a duration was expected")
    return round(tree.count * UNITS.get(tree.unit, 1))


def _constant_type(value: object) -> Type:
    match value:
        case None:
            return NULL
        case bool():
            return BOOLEAN
        case int():
            return INT
        case float():
            return FLOAT
        case _:
            return STRING


def _negated(expression: Expression, negated: bool) -> Expression:
    return Call("not", (expression,), BOOLEAN) if negated else expression


def _read_logical(
    word: str, left: ast.Expression, right: ast.Expression, read: Callable[[ast.Expression], Expression]
) -> Expression:
    """The tree of `a AND b AND c` nests to the left; the bound expression is one call."""
    parts = [read(right)]
    while isinstance(left, ast.Binary) and left.operator == word:
        parts.append(read(left.right))
        left = left.left
    parts.append(read(left))
    return Call(word.lower(), tuple(reversed(parts)), BOOLEAN)


def _binary(operator: str, left: Expression, right: Expression) -> Expression:
    if operator in COMPARISONS:
        return Call(operator, (left, right), BOOLEAN)
    if operator not in ARITHMETIC:
        raise PlanTextError(f"'{operator}' cannot stand in a plan")
    kinds = (type_of(left).kind, type_of(right).kind)
    if operator == "^":
        return Call(operator, (left, right), FLOAT)
    if kinds == (Kind.TIME, Kind.TIME):
        return Call(operator, (left, right), DURATION)
    return Call(operator, (left, right), type_of(right if kinds[1] is Kind.VECTOR else left).plain)


def _read_cast(operand: Expression, name: str, safe: bool) -> Expression:
    if name == "STRING" and not safe:
        return Call("string", (operand,), STRING)
    function = next((cast for cast, type_ in CASTS.items() if type_ == name), None)
    if function is None:
        raise PlanTextError(f"a cast to {name} cannot stand in a plan")
    return Call(f"try_{function}" if safe else function, (operand,), Type(Kind(name)))


def _read_in(operand: Expression, items: list[Expression]) -> Expression:
    literals: list[Literal] = []
    for item in items:
        if not isinstance(item, Literal):
            raise PlanTextError(f"IN takes constants in a plan, not {item}")
        literals.append(Literal(None, type_of(operand).plain) if item.value is None else item)
    return InList(operand, tuple(literals))


def _read_call(name: str, arguments: tuple[Expression, ...], distinct: bool) -> Expression:
    match name, arguments:
        case _, () if name in _NULLS:
            return Literal(None, _NULLS[name])
        case "null_int_vector" | "null_float_vector", (Literal(int() as size),):
            return Literal(None, vector_of(INT if "int" in name else FLOAT, size))
        case "list", _:
            items = tuple(item for item in arguments if isinstance(item, Literal))
            element = next((item.type for item in items if item.type != NULL), NULL)
            return Literal(items, list_of(element))
        case "unescape", (Literal(str() as text),):
            return Literal(text.encode("latin-1", "backslashreplace").decode("unicode_escape"), STRING)
        case "negate", (operand,):
            return Call("negative", (operand,), type_of(operand))
        case "in_nothing", (operand,):
            return InList(operand, ())
        case "float", (operand,) if type_of(operand).kind is Kind.VECTOR:
            return Call("float", (operand,), vector_of(FLOAT, type_of(operand).size or 1))
        case "float", (operand,):
            return Call("float", (operand,), FLOAT)
        case "grid_back", _:
            return Call("grid_back", arguments, TIME)
        case "python", (Literal(str()), Literal(str() as returns), *_):
            return Call("python", arguments, python_type(returns))
    signature = functions.resolve(name)
    if signature is None:
        raise PlanTextError(f"no function '{name}'")
    aggregate = signature.kind is functions.FunctionKind.AGGREGATE
    # Behind the arguments of an aggregate stand the columns that order its rows.
    own = arguments[: signature.most] if aggregate else arguments
    try:
        constants = tuple(a.value if isinstance(a, Literal) else None for a in own)
        result = signature.result(tuple(type_of(argument) for argument in own), constants)
    except ValueError as error:
        raise PlanTextError(str(error)) from None
    if aggregate:
        return Aggregate(signature.name, arguments[0], distinct, result, arguments[1:])
    return Call(signature.name, arguments, result)
