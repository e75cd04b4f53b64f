"""The aggregates of whole groups: columns against the reference evaluator's one row at a time."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nilometer.errors import ResourceError
from nilometer.expressions import Aggregate, ColumnReference, Literal
from nilometer.operators import limits
from nilometer.operators.aggregate_items import Grouping
from nilometer.operators.frames import dtypes
from nilometer.plan.logical import AggregateItem
from nilometer.plan.reference import same_answer
from nilometer.plan.reference.aggregates import _item
from nilometer.types import BOOLEAN, DURATION, FLOAT, INT, STRING, TIME, Column, Schema, Type, list_of

SCHEMA = Schema(
    (
        Column("x", INT),
        Column("y", FLOAT),
        Column("s", STRING),
        Column("b", BOOLEAN),
        Column("d", DURATION),
        Column("t", TIME),
        Column("i", INT),
        Column("k", INT),
    )
)
X, Y, S, B, D, T, ID, K = (ColumnReference(c.name, c.type) for c in SCHEMA)
SHARE, DESCENDING = Literal(0.7, FLOAT), Literal("DESC", STRING)


def text(value: str) -> Literal:
    """A constant text."""
    return Literal(value, STRING)


def of(
    function: str, argument: ColumnReference, type_: Type, *rest: Any, distinct: bool = False
) -> Aggregate:
    """An aggregate of a column."""
    return Aggregate(function, argument, distinct, type_, rest)


AGGREGATES = [
    of("first", X, INT, T, ID),
    of("last", S, STRING, T, ID),
    of("last", B, BOOLEAN, T),
    of("first", Y, FLOAT, S, B),
    of("arg_max", X, INT, Y, T, ID),
    of("arg_min", S, STRING, X),
    of("arg_max", T, TIME, S, T, ID),
    of("array_agg", X, list_of(INT), T, ID),
    of("array_agg", Y, list_of(FLOAT)),
    of("array_agg", X, list_of(INT), distinct=True),
    of("array_agg", S, list_of(STRING), T, DESCENDING, X),
    of("array_agg", S, list_of(STRING), X, T, DESCENDING),
    of("last", S, STRING, Y, DESCENDING),
    of("arg_min", S, STRING, X, T, DESCENDING, ID, DESCENDING),
    of("string_agg", S, STRING, text(", "), T, ID),
    of("string_agg", S, STRING, text("-"), distinct=True),
    of("mode", X, INT),
    of("mode", S, STRING),
    of("mode", B, BOOLEAN),
    of("percentile_cont", X, FLOAT, SHARE),
    of("percentile_cont", Y, FLOAT, Literal(0.1, FLOAT)),
    of("percentile_disc", S, STRING, SHARE),
    of("percentile_disc", Y, FLOAT, SHARE),
    of("percentile_disc", T, TIME, Literal(0.0, FLOAT)),
    of("approx_percentile", Y, FLOAT, SHARE),
    of("approx_percentile", X, FLOAT, SHARE),
    of("approx_count_distinct", X, INT),
    of("approx_count_distinct", S, INT),
    of("approx_count_distinct", B, INT),
    *(
        of(f, X, FLOAT, Y)
        for f in ("corr", "covar_pop", "covar_samp", "regr_slope", "regr_intercept", "regr_r2")
    ),
    *(
        of(f, v, FLOAT, text(m), T, ID)
        for f in ("twa", "integral")
        for m in ("STEP", "LINEAR")
        for v in (X, Y)
    ),
    of("twa", Y, FLOAT, text("STEP"), T),
    of("median", D, DURATION),
    of("median", D, DURATION, distinct=True),
]

numbers = st.integers(-3, 3) | st.sampled_from([10**9, 10**9 + 1, 10**15])
ROW = st.fixed_dictionaries(
    {
        "x": st.none() | numbers,
        "y": st.none() | st.sampled_from([0.5, -0.5, 0.1, 1e5, 2.0]) | st.floats(-9, 9, width=32),
        "s": st.none() | st.sampled_from(["", "a", "b", "é", "zz"]),
        "b": st.none() | st.booleans(),
        "d": st.none() | st.integers(-9, 9),
        "t": st.integers(0, 5).map(lambda second: second * 1_000_000),
        "i": st.none() | st.integers(1, 2),
        "k": st.none() | st.integers(1, 2),
    }
)


def frame_of(rows: list[dict[str, Any]]) -> pl.DataFrame:
    """The rows as columns."""
    return pl.DataFrame(rows, schema=dict(dtypes(SCHEMA)), orient="row")


@given(st.lists(ROW, max_size=12), st.booleans())
def test_columns_equal_the_reference(rows: list[dict[str, Any]], grouped: bool) -> None:
    keys = (("k", K),) if grouped else ()
    found = Grouping(keys, [(f"n{n}", a) for n, a in enumerate(AGGREGATES)])(frame_of(rows))
    groups: dict[Any, list[dict[str, Any]]] = {} if grouped else {None: []}
    for row in rows:
        groups.setdefault(row["k"] if grouped else None, []).append(row)
    naive = [
        (*([key] if grouped else []), *(_item(AggregateItem("n", a), group, None) for a in AGGREGATES))
        for key, group in groups.items()
    ]
    assert same_answer(naive, found.rows()) is None


@given(st.lists(ROW, max_size=8), st.randoms(use_true_random=False))
def test_the_order_of_arrival_changes_nothing(rows: list[dict[str, Any]], random: Any) -> None:
    grouping = Grouping((), [(f"n{n}", a) for n, a in enumerate(AGGREGATES)])
    shuffled = random.sample(rows, len(rows))
    assert same_answer(grouping(frame_of(rows)).rows(), grouping(frame_of(shuffled)).rows()) is None


def test_a_list_has_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "MOST_LISTED", 3)
    row = dict.fromkeys(SCHEMA.names)
    with pytest.raises(ResourceError, match=r"ARRAY_AGG\(x\) would list 4 values at once"):
        Grouping((), [("n", of("array_agg", X, list_of(INT)))])(frame_of([row] * 4))
