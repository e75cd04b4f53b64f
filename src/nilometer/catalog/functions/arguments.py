"""The arguments that functions take, as messages name them."""

from __future__ import annotations

from typing import Final

from nilometer.catalog.functions.signature import Argument
from nilometer.types import Kind


def _argument(text: str, plural: str, *kinds: Kind) -> Argument:
    return Argument(text, plural, frozenset(kinds))


def _constant(text: str, kind: Kind = Kind.STRING) -> Argument:
    return Argument(text, text, frozenset((kind,)), constant=True)


NUMBER: Final = _argument("a number (INT or FLOAT)", "numbers (INT or FLOAT)", Kind.INT, Kind.FLOAT)
AMOUNT: Final = _argument("a number or a duration", "numbers or durations", *NUMBER.kinds, Kind.DURATION)
WHOLE: Final = _argument("a whole number (INT)", "whole numbers (INT)", Kind.INT)
TEXT: Final = _argument("a STRING", "STRINGs", Kind.STRING)
MODEL: Final = _argument("a model", "models", Kind.STRING)
PLACE: Final = _argument("a POINT", "POINTs", Kind.POINT)
_ORDER = "with an order (INT, FLOAT, STRING, BOOLEAN or TIME)"
ORDERED: Final = _argument(
    f"a value {_ORDER}", f"values {_ORDER}", Kind.INT, Kind.FLOAT, Kind.STRING, Kind.BOOLEAN, Kind.TIME
)
MOMENT: Final = _argument("a TIME", "TIMEs", Kind.TIME)
MOMENT_OR_SPAN: Final = _argument("a TIME or a duration", "TIMEs or durations", Kind.TIME, Kind.DURATION)
NUMBER_OR_TEXT: Final = _argument("a number or a STRING", "numbers or STRINGs", *NUMBER.kinds, Kind.STRING)
DIGITS: Final = _constant("a constant whole number", Kind.INT)
SPAN: Final = _constant("a length of time", Kind.DURATION)
FIELD: Final = _constant("a field in quotes, such as 'hour'")
ZONE: Final = _constant("a time zone in quotes, such as 'Europe/Zurich'")
PATTERN: Final = _constant("a pattern in quotes")
FLAGS: Final = _constant("flags in quotes")
FORMAT: Final = _constant("a format in quotes")
FILLING: Final = _constant("a text in quotes")
UNIT: Final = _constant("a unit in quotes, such as 'Cel'")
SCALAR_VALUE: Final = _argument("a value", "values", *ORDERED.kinds, Kind.POINT)
FORMATTED: Final = _argument("a value", "values", *SCALAR_VALUE.kinds, Kind.DURATION)
_MOMENTS = "with an order (INT, FLOAT, STRING, BOOLEAN, TIME or a duration)"
RANKED: Final = _argument(f"a value {_MOMENTS}", f"values {_MOMENTS}", *ORDERED.kinds, Kind.DURATION)
TRUTH: Final = _argument("a condition (BOOLEAN)", "conditions (BOOLEAN)", Kind.BOOLEAN)
METHOD: Final = _argument("the text 'STEP' or 'LINEAR'", "texts", Kind.STRING)
STRUCT: Final = _argument("a value with fields", "values with fields", Kind.STRUCT)
FIELD_NAME: Final = _constant("the name of a field in quotes")
VECTOR: Final = _argument("a vector", "vectors", Kind.VECTOR)
TEXT_OR_VECTOR: Final = _argument("a STRING or a vector", "STRINGs or vectors", Kind.STRING, Kind.VECTOR)
AMOUNT_OR_VECTOR: Final = _argument(
    "a number, a duration or a vector", "numbers, durations or vectors", *AMOUNT.kinds, Kind.VECTOR
)
RANKED_OR_VECTOR: Final = _argument(
    f"a vector or {RANKED.text}", f"vectors or {RANKED.plural}", *RANKED.kinds, Kind.VECTOR
)
ANY_VALUE: Final = _argument("a value", "values", *SCALAR_VALUE.kinds, Kind.VECTOR)
LIST: Final = _argument("a list", "lists", Kind.LIST)
ANYTHING: Final = _argument("any value, *", "any values", *Kind)
