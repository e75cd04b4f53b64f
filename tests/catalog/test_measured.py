"""Statistics of columns say which share of readings a condition keeps."""

from __future__ import annotations

from pathlib import Path

import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from nilometer.catalog import Stream, stream_columns
from nilometer.catalog.measured import MeasuredStream, file_of, kept
from nilometer.expressions import Call, ColumnReference, InList, Literal
from nilometer.live.statistics import PARTS, keep, measure
from nilometer.optimizer.selectivity import selectivity
from nilometer.types import BOOLEAN, FLOAT, INT, SECOND, STRING, Column

STREAM = Stream(
    "air", stream_columns((Column("n", INT), Column("x", FLOAT), Column("kind", STRING))), every=None
)


def frame(values: list[int | None]) -> pl.DataFrame:
    return pl.DataFrame(
        {
            "time": [place * SECOND for place in range(len(values))],
            "id": [place % 2 for place in range(len(values))],
            "n": values,
            "x": [None if value is None else value / 2 for value in values],
            "kind": [None if value is None else "ab"[value % 2] for value in values],
        },
        schema={"time": pl.Int64, "id": pl.Int64, "n": pl.Int64, "x": pl.Float64, "kind": pl.String},
    )


def share(measured: MeasuredStream, way: str, value: float | str | None, column: str = "n") -> float:
    types = {"n": INT, "x": FLOAT, "kind": STRING}
    named = {f"s.{one.name}": one for one in measured.columns}
    compared = ColumnReference(f"s.{column}", types[column]), Literal(value, types[column])
    return selectivity(Call(way, compared, BOOLEAN), named)


@given(st.lists(st.one_of(st.none(), st.integers(-50, 50)), min_size=1, max_size=400), st.integers(-60, 60))
def test_shares_are_near_those_of_the_readings(values: list[int | None], bound: int) -> None:
    measured = measure(STREAM, frame(values), len(values), 0)
    present = [value for value in values if value is not None]
    tolerance = 2 / PARTS + max((present.count(value) for value in present), default=0) / len(values)
    for way, test in (
        ("<", lambda value: value < bound),
        (">=", lambda value: value >= bound),
        ("=", lambda value: value == bound),
    ):
        actual = sum(map(test, present)) / len(values)
        assert abs(share(measured, way, bound) - actual) <= tolerance, way
    assert abs(share(measured, "=", None)) == 0.0


def test_few_values_are_counted_exactly() -> None:
    measured = measure(STREAM, frame([1, 1, 1, 2, None, 3, 3, 3]), 10, 2)
    assert share(measured, "=", 1) == 3 / 8
    assert share(measured, "=", 9) == 0.0
    assert share(measured, "<", 1) == 3 / 8  # an estimate does not tell < from <=
    assert share(measured, "=", "a", "kind") == 1 / 8
    assert measured.interval == 2 * SECOND
    assert measured.sources == 2
    assert measured.rate == 1.0
    assert (measured.received, measured.garbled) == (10, 2)
    column = measured.column("N")
    assert column is not None
    assert (column.nulls, column.distinct, column.quantile(0.0), column.quantile(1.0)) == (1 / 8, 3, 1.0, 3.0)


def test_conditions_on_one_column_are_one_range() -> None:
    measured = measure(STREAM, frame(list(range(1_000))), 1_000, 0)
    named = {f"s.{one.name}": one for one in measured.columns}
    n = ColumnReference("s.n", INT)

    def compare(way: str, value: int) -> Call:
        return Call(way, (n, Literal(value, INT)), BOOLEAN)

    both = Call("and", (compare(">", 400), compare("<", 500)), BOOLEAN)
    assert abs(selectivity(both, named) - 0.1) < 0.03
    assert selectivity(Call("and", (compare(">", 500), compare("<", 400)), BOOLEAN), named) == 0.0
    either = Call("or", (compare("<", 100), compare(">", 900)), BOOLEAN)
    assert abs(selectivity(either, named) - 0.2) < 0.04
    listed = InList(n, (Literal(1, INT), Literal(2, INT), Literal(5_000, INT)))
    assert abs(selectivity(listed, named) - 0.002) < 0.0005


def test_without_statistics_the_rules_of_thumb_apply() -> None:
    n = ColumnReference("s.n", INT)
    assert selectivity(Call("<", (n, Literal(1, INT)), BOOLEAN)) == 1 / 3
    assert selectivity(Call("!=", (n, Literal(1, INT)), BOOLEAN)) == 1.0
    assert selectivity(Call("or", (Call("<", (n, Literal(1, INT)), BOOLEAN),) * 2, BOOLEAN)) == 1.0


def test_statistics_are_kept_and_others_are_ignored(tmp_path: Path) -> None:
    measured = measure(STREAM, frame([1, None, 3]), 3, 0)
    keep(tmp_path, measured)
    assert kept(tmp_path, "AIR") == measured
    place = tmp_path / ".nilometer" / "statistics" / file_of("air")
    place.write_bytes(place.read_bytes().replace(b'"format": 1', b'"format": 2'))
    assert kept(tmp_path, "air") is None
    place.write_bytes(b"garbage")
    assert kept(tmp_path, "air") is None
    assert kept(tmp_path, "water") is None
    assert kept(None, "air") is None


def test_an_empty_stream_can_be_measured() -> None:
    measured = measure(STREAM, frame([]), 0, 0)
    assert (measured.readings, measured.rate, measured.interval) == (0, None, None)
