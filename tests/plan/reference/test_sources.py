"""SAMPLE EVERY, LAG, DELTA and RATE, and the union of streams."""

from __future__ import annotations

import pytest

from nilometer import algebra
from nilometer.algebra import Shift
from nilometer.errors import DataError
from nilometer.expressions import Call, Literal
from nilometer.plan import logical
from nilometer.types import FLOAT, INT, INT_MAXIMUM, SECOND, STRING
from plan.reference.build import (
    acquire,
    column,
    evaluations,
    keep,
    now_window,
    pushed,
    reading,
    rows_window,
    run,
    sensed,
)

S = acquire(pushed(delay=100))
V = column("s.v")


class TestSample:
    def test_the_first_of_each_source_in_each_interval(self):
        log = [
            reading(1, "a", 1),
            reading(3, "b", 1),
            reading(4, "c", 2),
            reading(10, "d", 1),
            reading(11, "e", 1),
        ]
        plan = keep(logical.Sample(S, 10), "s.v")
        assert run(plan, s=log) == ["a", "c", "d"]

    def test_by_time_and_not_by_arrival(self):
        log = [reading(8, "later"), reading(3, "earlier")]
        assert run(keep(logical.Sample(S, 10), "s.v"), s=log) == ["earlier"]

    def test_of_equal_times_by_position(self):
        log = [reading(3, "z"), reading(3, "a")]
        assert run(keep(logical.Sample(S, 10), "s.v"), s=log) == ["z"]

    def test_intervals_are_of_time_since_the_epoch(self):
        log = [reading(-1, "before"), reading(0, "after")]
        assert run(keep(logical.Sample(S, 10), "s.v"), s=log) == ["before", "after"]

    def test_waits_for_the_watermark(self):
        plan = keep(logical.Sample(acquire(pushed(delay=5)), 10), "s.v")
        log = [reading(8, "first"), reading(13, "second")]
        assert run(plan, s=log, finished=False) == []
        assert run(plan, s=[*log, reading(14, 0)], finished=False) == ["first"]
        assert run(plan, s=[log[0], reading(4, "earlier"), log[1]], finished=False) == ["earlier"]

    def test_a_sampled_sensed_stream_is_still_sensed(self):
        plan = now_window(logical.Sample(acquire(sensed(10)), 20))
        log = [reading(0, 1), reading(10, 2), reading(20, 3)]
        assert evaluations(plan, "s.v", s=log) == [(0, [1]), (10, []), (20, [3])]


def lagged(function, log, expression=V, offset=1, source=S, finished=True):
    item = algebra.Lagged("before", function, expression, offset)
    return run(keep(logical.Lag(source, (item,)), "s.v", "before"), s=log, finished=finished)


class TestLag:
    def test_within_each_source(self):
        log = [reading(1, 5, 1), reading(2, 7, 2), reading(3, 9, 1), reading(4, 2, 2)]
        assert lagged(Shift.LAG, log) == [(5, None), (7, None), (9, 5), (2, 7)]

    def test_further_back(self):
        log = [reading(time, time) for time in (1, 2, 3, 4)]
        assert lagged(Shift.LAG, log, offset=2) == [(1, None), (2, None), (3, 1), (4, 2)]

    def test_by_time_then_position(self):
        log = [reading(5, 50), reading(2, 20), reading(5, 51)]
        assert lagged(Shift.LAG, log) == [(20, None), (50, 20), (51, 50)]

    def test_delta(self):
        log = [reading(1, 5), reading(2, 3), reading(3, None), reading(4, 8)]
        assert lagged(Shift.DELTA, log) == [(5, None), (3, -2), (None, None), (8, None)]

    def test_delta_of_float_and_of_an_expression(self):
        source = acquire(pushed(value=FLOAT))
        log = [reading(1, 0.5), reading(2, 2)]
        assert lagged(Shift.DELTA, log, column("s.v", FLOAT), source=source) == [(0.5, None), (2.0, 1.5)]
        double = Call("*", (V, Literal(2, INT)), INT)
        assert lagged(Shift.DELTA, [reading(1, 1), reading(2, 5)], double) == [(1, None), (5, 8)]

    def test_delta_overflows(self):
        with pytest.raises(DataError, match="integer overflow"):
            lagged(Shift.DELTA, [reading(1, -2), reading(2, INT_MAXIMUM)])

    def test_rate_is_per_second(self):
        log = [
            reading(0, 1),
            reading(2 * SECOND, 4),
            reading(2 * SECOND, 9),
            reading(2 * SECOND + SECOND // 2, 8),
        ]
        source = acquire(pushed())
        assert lagged(Shift.RATE, log, source=source) == [(1, None), (4, 1.5), (9, None), (8, -2.0)]

    def test_waits_for_the_watermark(self):
        log = [reading(1, 5), reading(2, 7)]
        assert lagged(Shift.LAG, log, source=acquire(pushed()), finished=False) == [(5, None)]

    def test_tuples_without_an_id_are_one_source(self):
        log = [reading(1, 5, None), reading(2, 7, None), reading(3, 9, 1)]
        assert lagged(Shift.LAG, log) == [(5, None), (7, 5), (9, None)]


class TestUnionOfStreams:
    A, B = acquire(pushed("a")), acquire(pushed("b"))

    def test_all_accepted_tuples_without_waiting(self):
        plan = logical.Union(keep(self.A, "a.v"), keep(self.B, "b.v"))
        log_a, log_b = [reading(3, 1), reading(9, 2)], [reading(5, 7), reading(4, 8)]
        assert run(plan, a=log_a, b=log_b, finished=False) == [1, 7, 2]
        assert run(plan, a=log_a, finished=False) == [1, 2]

    def test_sources_go_on_across_the_streams(self):
        union = logical.Union(keep(self.A, "a.v"), keep(self.B, "b.v"))
        plan = logical.Lag(union, (algebra.Lagged("before", Shift.LAG, column("a.v")),))
        assert run(plan, a=[reading(1, 1), reading(4, 4)], b=[reading(2, 2), reading(3, 3, 9), 9]) == [
            (1, None),
            (2, 1),
            (3, None),
            (4, 2),
        ]

    def test_positions_of_two_logs_are_not_compared(self):
        # At time 5 the order is by value: b's tuple, though further down its own log, comes first.
        union = logical.Union(keep(self.A, "a.v"), keep(self.B, "b.v"))
        plan = rows_window(union, 1)
        assert evaluations(plan, "a.v", a=[reading(5, 9)], b=[reading(4, 1), reading(5, 2)]) == [
            (4, [1]),
            (5, [2]),
            (5, [9]),
        ]

    def test_ids_of_two_types_are_not_kept(self):
        union = logical.Union(keep(self.A, "a.v"), keep(acquire(pushed("b", id_type=STRING)), "b.v"))
        plan = logical.Lag(union, (algebra.Lagged("before", Shift.LAG, column("a.v")),))
        assert run(plan, a=[reading(1, 1), 9], b=[reading(2, 2, "x")]) == [(1, None), (2, 1)]

    def test_under_the_lefts_names_by_position(self):
        plan = logical.Union(keep(self.A, "a.v", "a.id"), keep(self.B, "b.id", "b.v"))
        assert run(plan, a=[reading(1, 10, 1)], b=[reading(2, 20, 2)]) == [(10, 1), (2, 20)]

    def test_streams_of_one_interval_keep_their_ticks(self):
        union = logical.Union(keep(acquire(sensed(10, "a")), "a.v"), keep(acquire(sensed(10, "b")), "b.v"))
        log_a, log_b = [reading(12, 1), reading(29, 2)], [reading(17, 3), reading(22, 4)]
        assert evaluations(now_window(union), "a.v", a=log_a, b=log_b) == [(10, [1, 3]), (20, [2, 4])]

    def test_tuples_of_streams_with_different_ticks_stand_at_their_times(self):
        union = logical.Union(keep(acquire(sensed(10, "a")), "a.v"), keep(self.B, "b.v"))
        plan = now_window(union)
        assert evaluations(plan, "a.v", a=[reading(15, 1)], b=[reading(14, 2), 20]) == [(14, [2]), (15, [1])]
        # W = 13 has passed the tick of a's tuple. At its tick it would come first, and then b's would come before it.
        lag = logical.Lag(union, (algebra.Lagged("before", Shift.LAG, column("a.v")),))
        assert run(lag, a=[reading(15, 1), 13], b=[13], finished=False) == []
        assert run(lag, a=[reading(15, 1), 16], b=[13, reading(14, 2), 16], finished=False) == [
            (2, None),
            (1, 2),
        ]
