"""Aggregates of sessions: a session of any length costs a partial for each group, and no rows."""

from __future__ import annotations

import polars as pl
import pytest

from nilometer.expressions import Aggregate, ColumnReference, Literal
from nilometer.operators.frames import stream_dtypes
from nilometer.operators.logic import Progress
from nilometer.operators.session_aggregate.session_aggregate import SessionAggregate
from nilometer.types import FLOAT, INT, STRING, TIME, Column, Schema

SCHEMA = Schema((Column("v", FLOAT), Column("w", INT), Column("time", TIME), Column("id", INT)))
V, W = ColumnReference("v", FLOAT), ColumnReference("w", INT)
T, ID = ColumnReference("time", TIME), ColumnReference("id", INT)
KEYS = (("start", ColumnReference("q.window_start", TIME)), ("id", ID))
ITEMS = {
    "mean": Aggregate("avg", V, False, FLOAT),
    "corr": Aggregate("corr", V, False, FLOAT, (W,)),
    "twa": Aggregate("twa", V, False, FLOAT, (Literal("STEP", STRING), T, ID)),
    "last": Aggregate("last", V, False, FLOAT, (T, ID)),
    "about": Aggregate("approx_percentile", V, False, FLOAT, (Literal(0.5, FLOAT),)),
}


def rows(begin: int, count: int) -> pl.DataFrame:
    times = range(begin, begin + count)
    found = [(t, t, t % 3, t, float(t % 7), t % 5, t, t % 3) for t in times]
    return pl.DataFrame(found, stream_dtypes(SCHEMA), orient="row")


@pytest.mark.parametrize("name", [*ITEMS, "all"])
def test_the_state_does_not_grow_with_a_session(name: str) -> None:
    items = tuple(ITEMS.items()) if name == "all" else ((name, ITEMS[name]),)
    logic = SessionAggregate(SCHEMA, 10, "q", INT, (), KEYS, items, None, "time").build()
    sizes = []
    for number in range(20):
        logic.update(0, rows(number * 500, 500))
        assert not logic.advance(Progress((number + 1) * 500)).rows.height
        sizes.append(sum(map(len, logic.snapshot().values())))
    assert max(sizes[1:]) <= 1.2 * sizes[0]
    answer = logic.advance(Progress(1_000_000)).rows
    assert answer.height == 3
    assert sorted(answer["start"]) == [0, 1, 2]
