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

from nilometer.types import BOOLEAN, FLOAT, INT, NULL, STRING, TIME, Kind, Type, list_of

Rule = Callable[[tuple[Type, ...]], Type]


class FunctionKind(StrEnum):
    """How a function is evaluated: per row, per window, over a source's previous rows and the window itself, or as
    rows of its own."""

    SCALAR = "scalar"
    AGGREGATE = "aggregate"
    SPECIAL = "special"
    ROWS = "rows"


@dataclass(frozen=True, slots=True)
class Argument:
    """One argument of a function: the kinds that it accepts, and their name in messages; whether it must be a
    constant."""

    text: str
    plural: str
    kinds: frozenset[Kind]
    constant: bool = False


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
        if len(set(places)) > 1:
            texts = [place.text for place in places]
            texts[-1] = f"one or more {places[-1].plural}" if self.repeats else texts[-1]
            text = f"{', '.join(texts[:-1])} and {texts[-1]}"
        elif self.repeats or len(places) > 1:
            count = ("one", "two", "three")[len(places) - 1]
            text = f"{count}{' or more' if self.repeats else ''} {places[0].plural}"
        else:
            text = places[0].text
        return ", and optionally ".join([text, *(argument.text for argument in self.optional)])

    @property
    def most(self) -> int:
        """The most arguments that it takes, unless the last one recurs."""
        return len(self.arguments) + len(self.optional)

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


def _constant(text: str, kind: Kind = Kind.STRING) -> Argument:
    return Argument(text, text, frozenset((kind,)), constant=True)


NUMBER: Final = _argument("a number (INT or FLOAT)", "numbers (INT or FLOAT)", Kind.INT, Kind.FLOAT)
AMOUNT: Final = _argument("a number or a duration", "numbers or durations", *NUMBER.kinds, Kind.DURATION)
WHOLE: Final = _argument("a whole number (INT)", "whole numbers (INT)", Kind.INT)
TEXT: Final = _argument("a STRING", "STRINGs", Kind.STRING)
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
LIST: Final = _argument("a list", "lists", Kind.LIST)
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


def of_arms(types: tuple[Type, ...]) -> Type:
    """The one type of all arguments but the first, which is a condition."""
    return common(types[1:])


def mean(types: tuple[Type, ...]) -> Type:
    """The type of a mean: of durations a duration, else FLOAT."""
    return types[0] if types[0].kind is Kind.DURATION else FLOAT


def element(types: tuple[Type, ...]) -> Type:
    """The type of a list's elements."""
    return types[0].element or NULL


def listed(types: tuple[Type, ...]) -> Type:
    """A list of the first argument's type."""
    return list_of(types[0])


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


def _optional(
    name: str,
    arguments: tuple[Argument, ...],
    optional: tuple[Argument, ...],
    rule: Rule,
    description: str,
    example: str,
    *aliases: str,
) -> FunctionSignature:
    return FunctionSignature(
        name, FunctionKind.SCALAR, arguments, rule, description, example, aliases, optional
    )


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


def _aggregate_of_two(
    name: str, arguments: tuple[Argument, Argument], rule: Rule, description: str, example: str, *aliases: str
) -> FunctionSignature:
    return FunctionSignature(name, FunctionKind.AGGREGATE, arguments, rule, description, example, aliases)


def _of_pairs(name: str, description: str) -> FunctionSignature:
    return _aggregate_of_two(
        name, (NUMBER, NUMBER), always(FLOAT), description, f"{name.upper()}(depth, rain)"
    )


def _over_time(name: str, description: str) -> FunctionSignature:
    return FunctionSignature(
        name,
        FunctionKind.AGGREGATE,
        (NUMBER,),
        always(FLOAT),
        description,
        f"{name.upper()}(power)",
        optional=(METHOD,),
    )


FUNCTIONS: Final[tuple[FunctionSignature, ...]] = (
    _scalar("abs", (AMOUNT,), first, "the absolute value", "abs(delta)"),
    _scalar("sqr", (NUMBER,), first, "the square", "sqr(speed)", "square"),
    _number_to_float("sqrt", "the square root; NULL below 0", "sqrt(area)", "squareroot"),
    _scalar("ceil", (NUMBER,), first, "the least whole number not below", "ceil(depth)", "ceiling"),
    _scalar("floor", (NUMBER,), first, "the greatest whole number not above", "floor(depth)"),
    _optional(
        "round",
        (NUMBER,),
        (DIGITS,),
        first,
        "the nearest whole number, or number of n decimals, halves away from 0",
        "round(depth, 1)",
    ),
    _optional(
        "trunc", (NUMBER,), (DIGITS,), first, "the number without its decimals beyond n", "trunc(depth, 1)"
    ),
    _number_to_float("ln", "the natural logarithm; NULL unless above 0", "ln(flow)"),
    _number_to_float("log10", "the decimal logarithm; NULL unless above 0", "log10(flow)"),
    _number_to_float("log2", "the binary logarithm; NULL unless above 0", "log2(flow)"),
    FunctionSignature(
        "log",
        FunctionKind.SCALAR,
        (NUMBER,),
        always(FLOAT),
        "the decimal logarithm; of b and x, the logarithm of x to the base b",
        "log(2, flow)",
        optional=(NUMBER,),
        wants_float=True,
    ),
    _number_to_float("cbrt", "the cube root", "cbrt(volume)"),
    _number_to_float("exp", "e to the power of the argument", "exp(-depth)"),
    _number_to_float("sin", "the sine of an angle in radians", "sin(direction)"),
    _number_to_float("cos", "the cosine of an angle in radians", "cos(direction)"),
    _number_to_float("tan", "the tangent of an angle in radians", "tan(slope)"),
    _number_to_float("asin", "the angle of a sine, in radians; NULL beyond 1", "asin(slope)"),
    _number_to_float("acos", "the angle of a cosine, in radians; NULL beyond 1", "acos(slope)"),
    _number_to_float("atan", "the angle of a tangent, in radians", "atan(slope)"),
    FunctionSignature(
        "atan2",
        FunctionKind.SCALAR,
        (NUMBER, NUMBER),
        always(FLOAT),
        "the angle of the point (second, first), in radians",
        "atan2(north, east)",
        wants_float=True,
    ),
    _number_to_float("degrees", "radians as degrees", "degrees(direction)"),
    _number_to_float("radians", "degrees as radians", "radians(direction)"),
    _scalar("pi", (), always(FLOAT), "the circumference of a circle over its diameter", "pi()"),
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
    FunctionSignature(
        "coalesce",
        FunctionKind.SCALAR,
        (SCALAR_VALUE,),
        common,
        "the first argument that is not NULL",
        "coalesce(rain, 0)",
        ("ifnull", "nvl"),
        repeats=True,
    ),
    _of_one_type(
        "nullif",
        (SCALAR_VALUE, SCALAR_VALUE),
        "the first argument, or NULL if both are equal",
        "nullif(depth, -999)",
        False,
    ),
    _scalar(
        "if",
        (TRUTH, SCALAR_VALUE, SCALAR_VALUE),
        of_arms,
        "the second argument if the condition is true, else the third",
        "if(depth > 100, 'high', 'low')",
    ),
    _scalar("lower", (TEXT,), always(STRING), "the text in small letters", "lower(kind)"),
    _scalar("upper", (TEXT,), always(STRING), "the text in capitals", "upper(kind)"),
    _scalar("length", (TEXT,), always(INT), "the number of characters", "length(kind)", "char_length"),
    _optional(
        "substring",
        (TEXT, WHOLE),
        (WHOLE,),
        always(STRING),
        "the characters from a position, at most so many; also `substring(s FROM a FOR n)`",
        "substring(kind, 2, 3)",
        "substr",
    ),
    _scalar(
        "left", (TEXT, WHOLE), always(STRING), "the first n characters; all but the last -n", "left(kind, 2)"
    ),
    _scalar(
        "right",
        (TEXT, WHOLE),
        always(STRING),
        "the last n characters; all but the first -n",
        "right(kind, 2)",
    ),
    _scalar(
        "replace",
        (TEXT, TEXT, TEXT),
        always(STRING),
        "every second text replaced by the third",
        "replace(kind, 'a', 'b')",
    ),
    _optional(
        "trim",
        (TEXT,),
        (TEXT,),
        always(STRING),
        "the text without blanks, or those characters, at both ends; also `trim(BOTH 'x' FROM s)`",
        "trim(kind)",
        "btrim",
    ),
    _optional(
        "ltrim", (TEXT,), (TEXT,), always(STRING), "the same at the beginning only", "ltrim(kind, '0')"
    ),
    _optional("rtrim", (TEXT,), (TEXT,), always(STRING), "the same at the end only", "rtrim(kind)"),
    _optional(
        "lpad",
        (TEXT, DIGITS),
        (FILLING,),
        always(STRING),
        "the text filled up at its beginning, or cut at its end, to n characters",
        "lpad(kind, 8, '.')",
    ),
    _optional(
        "rpad", (TEXT, DIGITS), (FILLING,), always(STRING), "the same, filled up at its end", "rpad(kind, 8)"
    ),
    _scalar(
        "split_part",
        (TEXT, TEXT, WHOLE),
        always(STRING),
        "the n-th part between separators, from the end if n is negative; '' if there is none",
        "split_part(kind, '-', 1)",
    ),
    _scalar(
        "strpos",
        (TEXT, TEXT),
        always(INT),
        "the position of the second text in the first, from 1; 0 if it is not there; also `position(a IN s)`",
        "strpos(kind, 'au')",
        "instr",
    ),
    _scalar(
        "starts_with", (TEXT, TEXT), always(BOOLEAN), "whether the text begins so", "starts_with(kind, 'ga')"
    ),
    _scalar("ends_with", (TEXT, TEXT), always(BOOLEAN), "whether the text ends so", "ends_with(kind, 'ge')"),
    _scalar(
        "contains",
        (TEXT, TEXT),
        always(BOOLEAN),
        "whether the second text is in the first",
        "contains(kind, 'au')",
    ),
    _optional(
        "regexp_like",
        (TEXT, PATTERN),
        (FLAGS,),
        always(BOOLEAN),
        "whether the pattern matches somewhere; flag 'i' ignores case",
        "regexp_like(kind, '^g.*e$')",
        "regexp_matches",
    ),
    _optional(
        "regexp_replace",
        (TEXT, PATTERN, FILLING),
        (FLAGS,),
        always(STRING),
        "the first match replaced, with flag 'g' every match; `\\1` is the first group",
        "regexp_replace(kind, '[0-9]+', '#', 'g')",
    ),
    _optional(
        "regexp_extract",
        (TEXT, PATTERN),
        (DIGITS,),
        always(STRING),
        "the first match, or a group of it; NULL without a match",
        "regexp_extract(kind, '([a-z]+)', 1)",
    ),
    FunctionSignature(
        "format",
        FunctionKind.SCALAR,
        (FORMAT, FORMATTED),
        always(STRING),
        "the format with the values in its braces; `{:.1f}` for one decimal",
        "format('{} cm at {}', depth, id)",
        repeats=True,
    ),
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
        "the distance of two points: straight, or with COORDINATES WGS84 the metres of the great circle",
        "distance(location, POINT(120, 44.5))",
    ),
    _scalar(
        "great_circle",
        (PLACE, PLACE),
        always(FLOAT),
        "the metres between two points of longitude and latitude in degrees",
        "great_circle(location, POINT(8.5, 47.4))",
    ),
    _scalar("x", (PLACE,), always(FLOAT), "the first coordinate of a point", "x(location)"),
    _scalar("y", (PLACE,), always(FLOAT), "the second coordinate of a point", "y(location)"),
    _scalar(
        "date_part",
        (FIELD, MOMENT),
        always(INT),
        "a field of a time in UTC; also `EXTRACT(hour FROM t)`",
        "date_part('hour', time)",
    ),
    *(
        _scalar(name, (MOMENT,), always(INT), f"the {name} of a time in UTC", f"{name}(time)")
        for name in ("year", "month", "day", "hour", "minute", "second")
    ),
    _scalar(
        "day_of_week", (MOMENT,), always(INT), "1 for Monday to 7 for Sunday, in UTC", "day_of_week(time)"
    ),
    _scalar("epoch", (MOMENT_OR_SPAN,), always(FLOAT), "seconds since 1970, or of a duration", "epoch(time)"),
    _optional(
        "date_trunc",
        (FIELD, MOMENT),
        (ZONE,),
        always(TIME),
        "the beginning of the hour, day, week, month ..., in UTC or a time zone",
        "date_trunc('day', time, 'Europe/Zurich')",
    ),
    _optional(
        "date_bin",
        (SPAN, MOMENT),
        (MOMENT,),
        always(TIME),
        "the beginning of the interval, counted from 1970 or a third argument",
        "date_bin(15 MINUTES, time)",
    ),
    _scalar(
        "timezone",
        (ZONE, MOMENT),
        always(TIME),
        "what a clock in the zone shows; also `t AT TIME ZONE 'Europe/Zurich'`",
        "timezone('Europe/Zurich', time)",
    ),
    _scalar(
        "to_utc",
        (MOMENT, ZONE),
        always(TIME),
        "when a clock in the zone shows it; the inverse of `AT TIME ZONE`",
        "to_utc(time, 'Europe/Zurich')",
    ),
    _scalar(
        "to_char",
        (MOMENT, FORMAT),
        always(STRING),
        "a time as text, in a format such as 'YYYY-MM-DD HH24:MI' or '%Y-%m-%d %H:%M'",
        "to_char(time, 'DD.MM.YYYY')",
        "strftime",
    ),
    _optional(
        "to_timestamp",
        (NUMBER_OR_TEXT,),
        (FORMAT,),
        always(TIME),
        "a number of seconds since 1970, or text, as a time; the format as in to_char",
        "to_timestamp(depth)",
        "strptime",
    ),
    _scalar(
        "convert",
        (NUMBER, UNIT),
        always(FLOAT),
        "a column that has a UNIT, in another one",
        "convert(depth, 'm')",
    ),
    FunctionSignature(
        "count",
        FunctionKind.AGGREGATE,
        (),
        always(INT),
        "the number of rows, or of values that are not NULL",
        "COUNT(*)",
        optional=(ANYTHING,),
    ),
    _aggregate(
        "count_if",
        TRUTH,
        always(INT),
        "the number of rows for which the condition is true",
        "COUNT_IF(rain > 5)",
    ),
    _aggregate("sum", AMOUNT, first, "the sum; NULL of nothing", "SUM(rain)"),
    _aggregate("avg", AMOUNT, mean, "the mean; NULL of nothing", "AVG(depth)", "average", "mean"),
    _aggregate("min", RANKED, first, "the least value; NULL of nothing", "MIN(depth)", "minimum"),
    _aggregate("max", RANKED, first, "the greatest value; NULL of nothing", "MAX(depth)", "maximum"),
    _aggregate(
        "stdev",
        NUMBER,
        always(FLOAT),
        "the sample standard deviation; NULL of fewer than two",
        "STDEV(depth)",
        "stddev",
        "stddev_samp",
    ),
    _aggregate(
        "variance",
        NUMBER,
        always(FLOAT),
        "the sample variance; NULL of fewer than two",
        "VARIANCE(depth)",
        "var",
        "var_samp",
    ),
    _aggregate(
        "stddev_pop", NUMBER, always(FLOAT), "the standard deviation of the whole group", "STDDEV_POP(depth)"
    ),
    _aggregate("var_pop", NUMBER, always(FLOAT), "the variance of the whole group", "VAR_POP(depth)"),
    _aggregate("median", AMOUNT, mean, "the mean of the middle two values", "MEDIAN(depth)"),
    _aggregate(
        "bool_and", TRUTH, first, "whether all conditions hold", "BOOL_AND(rain > 5)", "every", "logical_and"
    ),
    _aggregate(
        "bool_or", TRUTH, first, "whether one of the conditions holds", "BOOL_OR(rain > 5)", "logical_or"
    ),
    _aggregate("first", RANKED, first, "the first value that is not NULL, by (time, id)", "FIRST(depth)"),
    _aggregate("last", RANKED, first, "the last value that is not NULL, by (time, id)", "LAST(depth)"),
    _aggregate_of_two(
        "arg_max",
        (RANKED, RANKED),
        first,
        "the first argument where the second is greatest; of several, the first by (time, id)",
        "ARG_MAX(time, depth)",
        "max_by",
    ),
    _aggregate_of_two(
        "arg_min",
        (RANKED, RANKED),
        first,
        "the first argument where the second is least; of several, the first by (time, id)",
        "ARG_MIN(time, depth)",
        "min_by",
    ),
    _aggregate("mode", RANKED, first, "the most frequent value; of several, the least", "MODE(rain)"),
    _aggregate_of_two(
        "percentile_cont",
        (NUMBER, NUMBER),
        always(FLOAT),
        "the value below which a share of the values lies, interpolated",
        "PERCENTILE_CONT(depth, 0.9)",
        "quantile_cont",
    ),
    _aggregate_of_two(
        "percentile_disc",
        (RANKED, NUMBER),
        first,
        "the least value with at least that share of the values at or below it",
        "PERCENTILE_DISC(depth, 0.9)",
        "quantile_disc",
    ),
    _aggregate_of_two(
        "approx_percentile",
        (NUMBER, NUMBER),
        always(FLOAT),
        "PERCENTILE_DISC from a DDSketch; off by at most 1 % of the value",
        "APPROX_PERCENTILE(depth, 0.99)",
        "approx_quantile",
    ),
    _aggregate(
        "approx_count_distinct",
        RANKED,
        always(INT),
        "the number of different values from a HyperLogLog; its standard error is 0.8 %",
        "APPROX_COUNT_DISTINCT(id)",
        "approx_distinct",
    ),
    _of_pairs("corr", "Pearson's correlation of two numbers; NULL if one of them does not vary"),
    _of_pairs("covar_pop", "the covariance of the whole group"),
    _of_pairs("covar_samp", "the sample covariance; NULL of fewer than two"),
    _of_pairs("regr_slope", "the slope of the least-squares line of the first over the second"),
    _of_pairs("regr_intercept", "the value of that line at 0"),
    _of_pairs("regr_r2", "the share of the first one's variance that the line explains"),
    _over_time("twa", "the time-weighted average of each source's readings"),
    _over_time("integral", "value times seconds, of each source's readings, summed over the sources"),
    _aggregate(
        "array_agg", RANKED, listed, "the values as a list, by (time, id)", "ARRAY_AGG(depth)", "collect_list"
    ),
    _aggregate_of_two(
        "string_agg",
        (TEXT, TEXT),
        first,
        "the texts one after another, by (time, id), with a separator between them",
        "STRING_AGG(kind, ', ')",
        "listagg",
        "group_concat",
    ),
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
    FunctionSignature(
        "unnest",
        FunctionKind.ROWS,
        (LIST,),
        element,
        "a row for each element of a list, in the select list",
        "UNNEST(members)",
    ),
)

_BY_NAME: Final = {name: f for f in FUNCTIONS for name in (f.name, *f.aliases)}


def resolve(name: str) -> FunctionSignature | None:
    """The function of that name or alias; case does not matter."""
    return _BY_NAME.get(name.lower())


def names() -> tuple[str, ...]:
    """All names by which a function can be called, aliases included."""
    return tuple(_BY_NAME)
