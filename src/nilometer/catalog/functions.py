"""Function names -> signatures: a function's arguments, the type of its result, and its purpose.

One table holds the scalar functions, the aggregates, and the special forms LAG, DELTA, RATE and COMPLETENESS.
Names ignore case, and aliases lead to the canonical lower-case name. A type rule is a plain function from
argument types to a type; it raises a `ValueError` that says which arguments the function takes.

>>> resolve("SQUARE").name
'sqr'
>>> str(resolve("least").result((INT, FLOAT)))
'FLOAT'
>>> resolve("sqrt").result((STRING,))
Traceback (most recent call last):
ValueError: sqrt takes a number (INT or FLOAT), not STRING
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from nilometer.types import FLOAT, INT, NULL, STRING, Kind, Type

Rule = Callable[[tuple[Type, ...]], Type]


class FunctionKind(StrEnum):
    """How a function is evaluated: per row, per window, or over a source's previous rows and the window itself."""

    SCALAR = "scalar"
    AGGREGATE = "aggregate"
    SPECIAL = "special"


@dataclass(frozen=True, slots=True)
class Argument:
    """One argument of a function: the kinds that it accepts, and their name in messages."""

    text: str
    plural: str
    kinds: frozenset[Kind]


@dataclass(frozen=True, slots=True)
class FunctionSignature:
    """A function. `arguments` are required, then come `optional` ones; `repeats` lets the last one recur.

    `wants_float`: INT arguments are converted to FLOAT first. No other argument is ever changed.
    """

    name: str
    kind: FunctionKind
    arguments: tuple[Argument, ...]
    rule: Rule
    description: str
    example: str
    aliases: tuple[str, ...] = ()
    optional: tuple[Argument, ...] = ()
    repeats: bool = False
    wants_float: bool = False

    @property
    def spelled(self) -> str:
        """The name in messages: aggregates and special forms in capitals, as users write them."""
        return self.name if self.kind is FunctionKind.SCALAR else self.name.upper()

    @property
    def takes(self) -> str:
        """The arguments that it takes, in words."""
        places = self.arguments
        if not places:
            return " or ".join([*(argument.text for argument in self.optional), "no argument"])
        if self.repeats or len(places) > 1:
            count = ("one", "two")[len(places) - 1]
            text = f"{count}{' or more' if self.repeats else ''} {places[0].plural}"
        else:
            text = places[0].text
        return ", and optionally ".join([text, *(argument.text for argument in self.optional)])

    def result(self, argument_types: tuple[Type, ...]) -> Type:
        """The type of a call; raises a ValueError that says what the function takes if the arguments do not
        fit."""
        places = self.arguments + self.optional
        least, most = len(self.arguments), len(places)
        count = len(argument_types)
        if count < least or (count > most and not self.repeats):
            given = "one was" if count == 1 else f"{count or 'none'} were"
            raise ValueError(f"{self.spelled} takes {self.takes}; {given} given")
        for index, found_type in enumerate(argument_types):
            place = places[min(index, most - 1)]
            if found_type.kind not in place.kinds and found_type.kind is not Kind.NULL:
                where = f" as argument {index + 1}" if count > 1 else ""
                raise ValueError(f"{self.spelled} takes {self.takes}, not {found_type.plain}{where}")
        try:
            return self.rule(tuple(found_type.plain for found_type in argument_types))
        except ValueError as error:
            raise ValueError(f"{self.spelled} takes {error}") from None


def _argument(text: str, plural: str, *kinds: Kind) -> Argument:
    return Argument(text, plural, frozenset(kinds))


NUMBER: Final = _argument("a number (INT or FLOAT)", "numbers (INT or FLOAT)", Kind.INT, Kind.FLOAT)
AMOUNT: Final = _argument("a number or a duration", "numbers or durations", *NUMBER.kinds, Kind.DURATION)
WHOLE: Final = _argument("a whole number (INT)", "whole numbers (INT)", Kind.INT)
TEXT: Final = _argument("a STRING", "STRINGs", Kind.STRING)
PLACE: Final = _argument("a POINT", "POINTs", Kind.POINT)
_ORDER = "with an order (INT, FLOAT, STRING, BOOLEAN or TIME)"
ORDERED: Final = _argument(
    f"a value {_ORDER}", f"values {_ORDER}", Kind.INT, Kind.FLOAT, Kind.STRING, Kind.BOOLEAN, Kind.TIME
)
SCALAR_VALUE: Final = _argument("a value", "values", *ORDERED.kinds, Kind.POINT)
ANYTHING: Final = _argument("any value, *", "any values", *Kind)


# ---- type rules ------------------------------------------------------------------------------------------------------


def first(types: tuple[Type, ...]) -> Type:
    """The type of the first argument."""
    return types[0]


def common(types: tuple[Type, ...]) -> Type:
    """The one type of all arguments: NULL fits any type, INT with FLOAT gives FLOAT."""
    found = NULL
    for next_type in types:
        if found.kind is Kind.NULL or next_type == found:
            found = next_type
        elif {found.kind, next_type.kind} == {Kind.INT, Kind.FLOAT}:
            found = FLOAT
        elif next_type.kind is not Kind.NULL:
            raise ValueError(f"values of one type, not {found} and {next_type}")
    return found


def always(result: Type) -> Rule:
    """A rule that returns the same type for any arguments."""
    return lambda _types: result


# ---- the table -------------------------------------------------------------------------------------------------------


def _number_to_float(name: str, description: str, example: str, *aliases: str) -> FunctionSignature:
    return FunctionSignature(
        name, FunctionKind.SCALAR, (NUMBER,), always(FLOAT), description, example, aliases, wants_float=True
    )


def _scalar(
    name: str, arguments: tuple[Argument, ...], rule: Rule, description: str, example: str, *aliases: str
) -> FunctionSignature:
    return FunctionSignature(name, FunctionKind.SCALAR, arguments, rule, description, example, aliases)


def _of_one_type(
    name: str, arguments: tuple[Argument, ...], description: str, example: str, repeats: bool = True
) -> FunctionSignature:
    return FunctionSignature(
        name, FunctionKind.SCALAR, arguments, common, description, example, repeats=repeats
    )


def _aggregate(
    name: str, argument: Argument, rule: Rule, description: str, example: str, *aliases: str
) -> FunctionSignature:
    return FunctionSignature(name, FunctionKind.AGGREGATE, (argument,), rule, description, example, aliases)


FUNCTIONS: Final[tuple[FunctionSignature, ...]] = (
    _scalar("abs", (AMOUNT,), first, "the absolute value", "abs(delta)"),
    _scalar("sqr", (NUMBER,), first, "the square", "sqr(speed)", "square"),
    _number_to_float("sqrt", "the square root; NULL below 0", "sqrt(area)", "squareroot"),
    _scalar("ceil", (NUMBER,), first, "the least whole number not below", "ceil(depth)", "ceiling"),
    _scalar("floor", (NUMBER,), first, "the greatest whole number not above", "floor(depth)"),
    _scalar("round", (NUMBER,), first, "the nearest whole number, halves away from 0", "round(depth)"),
    _number_to_float("ln", "the natural logarithm; NULL unless above 0", "ln(flow)"),
    _number_to_float("log10", "the decimal logarithm; NULL unless above 0", "log10(flow)"),
    _number_to_float("exp", "e to the power of the argument", "exp(-depth)"),
    _number_to_float("sin", "the sine of an angle in radians", "sin(direction)"),
    _number_to_float("cos", "the cosine of an angle in radians", "cos(direction)"),
    _number_to_float("tan", "the tangent of an angle in radians", "tan(slope)"),
    FunctionSignature(
        "power",
        FunctionKind.SCALAR,
        (NUMBER, NUMBER),
        always(FLOAT),
        "the first to the power of the second",
        "power(speed, 3)",
        ("pow",),
        wants_float=True,
    ),
    _scalar("sign", (NUMBER,), always(INT), "-1, 0 or 1", "sign(delta)"),
    _of_one_type(
        "mod", (NUMBER, NUMBER), "the remainder, with the dividend's sign; NULL by 0", "mod(id, 10)", False
    ),
    _of_one_type("least", (ORDERED,), "the least of the arguments that are not NULL", "least(depth, 100)"),
    _of_one_type(
        "greatest", (ORDERED,), "the greatest of the arguments that are not NULL", "greatest(depth, 0)"
    ),
    _of_one_type("coalesce", (SCALAR_VALUE,), "the first argument that is not NULL", "coalesce(rain, 0)"),
    _scalar("lower", (TEXT,), always(STRING), "the text in small letters", "lower(kind)"),
    _scalar("upper", (TEXT,), always(STRING), "the text in capitals", "upper(kind)"),
    _scalar("length", (TEXT,), always(INT), "the number of characters", "length(kind)"),
    FunctionSignature(
        "concat",
        FunctionKind.SCALAR,
        (TEXT, TEXT),
        always(STRING),
        "the texts one after another; NULL if one is",
        "concat(kind, '-', state)",
        repeats=True,
    ),
    _scalar(
        "distance",
        (PLACE, PLACE),
        always(FLOAT),
        "the straight distance of two points",
        "distance(location, POINT(120, 44.5))",
    ),
    _scalar("x", (PLACE,), always(FLOAT), "the first coordinate of a point", "x(location)"),
    _scalar("y", (PLACE,), always(FLOAT), "the second coordinate of a point", "y(location)"),
    FunctionSignature(
        "count",
        FunctionKind.AGGREGATE,
        (),
        always(INT),
        "the number of rows, or of values that are not NULL",
        "COUNT(*)",
        optional=(ANYTHING,),
    ),
    _aggregate("sum", NUMBER, first, "the sum; NULL of nothing", "SUM(rain)"),
    _aggregate("avg", NUMBER, always(FLOAT), "the mean; NULL of nothing", "AVG(depth)", "average"),
    _aggregate("min", ORDERED, first, "the least value; NULL of nothing", "MIN(depth)", "minimum"),
    _aggregate("max", ORDERED, first, "the greatest value; NULL of nothing", "MAX(depth)", "maximum"),
    _aggregate(
        "stdev",
        NUMBER,
        always(FLOAT),
        "the sample standard deviation; NULL of fewer than two",
        "STDEV(depth)",
        "stddev",
    ),
    _aggregate(
        "variance",
        NUMBER,
        always(FLOAT),
        "the sample variance; NULL of fewer than two",
        "VARIANCE(depth)",
        "var",
    ),
    _aggregate("median", NUMBER, always(FLOAT), "the mean of the middle two values", "MEDIAN(depth)"),
    FunctionSignature(
        "lag",
        FunctionKind.SPECIAL,
        (SCALAR_VALUE,),
        first,
        "the value n (default 1) readings before, of the same source",
        "LAG(depth, 2)",
        optional=(WHOLE,),
    ),
    FunctionSignature(
        "delta",
        FunctionKind.SPECIAL,
        (NUMBER,),
        first,
        "the difference to the reading before, of the same source",
        "DELTA(depth)",
    ),
    FunctionSignature(
        "rate",
        FunctionKind.SPECIAL,
        (NUMBER,),
        always(FLOAT),
        "the change per second since the reading before, of the same source; NULL when no time has passed",
        "RATE(depth)",
    ),
    FunctionSignature(
        "completeness",
        FunctionKind.SPECIAL,
        (),
        always(FLOAT),
        "the readings in the window over those expected; NULL without a rate",
        "COMPLETENESS()",
    ),
)

_BY_NAME: Final = {name: f for f in FUNCTIONS for name in (f.name, *f.aliases)}


def resolve(name: str) -> FunctionSignature | None:
    """The function of that name or alias; case does not matter."""
    return _BY_NAME.get(name.lower())


def names() -> tuple[str, ...]:
    """All names by which a function can be called, aliases included."""
    return tuple(_BY_NAME)
