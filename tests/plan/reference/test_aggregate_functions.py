"""The naive aggregates against DuckDB, numpy and worked examples."""

from __future__ import annotations

import math
from typing import Any

import duckdb
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nilometer.expressions import Aggregate, ColumnReference, Literal
from nilometer.plan.reference.aggregate_functions import NAIVE_AGGREGATES
from nilometer.types import FLOAT, STRING

SECOND = 1_000_000
values = st.lists(
    st.tuples(st.none() | st.integers(-5, 5), st.none() | st.integers(-40, 40).map(lambda n: n / 8)),
    max_size=12,
)


def naive(function: str, rows: list[tuple[Any, ...]]) -> Any:
    """The reference's answer."""
    rest = tuple(
        Literal(value, STRING) if isinstance(value, str) else ColumnReference(f"c{n}", FLOAT)
        for n, value in enumerate(rows[0][1:] if rows else ())
    )
    return NAIVE_AGGREGATES[function](
        Aggregate(function, ColumnReference("x", FLOAT), False, FLOAT, rest), rows
    )


def asked(text: str, rows: list[tuple[Any, ...]]) -> Any:
    """DuckDB's answer over rows of x and y."""
    database = duckdb.connect()
    database.execute("CREATE TABLE r (x DOUBLE, y DOUBLE, n INTEGER)")
    if rows:
        database.executemany("INSERT INTO r VALUES (?, ?, ?)", [(*row, n) for n, row in enumerate(rows)])
    found = database.execute(f"SELECT {text} FROM r").fetchone()
    assert found is not None
    return found[0]


@pytest.mark.parametrize(
    "function", ["corr", "covar_pop", "covar_samp", "regr_slope", "regr_intercept", "regr_r2"]
)
@given(rows=values)
def test_pairs_are_those_of_duckdb(function: str, rows: list[tuple[Any, ...]]) -> None:
    theirs = asked(f"{function}(x, y)", rows)
    ours = naive(function, rows)
    # DuckDB gives NaN or NULL where a value does not vary.
    if theirs is None or math.isnan(theirs):
        assert ours is None
    else:
        assert ours == pytest.approx(theirs, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("share", [0.0, 0.1, 0.25, 0.5, 0.75, 0.9, 1.0])
@given(rows=values)
def test_percentiles_are_those_of_duckdb(share: float, rows: list[tuple[Any, ...]]) -> None:
    given_share = [(x, share) for x, _ in rows]
    assert naive("percentile_cont", given_share) == pytest.approx(asked(f"quantile_cont(x, {share})", rows))
    assert naive("percentile_disc", given_share) == asked(
        f"percentile_disc({share}) WITHIN GROUP (ORDER BY x)", rows
    )


@given(values)
def test_ordered_ones_are_those_of_duckdb(rows: list[tuple[Any, ...]]) -> None:
    numbered = [(x, n) for n, (x, _) in enumerate(rows)]
    assert naive("array_agg", numbered) == asked("array_agg(x ORDER BY n) FILTER (WHERE x IS NOT NULL)", rows)
    assert naive("first", numbered) == asked("first(x ORDER BY n) FILTER (WHERE x IS NOT NULL)", rows)
    assert naive("last", numbered) == asked("last(x ORDER BY n) FILTER (WHERE x IS NOT NULL)", rows)
    by = [(n, y) for n, (_, y) in enumerate(rows)]
    for function in ("arg_max", "arg_min"):
        assert naive(function, by) == asked(f"{function}(n, y ORDER BY n)", rows)


def over_time(function: str, method: str, *readings: tuple[float | None, float, int]) -> Any:
    """TWA or INTEGRAL of (value, second, source)."""
    return naive(function, [(value, method, round(at * SECOND), source) for value, at, source in readings])


def test_a_step_holds_until_the_next_reading() -> None:
    assert over_time("twa", "STEP", (10, 0, 1), (20, 1, 1), (99, 4, 1)) == (10 * 1 + 20 * 3) / 4
    assert over_time("integral", "STEP", (10, 0, 1), (20, 1, 1), (99, 4, 1)) == 70


def test_a_line_is_drawn_between_readings() -> None:
    assert over_time("twa", "LINEAR", (10, 0, 1), (20, 1, 1), (40, 4, 1)) == (15 * 1 + 30 * 3) / 4
    assert over_time("integral", "LINEAR", (10, 0, 1), (20, 1, 1), (40, 4, 1)) == 105


def test_each_source_counts_for_as_long_as_it_was_heard() -> None:
    readings = ((10, 0, 1), (10, 6, 1), (40, 0, 2), (40, 2, 2), (7, 3, 3))
    assert over_time("twa", "STEP", *readings) == (10 * 6 + 40 * 2) / 8
    assert over_time("integral", "LINEAR", *readings) == 140


def test_of_single_readings_it_is_the_plain_mean_and_no_area() -> None:
    assert over_time("twa", "STEP", (10, 0, 1), (20, 5, 2)) == 15
    assert over_time("integral", "LINEAR", (10, 0, 1), (20, 5, 2)) == 0
    assert over_time("twa", "STEP", (None, 0, 1)) is None
    assert over_time("integral", "STEP") is None


def test_a_null_is_no_reading() -> None:
    assert over_time("twa", "LINEAR", (10, 0, 1), (None, 1, 1), (30, 4, 1)) == 20
