"""Columns of any kind to columns of the declared type, against plain Python."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import nilometer
from nilometer.catalog.form import Format
from nilometer.errors import DataError
from nilometer.ingest.readers.times import parse_iso_times
from nilometer.ingest.readers.values import read_values
from nilometer.types import BOOLEAN, FLOAT, INT, POINT, STRING, TIME, Type, parse_time

moments = st.datetimes(datetime(1900, 1, 1), datetime(2200, 1, 1)).flatmap(
    lambda moment: st.sampled_from(
        [None, UTC, timezone(timedelta(hours=5, minutes=30)), timezone(-timedelta(hours=8))]
    ).map(lambda zone: moment.replace(tzinfo=zone))
)
precisions = st.sampled_from(["auto", "minutes", "seconds", "milliseconds", "microseconds"])


@given(moments, precisions, st.sampled_from("T "), st.booleans())
def test_iso_texts_are_what_the_language_says(
    moment: datetime, precision: str, separator: str, zulu: bool
) -> None:
    text = moment.isoformat(sep=separator, timespec=precision)
    if zulu:
        text = text.replace("+00:00", "Z")
    assert parse_iso_times(pl.Series([text, None, text])).to_list() == [
        parse_time(text),
        None,
        parse_time(text),
    ]


@pytest.mark.parametrize(
    ("text", "microseconds"),
    [
        ("1970-01-02", 86_400_000_000),
        ("1970-01-01T00:00", 0),
        ("1970-01-01 00:00:01 UTC", 1_000_000),
        ("1970-01-01 00:00:01.5GMT", 1_500_000),
        ("1970-01-01T00:00:00.1234567Z", 123_456),
        ("1970-01-01T00:00:00,5", 500_000),
        ("1970-01-01T01:00:00+0100", 0),
        ("1970-01-01T01:00:00+01", 0),
        ("1969-12-31T23:59:59.999999Z", -1),
        ("1970-02-30T00:00:00", None),
        ("1970-01-01T25:00:00", None),
        ("1970-01-01T00:00:00+25:00", None),
        ("1970-01-01T00:00:00X", None),
        ("01/02/1970", None),
    ],
)
def test_iso_forms(text: str, microseconds: int | None) -> None:
    assert parse_iso_times(pl.Series([text])).to_list() == [microseconds]


@pytest.mark.parametrize(
    ("found", "declared", "values", "garbled"),
    [
        (pl.Series([" 5", "+6", "7.0", "1e3", "9223372036854775807"]), INT, [5, 6, 7, 1000, 2**63 - 1], []),
        (pl.Series(["9223372036854775808", "1.5", "x", "NULL", ""]), INT, [None] * 5, [0, 1, 2]),
        (
            pl.Series([1.0, 1.5, float("nan"), float("inf"), 1e300]),
            INT,
            [1, None, None, None, None],
            [1, 3, 4],
        ),
        (pl.Series([2**63, 1], dtype=pl.UInt64), INT, [None, 1], [0]),
        (pl.Series([Decimal("1.00"), Decimal("1.25")]), INT, [1, None], [1]),
        (pl.Series([True]), INT, [None], [0]),
        (
            pl.Series(["NaN", "-inf", "Infinity", " 2.5 ", ".5", "1,5"]),
            FLOAT,
            [None, None, None, 2.5, 0.5, None],
            [5],
        ),
        (pl.Series([Decimal("1.25")]), FLOAT, [1.25], []),
        (pl.Series([1, None]), FLOAT, [1.0, None], []),
        (
            pl.Series(["TRUE", "false", "1", "0", "yes", ""]),
            BOOLEAN,
            [True, False, True, False, None, None],
            [4],
        ),
        (pl.Series([1, 0, 2]), BOOLEAN, [True, False, None], [2]),
        (pl.Series([1, None]), STRING, ["1", None], []),
        (pl.Series(["null", ""]), STRING, ["null", ""], []),
        (pl.Series([5, None]), TIME, [5, None], []),
        (pl.Series([2**62]), TIME, [None], [0]),
        (pl.Series([5.0, 5.5]), TIME, [5, None], [1]),
        (pl.Series([datetime(1970, 1, 1, 0, 0, 1)], dtype=pl.Datetime("ns")), TIME, [1_000_000], []),
        (
            pl.Series([[1, 2], [1], None], dtype=pl.List(pl.Int64)),
            POINT,
            [{"x": 1.0, "y": 2.0}, None, None],
            [1],
        ),
        (pl.Series([{"Y": 2, "X": 1}]), POINT, [{"x": 1.0, "y": 2.0}], []),
        (pl.Series([{"a": 2}]), POINT, [None], [0]),
        (
            pl.Series(["POINT(1 2)", "(1;2)", "1", "a b"]),
            POINT,
            [{"x": 1.0, "y": 2.0}] * 2 + [None] * 2,
            [2, 3],
        ),
        (pl.Series(['{"x": 1, "y": 2}']), POINT, [{"x": 1.0, "y": 2.0}], []),
        (pl.Series([[1]], dtype=pl.List(pl.Int64)), STRING, [None], [0]),
        (pl.Series([None, None]), POINT, [None, None], []),
    ],
)
def test_values(found: pl.Series, declared: Type, values: list[object], garbled: list[int]) -> None:
    read = read_values(found, declared)
    assert read.values.to_list() == values
    assert (read.garbled.arg_true().to_list() if read.garbled is not None else []) == garbled


@given(st.lists(st.one_of(st.none(), st.floats(), st.integers(-(2**70), 2**70).map(float)), max_size=20))
def test_numbers_as_text_are_the_numbers(numbers: list[float | None]) -> None:
    read = read_values(pl.Series([None if n is None else repr(n) for n in numbers], dtype=pl.String), FLOAT)
    assert read.values.to_list() == [
        None if n is None or n != n or n in (float("inf"), -float("inf")) else n for n in numbers
    ]
    assert read.garbled is None


@pytest.mark.parametrize(
    ("decimal", "texts", "numbers"),
    [
        (
            ",",
            ["1.234,5", "-1.234.567", "2,5", "1.5", "12.34,5", "7"],
            [1234.5, -1234567.0, 2.5, None, None, 7.0],
        ),
        (".", ["1,234.5", "1,234", "2.5", "1,5", "1.234,5"], [1234.5, 1234.0, 2.5, None, None]),
        (None, ["1,234.5", "1,234", "2.5"], [None, None, 2.5]),
    ],
)
def test_marks_between_thousands(decimal: str | None, texts: list[str], numbers: list[float | None]) -> None:
    found = read_values(pl.Series(texts), FLOAT, None, Format("CSV", decimal=decimal))
    assert found.values.to_list() == numbers


def test_durations_are_seconds() -> None:
    assert read_values(pl.Series([timedelta(seconds=90), None]), FLOAT).values.to_list() == [90.0, None]


@pytest.mark.parametrize(
    ("first", "then", "told"),
    [
        ([999_999_000, 1_000_000_000], [], "1000000000 beside it like seconds"),  # microseconds go on
        ([600_000_000, 1_200_000_000], [], "1200000000 beside it like seconds"),  # or seconds since 1989
        ([0, 900_000_000, 1_800_000_000, 4_500_000_000], [], "4500000000 beside it"),
        ([5, 360_000_000_000], [], "360000000000 beside it like milliseconds"),
        ([1, 2], [1_000_000_000], "numbers before it look like microseconds"),  # in the next frame
        ([12, 1_763_400_000], [1_763_400_001], None),  # a clock that was not set, then one that was
        ([12], [1_763_400_000_000], None),
        ([1_000_000_000, 1_100_000_000], [], None),
        ([0, 500_000_000], [900_000_000], None),
    ],
)
@pytest.mark.parametrize("kind", [pl.Int64, pl.Float64, pl.String])
def test_numbers_that_tell_no_unit(
    first: list[int], then: list[int], told: str | None, kind: type[pl.DataType]
) -> None:
    for unit in (None, "us"):
        database = nilometer.connect()
        time = "" if unit is None else f"time INT UNIT '{unit}', "
        database.execute(f"CREATE STREAM river ({time}depth INT) PUSHED")

        def append(numbers: list[int], database: nilometer.Database = database) -> int:
            times = pl.Series("time", numbers, dtype=pl.Int64).cast(kind)
            return database.append("river", pl.DataFrame({"time": times, "depth": numbers}))

        if told is None or unit is not None:
            assert append(first) + append(then) == len(first) + len(then)
        else:
            with pytest.raises(DataError, match="the times of the frame tell no unit") as caught:  # noqa: PT012
                append(first)
                append(then)
            assert told in str(caught.value)
