"""Aggregates of windows, grouped and not, and COMPLETENESS."""

from __future__ import annotations

import pytest

from nilometer import algebra
from nilometer.expressions import Aggregate, Now
from nilometer.plan import logical
from nilometer.types import FLOAT, INT, TIME
from plan.reference.build import (
    COUNT,
    acquire,
    aggregate,
    column,
    from_to,
    now_window,
    pushed,
    range_window,
    reading,
    run,
    sensed,
    unbounded,
)

S = acquire(pushed())
V = column("s.v")
BY_ID = (logical.Projection("id", column("s.id")),)


def answer(window, *items, keys=(), **logs):
    return run(logical.Deliver(logical.Aggregate(window, keys, items), True), **logs)


class TestUngrouped:
    def test_one_row_per_evaluation_also_of_an_empty_window(self):
        items = (COUNT, aggregate("sum", "sum", V), aggregate("mean", "avg", V, FLOAT))
        assert answer(now_window(S, 5), *items, s=[reading(5, 1), reading(5, 2), reading(12, 3)]) == [
            (5, 2, 3, 1.5),
            (10, 0, None, None),
            (15, 0, None, None),
        ]

    def test_count_of_a_column_leaves_out_nulls(self):
        items = (COUNT, aggregate("values", "count", V))
        assert answer(now_window(S), *items, s=[reading(1, None), reading(1, 2)]) == [(1, 2, 1)]

    def test_distinct(self):
        item = logical.AggregateItem("n", Aggregate("count", V, True, INT))
        assert answer(now_window(S), item, s=[reading(1, 2), reading(1, 2), reading(1, 3)]) == [(1, 2)]

    def test_now_is_the_tick(self):
        assert answer(range_window(S, 9, 5), aggregate("t", "max", Now(), TIME), s=[reading(3, 1)]) == [
            (5, 5),
            (10, 10),
        ]


class TestGrouped:
    def test_only_groups_that_are_there(self):
        log = [reading(5, 1, 1), reading(5, 2, 2), reading(5, 3, 1), reading(11, 4, 2)]
        assert answer(now_window(S, 5), aggregate("sum", "sum", V), keys=BY_ID, s=log) == [
            (5, 1, 4),
            (5, 2, 2),
        ]

    def test_null_is_a_group(self):
        keys = (logical.Projection("v", V),)
        log = [reading(1, None), reading(1, 3), reading(1, None)]
        assert answer(now_window(S), COUNT, keys=keys, s=log) == [(1, None, 2), (1, 3, 1)]

    def test_by_two_keys(self):
        keys = (*BY_ID, logical.Projection("v", V))
        log = [reading(1, 3, 1), reading(1, 3, 2), reading(1, 3, 1)]
        assert answer(now_window(S), COUNT, keys=keys, s=log) == [(1, 1, 3, 2), (1, 2, 3, 1)]

    def test_minus_zero_is_zero(self):
        keys = (logical.Projection("v", column("s.v", FLOAT)),)
        log = [reading(1, 0.0), reading(1, -0.0)]
        assert answer(now_window(acquire(pushed(value=FLOAT))), COUNT, keys=keys, s=log) == [(1, 0.0, 2)]


def complete(window, log, *, sensors=None, interval=10, keys=()):
    """(tick, [id,] completeness) of each evaluation."""
    item = algebra.Completeness("complete", interval, sensors, "s.id")
    return run(logical.Deliver(logical.Aggregate(window, keys, (), item), True), s=log)


class TestCompleteness:
    LOG = (reading(10, 0, 1), reading(10, 0, 2), reading(20, 0, 1), reading(40, 0, 1), reading(40, 0, 2))

    def test_now_expects_one_reading_a_sensor(self):
        assert complete(now_window(acquire(sensed(10))), self.LOG, sensors=2) == [
            (10, 1.0),
            (20, 0.5),
            (30, 0.0),
            (40, 1.0),
        ]

    def test_range_is_clipped_at_the_first_tick(self):
        # RANGE 30: at 10 one reading is due of each sensor, at 20 two, from 30 on three.
        assert complete(range_window(acquire(sensed(10)), 30), self.LOG, sensors=2) == [
            (10, 1.0),
            (20, 0.75),
            (30, 0.5),
            (40, 0.5),
        ]

    def test_a_closed_start_adds_an_interval(self):
        # FROM NOW - 20 TO NOW holds three acquisition ticks.
        assert complete(from_to(acquire(sensed(10)), 20, 0), self.LOG, sensors=2)[-1] == (40, 0.5)

    def test_unbounded(self):
        # At 40 four readings are due of each, eight in all; five came.
        assert complete(unbounded(acquire(sensed(10))), self.LOG, sensors=2)[-1] == (40, 0.625)

    def test_of_a_window_in_the_past(self):
        window = from_to(acquire(sensed(10)), 20, 10)
        # At 10 the window ends before the stream begins: nothing is due. At 20 only tick 10 is.
        assert complete(window, self.LOG, sensors=2)[:3] == [(10, None), (20, 1.0), (30, 0.75)]

    def test_without_declared_sensors_those_heard_so_far(self):
        log = [
            reading(10, 0, 1),
            reading(20, 0, 1),
            reading(20, 0, 2),
            reading(20, 0, None),
            reading(30, 0, 2),
        ]
        assert complete(now_window(acquire(sensed(10))), log) == [(10, 1.0), (20, 1.5), (30, 0.5)]

    def test_by_id_each_sensor_for_itself(self):
        window = range_window(acquire(sensed(10)), 20, 20)
        assert complete(window, self.LOG, sensors=2, keys=BY_ID) == [
            (20, 1, 1.0),
            (20, 2, 0.5),
            (40, 1, 0.5),
            (40, 2, 0.5),
        ]

    def test_of_a_pushed_stream_with_an_expected_rate(self):
        # RANGE 60 SLIDE 30 at 30, first tuple at 5: (-5, 30] is three and a half intervals long.
        window = range_window(acquire(pushed()), 60, 30)
        found = complete(window, [reading(5), reading(25)], sensors=1)
        assert found == [(30, pytest.approx(2 / 3.5)), (60, pytest.approx(2 / 6))]

    def test_more_than_expected(self):
        assert complete(now_window(acquire(sensed(10))), [reading(10), reading(11)], sensors=1) == [(10, 2.0)]

    def test_of_no_sensors(self):
        assert complete(now_window(acquire(sensed(10))), [reading(10)], sensors=0) == [(10, None)]

    def test_beside_aggregates(self):
        item = algebra.Completeness("complete", 10, 2, "s.id")
        node = logical.Aggregate(now_window(acquire(sensed(10))), (), (COUNT,), item)
        assert run(logical.Deliver(node, True), s=[reading(10)]) == [(10, 1, 0.5)]
