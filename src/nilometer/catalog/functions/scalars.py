"""The scalar functions: of numbers, conditions, text, points, times and units."""

from __future__ import annotations

from typing import Final

from nilometer.catalog.functions.arguments import (
    AMOUNT,
    ANY_VALUE,
    DIGITS,
    FIELD,
    FILLING,
    FLAGS,
    FORMAT,
    FORMATTED,
    MOMENT,
    MOMENT_OR_SPAN,
    NUMBER,
    NUMBER_OR_TEXT,
    ORDERED,
    PATTERN,
    PLACE,
    SCALAR_VALUE,
    SPAN,
    TEXT,
    TEXT_OR_VECTOR,
    TRUTH,
    UNIT,
    WHOLE,
    ZONE,
)
from nilometer.catalog.functions.signature import Argument, FunctionKind, FunctionSignature, Rule
from nilometer.catalog.functions.type_rules import always, common, first, of_arms
from nilometer.types import BOOLEAN, FLOAT, INT, POINT, STRING, TIME


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


SCALARS: Final[tuple[FunctionSignature, ...]] = (
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
        (ANY_VALUE,),
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
        (TRUTH, ANY_VALUE, ANY_VALUE),
        of_arms,
        "the second argument if the condition is true, else the third",
        "if(depth > 100, 'high', 'low')",
    ),
    _scalar("lower", (TEXT,), always(STRING), "the text in small letters", "lower(kind)"),
    _scalar("upper", (TEXT,), always(STRING), "the text in capitals", "upper(kind)"),
    _scalar(
        "length",
        (TEXT_OR_VECTOR,),
        always(INT),
        "the number of characters, or of a vector's elements",
        "length(kind)",
        "char_length",
    ),
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
    FunctionSignature(
        "point",
        FunctionKind.SCALAR,
        (NUMBER, NUMBER),
        always(POINT),
        "a point of two coordinates; NULL if one is",
        "point(longitude, latitude)",
        (),
        wants_float=True,
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
        "add_months",
        (MOMENT, DIGITS),
        always(TIME),
        "the same day and clock so many months later, or the month's last day; also `t + INTERVAL '1 month'`",
        "add_months(time, 3)",
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
)
