"""Columns of the scalar functions equal the values that plan/scalars defines, NULLs and errors included."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Any

import polars as pl
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from nilometer.errors import DataError
from nilometer.expressions import CASTS, Call, Case, ColumnReference, Expression, Literal
from nilometer.operators.evaluate.evaluate import FUNCTIONS, STRICT, evaluate
from nilometer.operators.frames import dtype
from nilometer.plan import scalar
from nilometer.time_zones import CALENDAR, FIXED
from nilometer.types import (
    BOOLEAN,
    DAY,
    DURATION,
    FLOAT,
    HOUR,
    INT,
    INT_MAXIMUM,
    INT_MINIMUM,
    SECOND,
    STRING,
    TIME,
    Kind,
    Type,
    parse_time,
)

ALPHABET = "ab A.%-_0159:Z é ü 日🙂ß"
texts = st.text(alphabet=ALPHABET, max_size=8)
small = st.integers(-4, 9)
integers = st.one_of(small, st.sampled_from([INT_MAXIMUM, INT_MINIMUM, 2**31, -(2**40)]))
floats = st.one_of(
    st.integers(-10_000, 10_000).map(lambda n: n / 64),
    st.sampled_from([0.5, -0.5, 2.5, 1.005, 1e300, -1e-300, 9.3e18, 1e17, 2.675, -0.0]),
    st.floats(allow_nan=False, allow_infinity=False),
)
moments = st.one_of(
    st.integers(parse_time("1960-01-01"), parse_time("2060-01-01")),
    st.integers(-3, 3).map(lambda hours: parse_time("2026-03-29T01:00Z") + hours * HOUR),
    st.integers(-3, 3).map(lambda hours: parse_time("2026-10-25T01:00Z") + hours * HOUR),
    st.sampled_from([0, -1, DAY - 1, -DAY, parse_time("0001-01-01"), parse_time("9999-12-31")]),
)
written_times = st.one_of(
    moments.map(lambda moment: scalar.text_of(moment, Kind.TIME)),
    st.sampled_from(
        [
            "2026-01-31",
            " 2026-01-31 12:30 ",
            "2026-01-31T12:30:05.25+02:00",
            "2026-01-31 12:30:05.1234567-0130",
            "2026-02-29",
            "2026-02-28T23:59:60Z",
            "2026-02-30T12:00:00Z",
            "0000-01-01 00:00:00",
            "2026-01-31T12:30:05.5Z",
            "2026-01-31t12:30:05.250000",
            "2026-01-31T12:30:05.",
            "2026-01-31T12:30:05ZZ",
            "2026-01-31T24:00",
            "2026-01-31T12:30+25",
            "2026-13-01",
            "31/01/2026",
            "now",
            "",
        ]
    ),
)
numerals = st.one_of(
    integers.map(str),
    floats.map(repr),
    texts,
    st.sampled_from(
        " 12 |+5|-0|1e3|.5|5.|1e999|9223372036854775808|-9223372036854775808|nan|0x10|1_000|٣|yes|OFF|T|--1"
        "|\t7\n|00012|1e-400|0000000000000000000000000000007|inf|1 2".split("|")
    ),
)
VALUES: dict[Type, st.SearchStrategy[Any]] = {
    INT: integers,
    FLOAT: floats,
    STRING: texts,
    BOOLEAN: st.booleans(),
    TIME: moments,
    DURATION: integers,
}


def column(index: int, type_: Type) -> Expression:
    return ColumnReference(f"c{index}", type_)


def agree(expression: Expression, types: Sequence[Type], rows: list[tuple[Any, ...]]) -> None:
    """The column equals the values, or both fail."""
    names = [f"c{index}" for index in range(len(types))]
    series = {
        name: pl.Series([row[index] for row in rows], dtype=dtype(types[index]))
        for index, name in enumerate(names)
    }
    frame = pl.DataFrame({"@tick": [0] * len(rows), **series})
    said = None
    try:
        expected = [scalar.evaluate(expression, dict(zip(names, row, strict=True)), 0) for row in rows]
    except DataError as error:
        said = error.message.split(" in ")[0]
    if said is not None:
        with pytest.raises(DataError, match=re.escape(said)):
            evaluate(expression, frame)
        return
    found = evaluate(expression, frame).to_list()
    assert len(found) == len(expected)
    for one, other in zip(found, expected, strict=True):
        if isinstance(one, float) and isinstance(other, float):
            assert math.isclose(one, other, rel_tol=1e-12, abs_tol=1e-300), (
                expression,
                rows,
                found,
                expected,
            )
        else:
            assert type(one) is type(other), (str(expression), rows, found, expected)
            assert one == other, (str(expression), rows, found, expected)


def rows_of(*types: Type, values: dict[int, st.SearchStrategy[Any]] | None = None) -> st.SearchStrategy[Any]:
    given_values = values or {}
    cells = [st.none() | (given_values[i] if i in given_values else VALUES[t]) for i, t in enumerate(types)]
    return st.lists(st.tuples(*cells), max_size=5)


def literal(value: Any) -> Literal:
    kinds: dict[type, Type] = {str: STRING, int: INT, float: FLOAT, bool: BOOLEAN}
    return Literal(value, kinds[type(value)])


# ---- text ------------------------------------------------------------------------------------------------------------

CHANGING = {
    "substring": (STRING, INT, INT),
    "replace": (STRING, STRING, STRING),
    "trim": (STRING, STRING),
    "ltrim": (STRING, STRING),
    "rtrim": (STRING, STRING),
    "split_part": (STRING, STRING, INT),
    "strpos": (STRING, STRING),
    "left": (STRING, INT),
    "right": (STRING, INT),
    "starts_with": (STRING, STRING),
    "ends_with": (STRING, STRING),
    "contains": (STRING, STRING),
    "atan2": (FLOAT, FLOAT),
    "cbrt": (FLOAT,),
    "log2": (FLOAT,),
    "asin": (FLOAT,),
    "acos": (FLOAT,),
    "atan": (FLOAT,),
    "epoch": (TIME,),
}
RESULTS = {"strpos": INT, "starts_with": BOOLEAN, "ends_with": BOOLEAN, "contains": BOOLEAN}
FLOATS = ("atan2", "cbrt", "log2", "asin", "acos", "atan", "epoch")
short = st.text(alphabet="ab.é🙂", max_size=2)


@pytest.mark.parametrize("function", sorted(CHANGING))
@given(data=st.data())
def test_functions_of_columns(function: str, data: st.DataObject) -> None:
    types = CHANGING[function]
    result = RESULTS.get(function, FLOAT if function in FLOATS else STRING)
    values = {index: short for index in range(1, len(types)) if types[index] == STRING}
    rows = data.draw(rows_of(*types, values=values))
    arguments = [column(index, type_) for index, type_ in enumerate(types)]
    agree(Call(function, tuple(arguments), result), types, rows)
    if not rows:
        return
    # Any argument but the first may be a constant.
    constants = [Literal(rows[0][index], types[index]) for index in range(1, len(types))]
    agree(Call(function, (arguments[0], *constants), result), types, rows)
    agree(Call(function, (Literal(rows[0][0], types[0]), *arguments[1:]), result), types, rows)


@given(rows_of(STRING), st.sampled_from(["lpad", "rpad"]), st.integers(-2, 12), st.none() | short)
def test_padding(rows: list[Any], function: str, length: int, fill: str | None) -> None:
    extra = () if fill is None else (literal(fill),)
    agree(Call(function, (column(0, STRING), literal(length), *extra), STRING), [STRING], rows)


def test_padding_is_postgres() -> None:
    def pad(function: str, text: str, length: int, fill: str) -> Any:
        return scalar.evaluate(
            Call(function, (literal(text), literal(length), literal(fill)), STRING), {}, None
        )

    assert pad("lpad", "hi", 5, "xy") == "xyxhi"
    assert pad("rpad", "hi", 5, "xy") == "hixyx"
    assert pad("lpad", "hello", 2, "x") == "he"


# ---- numbers ---------------------------------------------------------------------------------------------------------


@given(
    st.data(),
    st.sampled_from(["round", "trunc"]),
    st.sampled_from([INT, FLOAT]),
    st.integers(-22, 22) | st.just(400),
)
def test_decimals(data: st.DataObject, function: str, type_: Type, digits: int) -> None:
    rows = data.draw(rows_of(type_))
    agree(Call(function, (column(0, type_), literal(digits)), type_), [type_], rows)
    agree(Call(function, (column(0, type_),), type_), [type_], rows)


@pytest.mark.parametrize(
    ("value", "digits", "expected"),
    [
        (2.5, 0, 3.0),
        (-2.5, 0, -3.0),
        (1.25, 1, 1.3),
        (-1.25, 1, -1.3),
        (1250.0, -2, 1300.0),
        (125, -1, 130),
        (-125, -1, -130),
    ],
)
def test_halves_are_rounded_away_from_zero(value: Any, digits: int, expected: Any) -> None:
    found = scalar.evaluate(Call("round", (literal(value), literal(digits)), literal(value).type), {}, None)
    assert found == expected
    assert type(found) is type(expected)


any_moment = moments | st.sampled_from([INT_MAXIMUM, INT_MINIMUM, INT_MINIMUM + DAY])

# ---- casts -----------------------------------------------------------------------------------------------------------

SOURCES = {
    "cast_int": (FLOAT, BOOLEAN, STRING),
    "cast_float": (BOOLEAN, STRING),
    "cast_boolean": (INT, FLOAT, STRING),
    "cast_time": (STRING,),
}


@pytest.mark.parametrize("function", sorted(SOURCES))
@given(data=st.data())
def test_casts(function: str, data: st.DataObject) -> None:
    source = data.draw(st.sampled_from(SOURCES[function]))
    target = Type(Kind(CASTS[function]))
    cells = written_times if function == "cast_time" else numerals
    rows = data.draw(rows_of(source, values={0: cells} if source == STRING else {}))
    agree(Call(function, (column(0, source),), target), [source], rows)
    agree(Call(f"try_{function}", (column(0, source),), target), [source], rows)
    guarded = Case(
        (Call("is_null", (Call(f"try_{function}", (column(0, source),), target),), BOOLEAN),),
        (Literal(None, target),),
        Call(function, (column(0, source),), target),
        target,
    )
    agree(guarded, [source], rows)  # what a condition keeps away cannot fail


@given(st.data(), st.sampled_from([FLOAT, TIME, INT, BOOLEAN, DURATION]))
def test_text_of_values(data: st.DataObject, type_: Type) -> None:
    values = {TIME: any_moment, FLOAT: st.floats(allow_nan=False, allow_infinity=False), DURATION: small}
    rows = data.draw(rows_of(type_, values={0: values[type_]} if type_ in values else {}))
    agree(Call("string", (column(0, type_),), STRING), [type_], rows)


# ---- times -----------------------------------------------------------------------------------------------------------

FIELDS = (
    "microsecond millisecond second minute hour day dow isodow doy week isoyear month quarter year"
).split()
ZONES = ("Europe/Zurich", "America/St_Johns", "Australia/Lord_Howe", "Asia/Kathmandu", "Pacific/Apia")


@given(rows_of(TIME, values={0: any_moment}), st.sampled_from(FIELDS))
def test_fields(rows: list[Any], field: str) -> None:
    agree(Call("date_part", (literal(field), column(0, TIME)), INT), [TIME], rows)


@given(
    rows_of(TIME, values={0: any_moment}),
    st.sampled_from([*FIXED, *CALENDAR]),
    st.none() | st.sampled_from(ZONES),
)
@example([(INT_MINIMUM,)], "YEAR", None)
def test_truncation(rows: list[Any], unit: str, zone: str | None) -> None:
    extra = () if zone is None else (literal(zone),)
    if zone is not None:  # near the ends of TIME, in the year 294,000, a local time does not fit
        rows = [row for row in rows if row[0] is None or abs(row[0]) < 2**62]
    agree(Call("date_trunc", (literal(unit.lower()), column(0, TIME), *extra), TIME), [TIME], rows)


@given(
    rows_of(TIME, TIME, values={0: any_moment, 1: any_moment}),
    st.sampled_from([1, 7 * SECOND, HOUR, DAY, 2**62]),
)
def test_bins(rows: list[Any], width: int) -> None:
    agree(
        Call("date_bin", (Literal(width, DURATION), column(0, TIME), column(1, TIME)), TIME),
        [TIME, TIME],
        rows,
    )


@given(rows_of(TIME, values={0: any_moment}), st.integers(-30, 30) | st.sampled_from([-120_000, 120_000]))
@example([(INT_MINIMUM,), (INT_MAXIMUM,)], 0)
def test_months(rows: list[Any], count: int) -> None:
    agree(Call("add_months", (column(0, TIME), Literal(count, INT)), TIME), [TIME], rows)


@given(rows_of(TIME, values={0: any_moment}), st.sampled_from(ZONES))
def test_zones(rows: list[Any], zone: str) -> None:
    agree(Call("timezone", (literal(zone), column(0, TIME)), TIME), [TIME], rows)
    agree(Call("to_utc", (column(0, TIME), literal(zone)), TIME), [TIME], rows)


WRITTEN = (
    "YYYY-MM-DD HH24:MI:SS.US",
    "%j %H:%M%% %f",
    "Dy DD Mon YYYY HH12:MI AM",
    "DAY, month MONTH Day dy pm",
    "IYYY-IW-ID Q DDD YY MS",
    "%Y-%m-%dT%H:%M:%S.%f %j %a %A %b %B %p %I %u %V %G %y %%",
    '"Y"YYYY日',
)


@given(rows_of(TIME, values={0: any_moment}), st.sampled_from(WRITTEN))
def test_writing(rows: list[Any], template: str) -> None:
    agree(Call("to_char", (column(0, TIME), literal(template)), STRING), [TIME], rows)


READ = (
    "YYYY-MM-DD HH24:MI:SS",
    "DD.MM.YYYY",
    "Mon DD YYYY HH12:MI AM",
    "%d/%m/%y %H:%M",
    "YYYY DDD",
    "Month YYYY",
    "YYYYMMDD HH24MISS.MS",
    "%Y-%m-%dT%H:%M:%S.%f",
)


@given(st.data(), st.sampled_from(READ))
def test_reading(data: st.DataObject, template: str) -> None:
    def write(moment: int) -> str:
        return str(
            scalar.evaluate(Call("to_char", (Literal(moment, TIME), literal(template)), STRING), {}, None)
        )

    cells = st.one_of(
        moments.map(write),
        moments.map(write).map(lambda text: text.replace("1", "3")),
        st.sampled_from(["", "31.02.2026", "Feb 30 2026 13:00 PM", "2026 366", "2024 366"]),
    )
    rows = data.draw(rows_of(STRING, values={0: cells}))
    agree(Call("to_timestamp", (column(0, STRING), literal(template)), TIME), [STRING], rows)


@given(st.data(), st.sampled_from([INT, FLOAT]))
def test_seconds_since_1970(data: st.DataObject, type_: Type) -> None:
    rows = data.draw(rows_of(type_))
    agree(Call("to_timestamp", (column(0, type_),), TIME), [type_], rows)


@given(moments.filter(lambda moment: parse_time("1969-01-01") <= moment < parse_time("2069-01-01")))
def test_a_time_is_read_as_it_was_written(moment: int) -> None:
    template = literal("YYYY-MM-DD HH24:MI:SS.US")
    text = Call("to_char", (Literal(moment, TIME), template), STRING)
    assert scalar.evaluate(Call("to_timestamp", (text, template), TIME), {}, None) == moment
    text = Call("string", (Literal(moment, TIME),), STRING)
    assert scalar.evaluate(Call("cast_time", (text,), TIME), {}, None) == moment


# ---- patterns and formats --------------------------------------------------------------------------------------------

PATTERNS = (
    r"a", r"^a", r"b$", r"[0-9]+", r"(\w)(\d*)", r"a|b|", r".", r"x*", r"\s", r"[^a-b]", r"(a)|(b)", r"(?:ab)+?",
    r"\bA", r"[\d.]{1,2}", r"日|🙂", r"[é-ü]", r"\.", r"a{0}", r"(a*)b", r"^$", r"\W\S", r"[-a]", r"[a\-b]",
)  # fmt: skip


@given(rows_of(STRING), st.sampled_from(PATTERNS), st.sampled_from(["", "i"]))
def test_matching(rows: list[Any], pattern: str, flags: str) -> None:
    agree(Call("regexp_like", (column(0, STRING), literal(pattern), literal(flags)), BOOLEAN), [STRING], rows)


@given(
    rows_of(STRING),
    st.sampled_from(PATTERNS),
    st.sampled_from(["", "#", r"<\0>", "$1", r"\\"]),
    st.sampled_from(["", "g", "ig"]),
)
def test_replacing(rows: list[Any], pattern: str, replacement: str, flags: str) -> None:
    arguments = (column(0, STRING), literal(pattern), literal(replacement), literal(flags))
    agree(Call("regexp_replace", arguments, STRING), [STRING], rows)


@given(
    rows_of(STRING), st.sampled_from([p for p in PATTERNS if "(" in p and "?" not in p]), st.integers(0, 1)
)
def test_extracting(rows: list[Any], pattern: str, group: int) -> None:
    agree(
        Call("regexp_extract", (column(0, STRING), literal(pattern), literal(group)), STRING), [STRING], rows
    )
    grouped = Call(
        "regexp_replace", (column(0, STRING), literal(pattern), literal(r"\1!"), literal("g")), STRING
    )
    agree(grouped, [STRING], rows)


@given(
    rows_of(INT, FLOAT, STRING),
    st.sampled_from(["{:05d} {:.2f} {}", "{:>8}|{:e}|{:^5}", "{{{:+d}}} {:8.1f} {:3}"]),
)
def test_formatting(rows: list[Any], template: str) -> None:
    arguments = (literal(template), column(0, INT), column(1, FLOAT), column(2, STRING))
    agree(Call("format", arguments, STRING), [INT, FLOAT, STRING], rows)


@given(rows_of(INT, INT))
def test_distinct_from(rows: list[Any]) -> None:
    agree(Call("is_distinct", (column(0, INT), column(1, INT)), BOOLEAN), [INT, INT], rows)
    agree(Call("is_distinct", (column(0, INT), Literal(None, INT)), BOOLEAN), [INT, INT], rows)


def test_every_function_has_both_forms() -> None:
    assert set(FUNCTIONS) <= set(scalar.STRICT) | {"least", "greatest", "string", "python"}
    assert set(scalar.STRICT) <= STRICT
