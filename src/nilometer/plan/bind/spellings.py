"""The functions of other databases that are an expression of ours: `quarter(t)` is `date_part('quarter', t)`.

A template names the arguments a, b, c and d. A function of the user's with such a name comes first.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, replace
from functools import cache
from typing import Any

from nilometer.language import ast
from nilometer.language.parser import parse_expression
from nilometer.language.vocabulary import UNIT_SPELLINGS
from nilometer.language.walk import replace_names

Arguments = tuple[ast.Expression, ...]

TEMPLATES: dict[tuple[str, int], str] = {
    # Times.
    **{
        (name, 1): f"date_part('{field}', a)"
        for name, field in {
            "quarter": "quarter",
            "week": "week",
            "weekofyear": "week",
            "dayofyear": "doy",
            "dayofmonth": "day",
            "isodow": "isodow",
            "isoyear": "isoyear",
            "millisecond": "millisecond",
        }.items()
    },
    ("dayname", 1): "to_char(a, 'Day')",
    ("monthname", 1): "to_char(a, 'Month')",
    ("age", 2): "a - b",
    ("last_day", 1): "date_trunc('month', date_trunc('month', a) + 31 DAYS) - 1 DAY",
    ("to_date", 1): "CAST(a AS DATE)",
    ("unix_timestamp", 1): "CAST(floor(epoch(a)) AS INT)",
    ("to_unixtime", 1): "epoch(a)",
    ("to_timestamp_ltz", 2): "CASE b WHEN 0 THEN to_timestamp(a) WHEN 3 THEN to_timestamp(a / 1000.0) END",
    ("timestamp_millis", 1): "to_timestamp(a / 1000.0)",
    ("timestamp_seconds", 1): "to_timestamp(a)",
    ("from_unixtime", 1): "to_char(to_timestamp(a), '%Y-%m-%d %H:%M:%S')",
    ("from_utc_timestamp", 2): "timezone(b, a)",
    ("to_utc_timestamp", 2): "to_utc(a, b)",
    # Conditions.
    ("nvl2", 3): "CASE WHEN a IS NOT NULL THEN b ELSE c END",
    ("isnull", 1): "a IS NULL",
    ("isnotnull", 1): "a IS NOT NULL",
    ("iff", 3): "if(a, b, c)",
    ("zeroifnull", 1): "coalesce(a, 0)",
    ("nullifzero", 1): "nullif(a, 0)",
    # Numbers.
    ("cot", 1): "1 / tan(a)",
    ("sinh", 1): "(exp(a) - exp(-a)) / 2",
    ("cosh", 1): "(exp(a) + exp(-a)) / 2",
    ("tanh", 1): "1 - 2 / (exp(2.0 * a) + 1)",
    ("hypot", 2): "sqrt(a * a + b * b)",
    **{("truncate", count): f"trunc(a{', b' * (count - 1)})" for count in (1, 2)},
    ("width_bucket", 4): "CASE WHEN a < b THEN 0 WHEN a >= c THEN d + 1"
    " ELSE CAST(floor((a - b) * d / (c - b)) AS INT) + 1 END",
    # Text.
    ("len", 1): "length(a)",
    ("character_length", 1): "length(a)",
    ("ucase", 1): "upper(a)",
    ("lcase", 1): "lower(a)",
    ("charindex", 2): "strpos(b, a)",
    ("locate", 2): "strpos(b, a)",
    ("mid", 3): "substring(a, b, c)",
    **{(name, 2): "regexp_like(a, b)" for name in ("rlike", "regexp")},
    ("regexp_substr", 2): "regexp_extract(a, b)",
}


def spelled(call: ast.FunctionCall) -> ast.Expression | None:
    """The call in our own words; None if it has none."""
    name, arguments = call.name.lower(), call.arguments
    if call.distinct or call.order or call.condition is not None:
        return None
    if name in _BUILT:
        found = _BUILT[name](arguments)
        return None if found is None else _placed(found, call, arguments)
    template = TEMPLATES.get((name, len(arguments)))
    if template is None:
        return None
    given = dict(zip("abcd", arguments, strict=False))
    bare = _placed(_parsed(template), call, ())
    return replace_names(bare, lambda part: given.get(part.text, part))


@cache
def _parsed(template: str) -> ast.Expression:
    return parse_expression(template)


def _placed(node: Any, call: ast.FunctionCall, arguments: Arguments) -> Any:
    """The tree with the place of the call in the text, but for its arguments."""
    if isinstance(node, tuple):
        return tuple(_placed(part, call, arguments) for part in node)
    if not isinstance(node, ast.Node) or any(node is argument for argument in arguments):
        return node
    parts = {field.name: getattr(node, field.name) for field in fields(node) if field.name != "span"}
    moved = {name: _placed(value, call, arguments) for name, value in parts.items()}
    return replace(node, **moved, span=call.span)


# ---- units of time, given as text or as a bare word ------------------------------------------------------------------


def _unit(argument: ast.Expression) -> str | None:
    """'MINUTES' of 'minute', `minute` or 'mi'."""
    match argument:
        case ast.Constant(value=str(word)) | ast.Name(parts=(word,)):
            unit = UNIT_SPELLINGS.get(word.upper())
            return unit if unit not in (None, "ROWS") else None
        case _:
            return None


def _binary(operator: str, left: ast.Expression, right: ast.Expression) -> ast.Expression:
    return ast.Binary(operator, left, right)


def _units_between(earlier: ast.Expression, later: ast.Expression, unit: str) -> ast.Expression:
    difference = _binary("/", _binary("-", later, earlier), ast.DurationConstant(1, unit))
    return ast.Cast(ast.FunctionCall("trunc", (difference,)), "INT")


def _boundaries(arguments: Arguments) -> ast.Expression | None:
    """`date_diff('hour', a, b)`: how many full hours of the clock begin between a and b."""
    unit = _unit(arguments[0]) if len(arguments) == 3 else None
    if unit is None or unit == "MICROSECONDS":
        return None
    word = ast.Constant(unit.lower().removesuffix("s"))
    earlier, later = (ast.FunctionCall("date_trunc", (word, each)) for each in arguments[1:])
    return _units_between(earlier, later, unit)


def _full_units(arguments: Arguments) -> ast.Expression | None:
    """`timestampdiff(HOUR, a, b)`: how many whole hours lie between a and b."""
    unit = _unit(arguments[0]) if len(arguments) == 3 else None
    return None if unit is None else _units_between(arguments[1], arguments[2], unit)


def _datediff(arguments: Arguments) -> ast.Expression | None:
    if len(arguments) != 2:
        return _boundaries(arguments)
    days = [ast.Cast(each, "DATE") for each in arguments]
    return _units_between(days[1], days[0], "DAYS")


def _moved(sign: str) -> Callable[[Arguments], ast.Expression | None]:
    """`date_add(t, INTERVAL 1 HOUR)`, `date_add(day, 3)`, `dateadd(HOUR, 3, t)`."""

    def build(arguments: Arguments) -> ast.Expression | None:
        if len(arguments) == 3 and (unit := _unit(arguments[0])) is not None:
            length = _binary("*", arguments[1], ast.DurationConstant(1, unit))
            return _binary(sign, arguments[2], length)
        if len(arguments) != 2:
            return None
        match arguments[1]:
            case ast.Constant(value=int(days)) if not isinstance(days, bool):
                return _binary(sign, ast.Cast(arguments[0], "DATE"), ast.DurationConstant(days, "DAYS"))
            case _:
                return _binary(sign, arguments[0], arguments[1])

    return build


def later_by_months(sum_: ast.Binary) -> ast.Expression:
    """`t + INTERVAL '1 month'` is `add_months(t, 1)`."""
    months = sum_.right
    assert isinstance(months, ast.DurationConstant)
    count = ast.Constant(months.count if sum_.operator == "+" else -months.count, span=months.span)
    return ast.FunctionCall("add_months", (sum_.left, count), span=sum_.span)


_MONDAY = ast.TimeConstant(946_857_600_000_000)
"""2000-01-03, from which TimescaleDB and DuckDB count the intervals of time_bucket."""
_CALENDAR = {1: "month", 3: "quarter", 12: "year"}


def _time_bucket(arguments: Arguments) -> ast.Expression | None:
    """`time_bucket(15 MINUTES, t)` is `date_bin(15 MINUTES, t, TIME '2000-01-03')`. A third argument is an offset, an
    origin or a time zone."""
    match arguments:
        case (ast.DurationConstant(count=count, unit="MONTHS"), moment) if count in _CALENDAR:
            return ast.FunctionCall("date_trunc", (ast.Constant(_CALENDAR[int(count)]), moment))
        case (
            ast.DurationConstant(count=count, unit="MONTHS"),
            moment,
            ast.Constant(value=str()) as zone,
        ) if count in _CALENDAR:
            return ast.FunctionCall("date_trunc", (ast.Constant(_CALENDAR[int(count)]), moment, zone))
        case (ast.DurationConstant(unit="MONTHS"), *_):
            return None
        case (width, moment):
            return ast.FunctionCall("date_bin", (width, moment, _MONDAY))
        case (width, moment, ast.DurationConstant() as offset):
            return ast.FunctionCall("date_bin", (width, moment, _binary("+", _MONDAY, offset)))
        case (ast.DurationConstant(count=1, unit="DAYS"), moment, ast.Constant(value=str()) as zone):
            return ast.FunctionCall("date_trunc", (ast.Constant("day"), moment, zone))
        case (width, moment, ast.Constant(value=str()) as zone):
            wall = ast.FunctionCall("timezone", (zone, moment))
            return ast.FunctionCall("to_utc", (ast.FunctionCall("date_bin", (width, wall, _MONDAY)), zone))
        case (width, moment, origin):
            return ast.FunctionCall("date_bin", (width, moment, origin))
        case _:
            return None


# ---- text ------------------------------------------------------------------------------------------------------------


def _repeated(arguments: Arguments) -> ast.Expression | None:
    match arguments:
        case (text, ast.Constant(value=int(count))) if not isinstance(count, bool):
            parts: ast.Expression = ast.Constant("") if count <= 0 else text
            for _ in range(min(count, _MOST_REPEATS) - 1):
                parts = _binary("||", parts, text)
            return None if count > _MOST_REPEATS else parts
        case _:
            return None


_MOST_REPEATS = 100


def _joined(arguments: Arguments) -> ast.Expression | None:
    """`concat_ws(', ', a, b)`: a NULL is left out, together with its separator."""
    if len(arguments) < 2 or not isinstance(arguments[0], ast.Constant):
        return None
    separator, *texts = arguments
    if not isinstance(separator.value, str):  # type: ignore[attr-defined]
        return None
    pieces: list[ast.Expression] = [
        ast.FunctionCall(
            "coalesce",
            (_binary("||", separator, ast.Cast(each, "STRING")), ast.Constant("")),
        )
        for each in texts
    ]
    joined = pieces[0]
    for piece in pieces[1:]:
        joined = _binary("||", joined, piece)
    behind = ast.Constant(len(separator.value) + 1)  # type: ignore[attr-defined]
    return ast.FunctionCall("substring", (joined, behind))


# Letters of Java's formats of times, as Flink and Spark write them, with those of C.
_JAVA = {
    "yyyy": "%Y",
    "uuuu": "%Y",
    "MMMM": "%B",
    "MMM": "%b",
    "MM": "%m",
    "dd": "%d",
    "HH": "%H",
    "mm": "%M",
    "ss": "%S",
    "EEEE": "%A",
    "EEE": "%a",
    "E": "%a",
    "DDD": "%j",
}


def _date_format(arguments: Arguments) -> ast.Expression | None:
    """`date_format(t, 'yyyy-MM-dd HH:mm')`, a format of Java's."""
    match arguments:
        case (moment, ast.Constant(value=str(pattern))):
            written = pattern if "%" in pattern else _of_java(pattern)
            if written is not None:
                return ast.FunctionCall("to_char", (moment, ast.Constant(written)))
    return None


def _of_java(pattern: str) -> str | None:
    """The format in C's letters; None if one of them has no such letter."""
    written, place = "", 0
    while place < len(pattern):
        letter = pattern[place]
        end = place + 1
        if letter == "'":
            end = pattern.find("'", place + 1) + 1
            if not end:
                return None
            written += pattern[place + 1 : end - 1] or "'"
        elif letter.isalpha():
            while end < len(pattern) and pattern[end] == letter:
                end += 1
            known = _JAVA.get(pattern[place:end])
            if known is None:
                return None
            written += known
        else:
            written += letter
        place = end
    return written


_BUILT: dict[str, Callable[[Arguments], ast.Expression | None]] = {
    "time_bucket": _time_bucket,
    "date_diff": _boundaries,
    "datediff": _datediff,
    "timestampdiff": _full_units,
    "date_sub": lambda arguments: _full_units(arguments) if len(arguments) == 3 else _moved("-")(arguments),
    "date_add": _moved("+"),
    "dateadd": _moved("+"),
    "timestampadd": _moved("+"),
    "repeat": _repeated,
    "concat_ws": _joined,
    "date_format": _date_format,
}
"""Calls whose form depends on their arguments, by name; None where the arguments have no such form."""
