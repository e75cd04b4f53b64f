"""Whole plans: delivery, projection, subqueries."""

from __future__ import annotations

import pytest

from nilometer import algebra
from nilometer.errors import InternalError
from nilometer.expressions import Call, Now
from nilometer.plan import logical
from nilometer.plan.reference import evaluate
from nilometer.plan.reference.evaluate import World, stream, table, windows
from nilometer.types import INT, SECOND, TIME
from plan.reference.build import (
    COUNT,
    acquire,
    aggregate,
    column,
    compare,
    feeds,
    keep,
    now_window,
    pushed,
    range_window,
    reading,
    run,
    sensed,
    stored,
)

S = acquire(pushed())


def test_an_answer_has_columns_and_rows_in_the_schemas_order():
    window = keep(now_window(S), "s.v", "s.id")
    answer = evaluate(
        logical.Deliver(logical.ToStream(window, algebra.Relation.RSTREAM), True), feeds(s=[reading(3, 5)])
    )
    assert answer.columns == ("tick", "s.v", "s.id")
    assert answer.rows == ((3, 5, 1),)
    assert answer.watermark == 4


def test_rows_come_by_tick():
    node = keep(acquire(pushed(delay=9)), "s.v")
    assert run(logical.Deliver(node, False), s=[reading(5, 1), reading(3, 2), reading(4, 3)]) == [2, 3, 1]


def test_deliver_within_changes_nothing():
    log = [reading(3, 5)]
    assert run(logical.Deliver(S, False, SECOND), s=log) == run(logical.Deliver(S, False), s=log)


def test_projection_and_selection_of_a_stream_at_its_tick():
    select = logical.Select(acquire(sensed(10)), compare(column("s.v"), ">", 1))
    project = logical.Project(
        select,
        (
            logical.Projection("tick", Now()),
            logical.Projection("double", Call("+", (column("s.v"), column("s.v")), INT)),
        ),
    )
    log = [reading(12, 1), reading(13, 2), reading(21, None), reading(29, 3)]
    assert run(project, s=log, finished=False) == [(10, 4), (20, 6)]


def test_now_in_a_window_is_its_tick():
    age = logical.Projection("age", Call("-", (Now(), column("s.time", TIME)), TIME))
    plan = logical.Deliver(logical.Project(range_window(S, 10, 5), (age,)), True)
    assert run(plan, s=[reading(3, 0), reading(9, 0)]) == [(5, 2), (10, 7), (10, 1), (15, 6)]


def test_a_subquery_under_a_window():
    # The greatest of the counts of the last 20, every 20; the counts are taken every 10.
    counts = logical.Aggregate(range_window(S, 10, 10), (), (COUNT,))
    inner = logical.Rename(logical.ToStream(counts, algebra.Relation.RSTREAM), "q")
    greatest = logical.Aggregate(
        range_window(inner, 20, 20), (), (aggregate("most", "max", column("q.count")),)
    )
    plan = logical.Deliver(logical.ToStream(greatest, algebra.Relation.RSTREAM), True)
    log = [reading(5, 0), reading(6, 0), reading(15, 0), reading(25, 0), reading(39, 0)]
    assert run(plan, s=log) == [(20, 2), (40, 1)]


def test_a_subquery_with_a_window_of_its_own_ticks():
    # Without a slide the outer window is evaluated where the inner answer has tuples, and only there.
    inner = logical.ToStream(
        logical.Select(now_window(S, 10), compare(column("s.v"), ">", 1)), algebra.Relation.RSTREAM
    )
    outer = logical.Aggregate(now_window(logical.Rename(inner, "q")), (), (COUNT,))
    log = [reading(10, 5), reading(20, 0), reading(30, 5), reading(30, 6)]
    assert run(logical.Deliver(outer, True), s=log) == [(10, 1), (30, 2)]


def test_a_node_evaluated_as_what_it_is_not():
    world = World({}, {}, {}, 0)
    with pytest.raises(InternalError, match="no stream: TimeWindow"):
        stream(now_window(S), world)
    with pytest.raises(InternalError, match="no windows: Acquire"):
        windows(S, world)
    with pytest.raises(InternalError, match="no table: Acquire"):
        table(S, world)
    assert table(logical.Deliver(stored(k=INT), False), World({}, {"t": []}, {}, 0)) == []
