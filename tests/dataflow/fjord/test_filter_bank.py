"""Many filters over one stream in one module, against asking each condition of each row."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import nilometer
from nilometer.dataflow import Batch, MemorySources
from nilometer.dataflow.fjord import Fjord
from nilometer.dataflow.fjord.filters import Range, _range, stateless_over
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
    return _range(acquire)[0]


@given(st.lists(conditions, min_size=1, max_size=14), st.lists(rows, max_size=4))
def test_each_filter_gets_its_rows_in_log_order(
    filters: list[list[tuple[str, str, int]]], batches: list[list[tuple[Any, Any]]]
) -> None:
    fjord = Fjord(MemorySources())
    for number, parts in enumerate(filters):
        text = " AND ".join(f"{column} {symbol} {bound}" for column, symbol, bound in parts)
        fjord.install(
            f"q{number}",
            DATABASE.sql("SELECT time, x, v FROM s" + (f" WHERE {text}" if parts else "")).physical,
        )
    time = 0
    all_rows = []
    for batch in batches:
        listed = [{"time": (time := time + 1), "id": 1, "x": x, "v": v, "name": None} for x, v in batch]
        all_rows += listed
        fjord.push("s", Batch(frame_of(listed, STREAM)))
        fjord.run()
    for number, parts in enumerate(filters):
        expected = [
            (row["time"], row["x"], row["v"])
            for row in all_rows
            if all(row[c] is not None and COMPARE[symbol](row[c], bound) for c, symbol, bound in parts)
        ]
        found = [row for frame in fjord.answers(f"q{number}") for row in frame.rows()]
        assert found == expected
        ledger = fjord.ledger(f"q{number}")
        assert (ledger.read, ledger.delivered, ledger.filtered) == (
            len(all_rows),
            len(expected),
            len(all_rows) - len(expected),
        )


def test_the_range_is_the_narrowest() -> None:
    assert range_of("SELECT x FROM s WHERE x > 1 AND x >= 1 AND x < 9 AND x <= 9 AND v > 2") == Range(
        "x", 1, False, 9, False
    )
    assert range_of("SELECT x FROM s WHERE 3 = x") == Range("x", 3, True, 3, True)
    assert range_of("SELECT x FROM s WHERE name = 'a'") is None
    # What stands before an overflow may not be hidden by what stands behind it.
    assert range_of("SELECT x FROM s WHERE x * x > 4 AND x > 2") is None


def test_one_filter_that_fails_leaves_the_others_alone() -> None:
    fjord = Fjord(MemorySources())
    fjord.install("good", DATABASE.sql("SELECT x FROM s WHERE x > 1").physical)
    fjord.install("bad", DATABASE.sql("SELECT x * x AS y FROM s WHERE x > 0").physical)
    fjord.install("windows", DATABASE.sql("SELECT SUM(x) AS y FROM s [RANGE 2 SECONDS]").physical)
    for time, x in enumerate((3, 2**40, 4)):
        listed = [{"time": time, "id": 1, "x": x, "v": None, "name": None}]
        fjord.push("s", Batch(frame_of(listed, STREAM)))
        fjord.run()
    assert pl.concat(fjord.answers("good")).rows() == [(3,), (2**40,), (4,)]
    assert pl.concat(fjord.answers("bad")).rows() == [(9,)]
    with pytest.raises(DataError, match="overflow"):
        fjord.answers("bad")
    fjord.remove("bad")
    assert fjord.queries == ("good", "windows")


def test_equal_filters_are_one() -> None:
    fjord = Fjord(MemorySources())
    for name in ("one", "two"):
        fjord.install(name, DATABASE.sql("SELECT x FROM s WHERE x > 1").physical)
    fjord.push("s", Batch(frame_of([{"time": 1, "id": 1, "x": 3, "v": None, "name": None}], STREAM)))
    fjord.run()
    one, two = fjord.answers("one"), fjord.answers("two")
    assert one[0] is two[0]
    fjord.remove("one")
    fjord.push("s", Batch(frame_of([{"time": 2, "id": 1, "x": 4, "v": None, "name": None}], STREAM)))
    fjord.run()
    assert pl.concat(fjord.answers("two")).rows() == [(4,)]
