"""Filters as text: they come back as they went, and a batch is filtered as its rows would be one by one."""

from __future__ import annotations

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import nilometer
from live.proxies.test_demand import PLANS, ROWS, SCHEMA, predicates
from nilometer.errors import NilometerError
from nilometer.expressions import TRUE, Expression
from nilometer.live.proxies import Demand, asks_for, demand_of
from nilometer.live.proxies.filters import filter_text, passing, read_filter
from nilometer.types import BOOLEAN, FLOAT, INT, STRING, TIME, Column, Schema
from plan.explain.strategies import expressions

COLUMNS = (Column("x", INT), Column("v", FLOAT))
WIDE = Schema((*COLUMNS, Column("name", STRING), Column("time", TIME), Column("where", BOOLEAN)))


@given(expressions(WIDE, BOOLEAN))
def test_a_filter_comes_back_as_it_went(predicate: Expression) -> None:
    assert read_filter(filter_text(predicate), WIDE) == (None if predicate == TRUE else predicate)


@pytest.mark.parametrize("query", PLANS)
def test_what_a_plan_pushes_comes_back(query: str) -> None:
    database = nilometer.connect()
    database.execute(SCHEMA)
    demand = demand_of(database.sql(query).physical)["s"]
    stream = database.catalog.extent("s")
    assert stream is not None
    assert read_filter(filter_text(demand.predicate), stream.columns) == demand.predicate


@settings(max_examples=150)
@given(st.none() | predicates, st.lists(st.sampled_from(ROWS), max_size=20))
def test_a_batch_is_filtered_as_its_rows_one_by_one(
    predicate: Expression | None, rows: list[dict[str, object]]
) -> None:
    frame = pl.DataFrame(rows, schema={"x": pl.Int64, "v": pl.Float64})
    demand = Demand((), frozenset(), predicate)
    assert passing(predicate, frame).tolist() == [asks_for(demand, row) for row in rows]


@pytest.mark.parametrize("text", ["", "x >", "y > 3", "SELECT x FROM s"])
def test_what_is_no_filter_is_refused(text: str) -> None:
    with pytest.raises(NilometerError):
        read_filter(text, COLUMNS)
