"""Sketches of windows: slid from counts of buckets, they equal the aggregates of all rows of each window."""

from __future__ import annotations

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nilometer.expressions import Aggregate, Call, ColumnReference, Literal
from nilometer.operators.frames import stream_dtypes
from nilometer.operators.logic import Progress
from nilometer.operators.window_aggregate.holistic import HolisticLogic
from nilometer.operators.window_aggregate.sketched import SketchedLogic
from nilometer.operators.window_aggregate.window_aggregate import WindowAggregate
from nilometer.types import BOOLEAN, FLOAT, INT, Column, Schema

SCHEMA = Schema((Column("v", FLOAT), Column("k", INT)))
V, K = ColumnReference("v", FLOAT), ColumnReference("k", INT)
COUNT = ("n", Aggregate("count", None, False, INT))
PERCENTILES = (
    *(
        (f"p{share}", Aggregate("approx_percentile", V, False, FLOAT, (Literal(share, FLOAT),)))
        for share in (0.0, 0.1, 0.5, 0.9, 1.0)
    ),
    COUNT,
)
DIFFERENT = (("d", Aggregate("approx_count_distinct", V, False, INT)), COUNT)
SMALL = Call("<", (V, Literal(100.0, FLOAT)), BOOLEAN)

rows = st.lists(
    st.tuples(
        st.integers(0, 30),
        st.none() | st.sampled_from([0.0, -1.5, 2.0, 1e9]) | st.floats(-500, 500, width=16),
        st.integers(1, 2),
    ),
    max_size=25,
)


@pytest.mark.parametrize("items", [PERCENTILES, DIFFERENT], ids=["percentiles", "different"])
@given(readings=rows, grouped=st.booleans(), filtered=st.booleans(), cut=st.integers(0, 30))
def test_they_equal_those_of_all_rows(items, readings, grouped, filtered, cut) -> None:
    spec = WindowAggregate(
        7, 0, 3, True, None, (("k", K),) if grouped else (), items, SMALL if filtered else None
    )
    sliding, whole = spec.build(), HolisticLogic(spec)
    assert isinstance(sliding, SketchedLogic)
    ordered = [
        (tick, tick, 1, place, value, key)
        for place, (tick, value, key) in enumerate(sorted(readings, key=lambda r: r[0]))
    ]
    frame = pl.DataFrame(ordered, stream_dtypes(SCHEMA), orient="row")
    first = ordered[0][0] if ordered else None
    expected = []
    found = []
    for part, watermark in (
        (frame.filter(pl.col("@tick") < cut), cut),
        (frame.filter(pl.col("@tick") >= cut), 40),
    ):
        for logic, answers in ((sliding, found), (whole, expected)):
            logic.update(0, part)
            answers += logic.advance(Progress(watermark, first)).rows.rows()
        restored = spec.build()
        restored.restore(sliding.snapshot())
        sliding = restored
    assert sorted(found, key=str) == sorted(expected, key=str)
