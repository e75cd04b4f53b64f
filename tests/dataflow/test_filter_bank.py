"""Many filters over one stream in one module, against asking each condition of each row."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import nilometer
from nilometer.dataflow import Batch, MemorySources, conjunctions
from nilometer.dataflow.filters import Range, conditions_of, stateless_over
from nilometer.dataflow.graph import Graph
from nilometer.engine.data import frame_of
from nilometer.errors import DataError

DATABASE = nilometer.connect()
DATABASE.execute("CREATE STREAM s (x INT, v FLOAT, name STRING) PUSHED;")
STREAM = DATABASE.catalog.stream("s")

COMPARE: dict[str, Any] = {
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
    "=": lambda a, b: a == b,
}
conditions = st.lists(
    st.tuples(st.sampled_from("xv"), st.sampled_from(sorted(COMPARE)), st.integers(-2, 3)), max_size=3
)
rows = st.lists(
    st.tuples(st.none() | st.integers(-3, 3), st.none() | st.integers(-6, 6).map(lambda n: n / 2)),
    max_size=12,
)


def range_of(text: str) -> Range | None:
    acquire = stateless_over(DATABASE.sql(text).physical)
    assert acquire is not None
    found = conditions_of(acquire)[0].get("x")
    return found if isinstance(found, Range) else None


@given(st.lists(conditions, min_size=1, max_size=14), st.lists(rows, max_size=4))
def test_each_filter_gets_its_rows_in_log_order(
    filters: list[list[tuple[str, str, int]]], batches: list[list[tuple[Any, Any]]]
) -> None:
    graph = Graph(MemorySources())
    for number, parts in enumerate(filters):
        text = " AND ".join(f"{column} {symbol} {bound}" for column, symbol, bound in parts)
        graph.install(
            f"q{number}",
            DATABASE.sql("SELECT time, x, v FROM s" + (f" WHERE {text}" if parts else "")).physical,
        )
    time = 0
    all_rows = []
    for batch in batches:
        listed = [{"time": (time := time + 1), "id": 1, "x": x, "v": v, "name": None} for x, v in batch]
        all_rows += listed
        graph.push("s", Batch(frame_of(listed, STREAM)))
        graph.run()
    for number, parts in enumerate(filters):
        expected = [
            (row["time"], row["x"], row["v"])
            for row in all_rows
            if all(row[c] is not None and COMPARE[symbol](row[c], bound) for c, symbol, bound in parts)
        ]
        found = [row for frame in graph.answers(f"q{number}") for row in frame.rows()]
        assert found == expected
        ledger = graph.ledger(f"q{number}")
        assert (ledger.read, ledger.delivered, ledger.filtered) == (
            len(all_rows),
            len(expected),
            len(all_rows) - len(expected),
        )


@pytest.mark.parametrize("pairs", [3, conjunctions.PAIRS])
@given(
    st.lists(
        st.tuples(st.sampled_from(["x", "v"]), st.integers(-3, 40), st.integers(0, 9)),
        min_size=8,
        max_size=30,
    ),
    st.lists(st.lists(st.none() | st.integers(0, 39), min_size=9, max_size=60), min_size=1, max_size=3),
    st.sets(st.integers(0, 7)),
)
def test_many_narrow_ranges_are_answered_together(
    pairs: int, filters: list[tuple[str, int, int]], batches: list[list[int | None]], gone: set[int]
) -> None:
    """Each gets its own rows, of its own columns, also after some have gone."""
    graph = Graph(MemorySources())
    for number, (column, low, width) in enumerate(filters):
        text = f"SELECT time, {column} FROM s WHERE {column} >= {low} AND {column} < {low + width}"
        graph.install(f"q{number}", DATABASE.sql(text).physical)
    time = 0
    all_rows = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(conjunctions, "PAIRS", pairs)
        for count, batch in enumerate(batches):
            if count == 1:
                for number in gone:
                    graph.remove(f"q{number}")
            listed = [
                {
                    "time": (time := time + 1),
                    "id": 1,
                    "x": x,
                    "v": None if x is None else 39.0 - x,
                    "name": None,
                }
                for x in batch
            ]
            all_rows += listed
            graph.push("s", Batch(frame_of(listed, STREAM)))
            graph.run()
    for number, (column, low, width) in enumerate(filters):
        if f"q{number}" in graph.queries:
            expected = [
                (row["time"], row[column])
                for row in all_rows
                if row[column] is not None and low <= row[column] < low + width  # type: ignore[operator]
            ]
            assert [row for frame in graph.answers(f"q{number}") for row in frame.rows()] == expected


def test_the_range_is_the_narrowest() -> None:
    assert range_of("SELECT x FROM s WHERE x > 1 AND x >= 1 AND x < 9 AND x <= 9 AND v > 2") == Range(
        "x", 1, False, 9, False
    )
    assert range_of("SELECT x FROM s WHERE 3 = x") == Range("x", 3, True, 3, True)
    assert range_of("SELECT x FROM s WHERE name = 'a'") is None
    # What stands before an overflow may not be hidden by what stands behind it.
    assert range_of("SELECT x FROM s WHERE x * x > 4 AND x > 2") is None


def test_one_filter_that_fails_leaves_the_others_alone() -> None:
    graph = Graph(MemorySources())
    graph.install("good", DATABASE.sql("SELECT x FROM s WHERE x > 1").physical)
    graph.install("bad", DATABASE.sql("SELECT x * x AS y FROM s WHERE x > 0").physical)
    graph.install("windows", DATABASE.sql("SELECT SUM(x) AS y FROM s [RANGE 2 SECONDS]").physical)
    for time, x in enumerate((3, 2**40, 4)):
        listed = [{"time": time, "id": 1, "x": x, "v": None, "name": None}]
        graph.push("s", Batch(frame_of(listed, STREAM)))
        graph.run()
    assert pl.concat(graph.answers("good")).rows() == [(3,), (2**40,), (4,)]
    assert pl.concat(graph.answers("bad")).rows() == [(9,)]
    with pytest.raises(DataError, match="overflow"):
        graph.answers("bad")
    graph.remove("bad")
    assert graph.queries == ("good", "windows")


def test_equal_filters_are_one() -> None:
    graph = Graph(MemorySources())
    for name in ("one", "two"):
        graph.install(name, DATABASE.sql("SELECT x FROM s WHERE x > 1").physical)
    graph.push("s", Batch(frame_of([{"time": 1, "id": 1, "x": 3, "v": None, "name": None}], STREAM)))
    graph.run()
    one, two = graph.answers("one"), graph.answers("two")
    assert one[0] is two[0]
    graph.remove("one")
    graph.push("s", Batch(frame_of([{"time": 2, "id": 1, "x": 4, "v": None, "name": None}], STREAM)))
    graph.run()
    assert pl.concat(graph.answers("two")).rows() == [(4,)]
