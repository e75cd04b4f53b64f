"""Aggregates of windows from partials (CORR, TWA, FIRST, sketches, sums, alone and together) equal those of all rows."""

from __future__ import annotations

import math

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nilometer.algebra import Completeness
from nilometer.expressions import Aggregate, Call, ColumnReference, Literal
from nilometer.operators.frames import stream_dtypes
from nilometer.operators.logic import Progress
from nilometer.operators.window_aggregate.combined import CombinedLogic
from nilometer.operators.window_aggregate.holistic import HolisticLogic
from nilometer.operators.window_aggregate.over_time import OverTimeLogic
from nilometer.operators.window_aggregate.sliding import SlidingLogic
from nilometer.operators.window_aggregate.window_aggregate import WindowAggregate
from nilometer.types import BOOLEAN, FLOAT, INT, STRING, TIME, Column, Schema

SCHEMA = Schema(
    (Column("v", FLOAT), Column("w", INT), Column("k", INT), Column("t", TIME), Column("id", INT))
)
V, W, K = ColumnReference("v", FLOAT), ColumnReference("w", INT), ColumnReference("k", INT)
T, ID = ColumnReference("t", TIME), ColumnReference("id", INT)
PAIRS = tuple(
    (name, Aggregate(name, V, False, FLOAT, (W,)))
    for name in ("corr", "covar_pop", "covar_samp", "regr_slope", "regr_intercept", "regr_r2")
)
AREAS = tuple(
    (f"{name} {method}", Aggregate(name, V, False, FLOAT, (Literal(method, STRING), T, ID)))
    for name in ("twa", "integral")
    for method in ("STEP", "LINEAR")
)
OTHER = ("other", Aggregate("twa", W, False, FLOAT, (Literal("STEP", STRING), T, ID)))
LAST = ("last", Aggregate("last", V, False, FLOAT, (T, ID)))
ABOUT = ("about", Aggregate("approx_percentile", V, False, FLOAT, (Literal(0.5, FLOAT),)))
COUNT = ("n", Aggregate("count", None, False, INT))
SMALL = Call("<", (V, Literal(100.0, FLOAT)), BOOLEAN)
KINDS = {
    "pairs": (PAIRS, SlidingLogic),
    "areas": (AREAS, OverTimeLogic),
    "all": ((COUNT, *PAIRS[:1], *AREAS[:2], OTHER, LAST, ABOUT), CombinedLogic),
}

readings = st.lists(
    st.tuples(
        st.integers(0, 30),
        st.integers(1, 3),
        st.none() | st.sampled_from([0.0, -1.5, 2.0, 1e9]) | st.floats(-500, 500, width=16),
        st.none() | st.integers(-3, 3) | st.just(2**62),
        st.integers(1, 2),
    ),
    max_size=25,
)


def alike(one: object, other: object) -> bool:
    if isinstance(one, float) and isinstance(other, float):
        return math.isclose(one, other, rel_tol=1e-9, abs_tol=1e-6)
    return one == other


@pytest.mark.parametrize("kind", KINDS)
@given(
    readings=readings,
    grouped=st.booleans(),
    filtered=st.booleans(),
    counted=st.booleans(),
    slide=st.sampled_from([None, 3, 5]),
    cuts=st.lists(st.integers(0, 40), max_size=3),
)
def test_they_equal_those_of_all_rows(kind, readings, grouped, filtered, counted, slide, cuts) -> None:
    items, logic_class = KINDS[kind]
    completeness = Completeness("share", 2, 3) if counted and kind == "all" else None
    spec = WindowAggregate(
        7, 0, slide, True, None, (("k", K),) if grouped else (), items, SMALL if filtered else None, completeness,
        None, "t",
    )  # fmt: skip
    sliding, whole = spec.build(), HolisticLogic(spec)
    if slide is not None or kind != "all":
        assert isinstance(sliding, logic_class)
    rows = [(tick, tick, i, place, v, w, k, tick, i) for place, (tick, i, v, w, k) in enumerate(readings)]
    frame = pl.DataFrame(rows, stream_dtypes(SCHEMA), orient="row")
    first = min((tick for tick, *_ in readings), default=None)
    expected, found, before = [], [], -1
    for watermark in [*sorted(cuts), 50]:
        # Rows come up to five ticks early, in no order.
        part = frame.filter((pl.col("@tick") >= before) & (pl.col("@tick") < watermark + 5))
        before = watermark + 5
        for logic, answers in ((sliding, found), (whole, expected)):
            logic.update(0, part)
            answers += logic.advance(Progress(watermark, first)).rows.rows()
        restored = spec.build()
        restored.restore(sliding.snapshot())
        sliding = restored
    assert len(found) == len(expected)
    for one, other in zip(sorted(found, key=_place), sorted(expected, key=_place), strict=True):
        assert all(map(alike, one, other)), (one, other)


def _place(row: tuple[object, ...]) -> str:
    return str(row[:3])
