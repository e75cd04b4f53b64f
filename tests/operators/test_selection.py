"""FIRST, LAST, ARG_MAX and ARG_MIN of windows: the rows that are kept decide as all rows would."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nilometer.expressions import Aggregate, Call, ColumnReference, Literal
from nilometer.operators.frames import stream_dtypes
from nilometer.operators.logic import Logic, Progress
from nilometer.operators.window_aggregate import holistic
from nilometer.operators.window_aggregate.window_aggregate import WindowAggregate
from nilometer.types import BOOLEAN, INT, STRING, Column, Schema

SCHEMA = Schema((Column("v", INT), Column("s", STRING), Column("k", INT), Column("t", INT)))
V, S, K, T = (ColumnReference(c.name, c.type) for c in SCHEMA)
ITEMS = (
    ("first", Aggregate("first", V, False, INT, (T, K))),
    ("last", Aggregate("last", S, False, STRING, (T, K))),
    ("top", Aggregate("arg_max", S, False, STRING, (V, T, K))),
    ("low", Aggregate("arg_min", V, False, INT, (S,))),
    ("least", Aggregate("min", S, False, STRING)),
    ("most", Aggregate("max", V, False, INT)),
)
SMALL = Call("<", (V, Literal(3, INT)), BOOLEAN)

rows = st.lists(
    st.tuples(
        st.integers(0, 30),
        st.none() | st.integers(0, 4),
        st.none() | st.sampled_from("abc"),
        st.integers(1, 2),
        st.integers(0, 3),
    ),
    max_size=25,
)
windows = st.sampled_from([(7, 0, 3, True), (6, 2, 4, False), (2, 0, 5, True), (None, 0, 3, False)])


def answers(logic: Logic, frame: pl.DataFrame, cut: int, first: int | None) -> list[Any]:
    """What comes of rows in two batches; the state is taken over in between."""
    logic.update(0, frame.filter(pl.col("@tick") < cut))
    logic.update(0, frame.filter(pl.col("@tick") >= cut))
    return [*logic.advance(Progress(cut, first)).rows.rows(), *logic.advance(Progress(50, first)).rows.rows()]


@given(rows, windows, st.booleans(), st.booleans(), st.integers(0, 30))
def test_they_equal_those_of_all_rows(
    readings: list[Any], window: tuple[Any, ...], grouped: bool, filtered: bool, cut: int
) -> None:
    start, end, slide, open_start = window
    keys = (("k", K),) if grouped else ()
    spec = WindowAggregate(start, end, slide, open_start, None, keys, ITEMS, SMALL if filtered else None)
    ordered = sorted(readings, key=lambda row: row[0])
    logs = [(tick, tick, 1, place, *values) for place, (tick, *values) in enumerate(ordered)]
    frame = pl.DataFrame(logs, stream_dtypes(SCHEMA), orient="row")
    first = logs[0][0] if logs else None
    with pytest.MonkeyPatch.context() as patch:
        found = answers(spec.build(), frame, cut, first)
        patch.setattr(holistic, "selects", lambda _spec: False)
        expected = answers(spec.build(), frame, cut, first)
    assert sorted(found, key=str) == sorted(expected, key=str)


def test_only_deciding_rows_are_kept() -> None:
    spec = WindowAggregate(10, 0, 5, True, None, (("k", K),), ITEMS[:2])
    logic = spec.build()
    logs = [(tick, tick, 1, tick, tick % 7, "a", 1, tick) for tick in range(1, 1001)]
    logic.update(0, pl.DataFrame(logs, stream_dtypes(SCHEMA), orient="row"))
    (kept,) = logic._window._pending  # type: ignore[attr-defined]
    assert kept.height == 2 * 200
