"""The scalar functions give what DuckDB gives, where both mean the same."""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from nilometer.catalog import Catalog, Stream, stream_columns
from nilometer.language import parse
from nilometer.plan.bind import bind
from nilometer.plan.logical import Project
from nilometer.plan.node import walk_plan
from nilometer.plan.scalar import evaluate
from nilometer.types import INT, Column, Kind

duckdb = pytest.importorskip("duckdb")

CATALOG = Catalog()
CATALOG.add_stream(Stream("s", stream_columns((Column("v", INT),))))


def ours(text: str) -> Any:
    """The value of a constant expression, bound as in a query; a TIME as a datetime."""
    plan = bind(parse(f"SELECT {text} AS c FROM s"), CATALOG)
    item = next(node for node in walk_plan(plan) if isinstance(node, Project)).items[0].expression
    value = evaluate(item, {}, None)
    if value is not None and item.type.kind is Kind.TIME:  # type: ignore[attr-defined]
        return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=value)
    return value


def theirs(text: str) -> Any:
    with duckdb.connect(":memory:") as connection:
        connection.execute("SET TimeZone = 'UTC'")
        value = connection.execute(f"SELECT {text}").fetchone()[0]
    if isinstance(value, datetime):
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)
    return value


TIMES = ("2026-03-29 00:59:59.123456", "2024-02-29 12:00:00", "1969-12-31 23:59:59.5", "2026-12-28 00:00:00")
TEXTS = ("gauge", "a-é-日-b", "  x ", "")


@pytest.mark.parametrize(
    "text",
    [
        "round(2.5::DOUBLE)",
        "round(-2.5::DOUBLE)",
        "round(1234.567::DOUBLE, 2)",
        "round(1250.0::DOUBLE, -2)",
        "trunc(-2.7::DOUBLE)",
        "cbrt(27.0::DOUBLE)",
        "atan2(1.0::DOUBLE, -1.0::DOUBLE)",
        "degrees(pi())",
        "radians(180.0::DOUBLE)",
        "log(1000.0::DOUBLE)",
        "log2(8.0::DOUBLE)",
        "log(3.0::DOUBLE, 9.0::DOUBLE)",
        "nullif(3, 3)",
        "nullif(3, 4)",
        "ifnull(NULL, 4)",
        "CAST(' 42 ' AS BIGINT)",
        "TRY_CAST('x' AS BIGINT)",
        "CAST('1e3' AS DOUBLE)",
        "CAST('yes' AS BOOLEAN)",
        "CAST(TRUE AS BIGINT)",
        "CAST(12 AS VARCHAR)",
        "TRY_CAST('2026-02-30' AS TIMESTAMP)",
        "CAST('2026-01-31 12:30:05.25' AS TIMESTAMP)",
        "'a' || 'b' || NULL",
        "NULL IS DISTINCT FROM 3",
        "NULL IS NOT DISTINCT FROM NULL",
        "(1 > NULL) IS TRUE",
        "'Gauge' ILIKE 'gA_g%'",
        "format('{} is {:.2f} {:>5}|{{}}', 'a', 2.5::DOUBLE, 'x')",
        "regexp_replace('a1b22', '[0-9]+', '#')",
        "regexp_replace('a1b22', '([a-z])([0-9]+)', '\\2\\1', 'g')",
        "regexp_extract('gauge-12', '([a-z]+)-([0-9]+)', 2)",
        "lpad('hi', 5, 'xy')",
        "rpad('hello', 2, 'x')",
        "position('日' IN 'a-é-日')",
        "trim(BOTH 'xy' FROM 'xyaxy')",
        "split_part('a-b-c', '-', -1)",
        "split_part('a-b-c', '-', 9)",
        "left('héllo', -2)",
        "right('héllo', 2)",
        "substring('gauge' FROM 2 FOR 3)",
        "starts_with('gauge', 'ga')",
        "strptime('31/01/2026 08:30', '%d/%m/%Y %H:%M')",
        "to_timestamp(1767225600) = TIMESTAMP '2026-01-01'",
        "INTERVAL '90 minutes' = INTERVAL '1' HOUR + INTERVAL 30 MINUTES",
    ],
)
def test_single_values(text: str) -> None:
    one, other = ours(text), theirs(text)
    if isinstance(one, float):
        assert math.isclose(one, other, rel_tol=1e-12)
    else:
        assert one == other


@pytest.mark.parametrize("time", TIMES)
@pytest.mark.parametrize(
    "field",
    "year month day hour minute second quarter week isoyear dow isodow doy millisecond microsecond epoch".split(),
)
def test_fields(time: str, field: str) -> None:
    text = f"EXTRACT({field} FROM TIMESTAMP '{time}')"
    assert ours(text) == theirs(text)


@pytest.mark.parametrize("time", TIMES)
@pytest.mark.parametrize("unit", "second minute hour day week month quarter year".split())
def test_truncation(time: str, unit: str) -> None:
    text = f"date_trunc('{unit}', TIMESTAMP '{time}')"
    assert ours(text) == theirs(text)


@pytest.mark.parametrize("time", TIMES)
def test_formats(time: str) -> None:
    text = f"strftime(TIMESTAMP '{time}', '%Y-%m-%d %H:%M:%S.%f %a %A %b %B %j %p %I %y %u')"
    assert ours(text) == theirs(text)


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize(
    "call",
    [
        "replace('{}', 'a', 'xx')",
        "trim('{}')",
        "ltrim('{}', 'ga')",
        "length('{}')",
        "left('{}', 3)",
        "right('{}', 3)",
        "substring('{}', 2)",
        "substring('{}', 3, 2)",
        "strpos('{}', '-')",
        "split_part('{}', '-', 2)",
        "upper('{}')",
        "contains('{}', 'u')",
        "regexp_matches('{}', '^[a-z]+$')",
    ],
)
def test_text(call: str, text: str) -> None:
    written = call.replace("{}", text)
    assert ours(written) == theirs(written)
