"""Filters with several conditions, IN lists and strings, against asking each condition of each row."""

from __future__ import annotations

from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import nilometer
from nilometer.dataflow import Batch, MemorySources
from nilometer.dataflow.conjunctions import _inside
from nilometer.dataflow.filters import Range, Values, conditions_of, stateless_over
from nilometer.dataflow.graph import Graph
from nilometer.engine.data import frame_of
from nilometer.kernels.filter_ranges import Ranges, filter_ranges

DATABASE = nilometer.connect()
DATABASE.execute("CREATE STREAM s (x INT, v FLOAT, name STRING) PUSHED;")
STREAM = DATABASE.catalog.stream("s")

numbers = st.tuples(st.sampled_from("xv"), st.sampled_from(("<", "<=", ">", ">=", "=")), st.integers(-2, 3))
lists = st.tuples(st.sampled_from("xv"), st.just("IN"), st.lists(st.integers(-2, 3), min_size=1, max_size=3))
words = st.tuples(st.just("name"), st.just("="), st.sampled_from("abc"))
several = st.tuples(
    st.just("name"), st.just("IN"), st.lists(st.sampled_from(["a", "b", "c"]), min_size=1, max_size=3)
)
filters = st.lists(st.lists(st.one_of(numbers, lists, words, several), max_size=4), min_size=1, max_size=12)
rows = st.lists(
    st.tuples(
        st.none() | st.integers(-3, 3),
        st.none() | st.integers(-6, 6).map(lambda n: n / 2),
        st.none() | st.sampled_from("abcd"),
    ),
    max_size=12,
)


def text_of(condition: tuple[str, str, Any]) -> str:
    column, symbol, bound = condition
    return (
        f"{column} {symbol} ({', '.join(map(repr, bound))})"
        if symbol == "IN"
        else f"{column} {symbol} {bound!r}"
    )


def holds(condition: tuple[str, str, Any], row: dict[str, Any]) -> bool:
    column, symbol, bound = condition
    value = row[column]
    if value is None:
        return False
    compared = {"<": lambda: value < bound, "<=": lambda: value <= bound, ">": lambda: value > bound}
    compared |= {">=": lambda: value >= bound, "=": lambda: value == bound, "IN": lambda: value in bound}
    return bool(compared[symbol]())


@pytest.mark.parametrize("long", [0, 1 << 40])
@given(filters, st.lists(rows, max_size=3))
def test_each_query_gets_what_it_gets_alone(long: int, asked: list[Any], batches: list[list[Any]]) -> None:
    """With batches that count as long, whose values are compared one by one, and with short ones."""
    with patch("nilometer.dataflow.conjunctions.LONG", long):
        each_gets_what_it_gets_alone(asked, batches)


def each_gets_what_it_gets_alone(asked: list[Any], batches: list[list[Any]]) -> None:
    graph = Graph(MemorySources())
    for number, parts in enumerate(asked):
        where = f" WHERE {' AND '.join(map(text_of, parts))}" if parts else ""
        graph.install(f"q{number}", DATABASE.sql(f"SELECT time, x, v, name FROM s{where}").physical)
    time, everything = 0, []
    for batch in batches:
        listed = [{"time": (time := time + 1), "id": 1, "x": x, "v": v, "name": n} for x, v, n in batch]
        everything += listed
        graph.push("s", Batch(frame_of(listed, STREAM)))
        graph.run()
    for number, parts in enumerate(asked):
        expected = [
            (row["time"], row["x"], row["v"], row["name"])
            for row in everything
            if all(holds(condition, row) for condition in parts)
        ]
        assert [row for frame in graph.answers(f"q{number}") for row in frame.rows()] == expected
        assert graph.ledger(f"q{number}").balanced


def test_conditions_on_one_column_are_one() -> None:
    acquire = stateless_over(
        DATABASE.sql("SELECT x FROM s WHERE x IN (1, 2, 3) AND x > 1 AND name = 'a'").physical
    )
    assert acquire is not None
    found, rest = conditions_of(acquire)
    assert found == {"x": Values("x", frozenset({2, 3})), "name": Values("name", frozenset({"a"}))}
    assert rest is None


@pytest.mark.parametrize(("low", "high"), [(1.0, None), (None, 1.0), (0.0, 2.0)])
@pytest.mark.parametrize("closed", [True, False])
def test_values_that_are_no_numbers_count_as_where_they_are_sorted(
    low: float | None, high: float | None, closed: bool
) -> None:
    values = np.array([0.0, 0.5, 1.0, 2.0, np.inf, np.nan])
    wanted = Range("v", low, closed, high, closed)
    starts, ends = filter_ranges(values, Ranges.of([(low, closed, high, closed)]))
    assert np.flatnonzero(_inside(values, wanted)).tolist() == list(range(int(starts[0]), int(ends[0])))
