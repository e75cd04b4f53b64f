"""Functions of text as Polars expressions; plan/scalars/texts.py says what they mean."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any

import polars as pl

from nilometer.algebra.regular_expression import parse_pattern, parse_replacement
from nilometer.algebra.text_format import parse_text_format
from nilometer.expressions import Call, Literal, type_of
from nilometer.operators.evaluate.functions import Builder, by_distinct_value, full_length
from nilometer.types import Kind

_FAR = 2**31
"""No text is longer, so a position beyond it is outside of any."""


def constant(call: Call, index: int, default: Any = None) -> Any:
    """The value of an argument that must be a constant."""
    if index >= len(call.arguments):
        return default
    argument = call.arguments[index]
    assert isinstance(argument, Literal)
    return argument.value


def _strict(builder: Builder) -> Builder:
    """NULL where any operand is; Polars' own methods at times take a NULL for nothing."""

    def build(call: Call, operands: Sequence[pl.Expr]) -> pl.Expr:
        known = reduce(pl.Expr.and_, (operand.is_not_null() for operand in operands))
        return pl.when(known).then(builder(call, operands))

    return build


def _substring(_call: Call, operands: Sequence[pl.Expr]) -> pl.Expr:
    text, start = operands[0], operands[1].clip(-_FAR, _FAR)
    first = start.clip(1)
    if len(operands) == 2:
        return text.str.slice(first - 1)
    end = start + operands[2].clip(-_FAR, 2 * _FAR)
    return text.str.slice(first - 1, (end - first).clip(0).cast(pl.UInt64))


def _replace(_call: Call, operands: Sequence[pl.Expr]) -> pl.Expr:
    text, old, new = operands
    return pl.when(old == "").then(text).otherwise(text.str.split(old).list.join(new))


def _trim(method: Callable[[pl.Expr, Any], pl.Expr]) -> Builder:
    def build(_call: Call, operands: Sequence[pl.Expr]) -> pl.Expr:
        characters = operands[1] if len(operands) == 2 else pl.lit(" ")
        return pl.when(characters == "").then(operands[0]).otherwise(method(operands[0], characters))

    return _strict(build)


def _split_part(_call: Call, operands: Sequence[pl.Expr]) -> pl.Expr:
    text, separator, number = operands
    parts = pl.when(separator == "").then(pl.concat_list(text)).otherwise(text.str.split(separator))
    index = pl.when(number > 0).then(number - 1).otherwise(number).clip(-_FAR, _FAR)
    found = parts.list.get(index, null_on_oob=True).fill_null("")
    return pl.when(number == 0).then(pl.lit("")).otherwise(found)


def _strpos(_call: Call, operands: Sequence[pl.Expr]) -> pl.Expr:
    text, sought = operands
    before = text.str.split(sought)
    position = before.list.first().str.len_chars().cast(pl.Int64) + 1
    return pl.when(sought == "").then(1).when(before.list.len() > 1).then(position).otherwise(0)


def _end(method: Callable[[pl.Expr, Any], pl.Expr]) -> Builder:
    """LEFT and RIGHT. Polars, too, takes a negative count for all but so many."""
    return lambda _, operands: method(operands[0], operands[1].clip(-_FAR, _FAR))


def _pad(before: bool) -> Builder:
    def build(call: Call, operands: Sequence[pl.Expr]) -> pl.Expr:
        text, length, fill = operands[0], max(constant(call, 1), 0), constant(call, 2, " ")
        cut = text.str.head(length)
        if not fill or not length:
            return cut
        missing = (length - text.str.len_chars().cast(pl.Int64)).clip(0)
        filling = (fill * (length // len(fill) + 1))[:length]
        padding = pl.when(text.is_not_null()).then(pl.lit(filling)).str.head(missing)
        return pl.concat_str(padding, cut) if before else pl.concat_str(cut, padding)

    return build


def _rust(call: Call, flags: str) -> str:
    return parse_pattern(constant(call, 1), "i" in flags).rust


def _regexp_like(call: Call, operands: Sequence[pl.Expr]) -> pl.Expr:
    return operands[0].str.contains(_rust(call, constant(call, 2, "")))


def _regexp_replace(call: Call, operands: Sequence[pl.Expr]) -> pl.Expr:
    flags = constant(call, 3, "")
    parts = parse_replacement(constant(call, 2), parse_pattern(constant(call, 1)).groups)
    value = "".join(f"${{{part}}}" if isinstance(part, int) else part.replace("$", "$$") for part in parts)
    text = operands[0].str
    return (
        text.replace_all(_rust(call, flags), value)
        if "g" in flags
        else text.replace(_rust(call, flags), value)
    )


def _regexp_extract(call: Call, operands: Sequence[pl.Expr]) -> pl.Expr:
    return operands[0].str.extract(_rust(call, ""), constant(call, 2, 0))


def _format(call: Call, operands: Sequence[pl.Expr]) -> pl.Expr:
    parts: list[pl.Expr] = []
    for text, index, specification in parse_text_format(constant(call, 0), len(operands) - 1):
        parts.append(pl.lit(text))
        if index is not None:
            argument = call.arguments[index + 1]
            value = full_length(argument, operands[index + 1])
            written = specification and by_distinct_value(value, _writer(specification, argument))
            parts.append(written if isinstance(written, pl.Expr) else value)
    return pl.concat_str(parts)


def _writer(specification: str, argument: Any) -> Callable[[Any], str]:
    if type_of(argument).kind is Kind.FLOAT:
        return lambda value: format(float(value), specification)
    return lambda value: format(value, specification)


TEXTS: dict[str, Builder] = {
    "substring": _strict(_substring),
    "replace": _strict(_replace),
    "trim": _trim(lambda text, characters: text.str.strip_chars(characters)),
    "ltrim": _trim(lambda text, characters: text.str.strip_chars_start(characters)),
    "rtrim": _trim(lambda text, characters: text.str.strip_chars_end(characters)),
    "split_part": _strict(_split_part),
    "strpos": _strict(_strpos),
    "left": _end(lambda text, count: text.str.head(count)),
    "right": _end(lambda text, count: text.str.tail(count)),
    "lpad": _pad(before=True),
    "rpad": _pad(before=False),
    "starts_with": lambda _, operands: operands[0].str.starts_with(operands[1]),
    "ends_with": lambda _, operands: operands[0].str.ends_with(operands[1]),
    "contains": lambda _, operands: operands[0].str.contains(operands[1], literal=True),
    "format": _format,
    "regexp_like": _regexp_like,
    "regexp_replace": _regexp_replace,
    "regexp_extract": _regexp_extract,
}
