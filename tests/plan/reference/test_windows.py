"""When windows are evaluated, and what is in them."""

from __future__ import annotations

from nilometer.plan import logical
from plan.reference.build import (
    COUNT,
    acquire,
    column,
    compare,
    evaluations,
    from_to,
    keep,
    now_window,
    pushed,
    range_window,
    reading,
    rows_window,
    run,
    sensed,
    unbounded,
)


class TestWhen:
    def test_slide_at_multiples_since_the_epoch_from_the_first_tuple(self):
        plan = now_window(acquire(pushed()), 5)
        assert evaluations(plan, "s.v", s=[reading(7, 1), reading(10, 2), reading(21, 3)]) == [
            (10, [2]),
            (15, []),
            (20, []),
            (25, []),
        ]

    def test_slide_first_tuple_on_a_multiple(self):
        assert evaluations(now_window(acquire(pushed()), 5), "s.v", s=[reading(5, 1)]) == [(5, [1])]

    def test_slide_before_the_epoch(self):
        assert evaluations(now_window(acquire(pushed()), 5), "s.v", s=[reading(-7, 1)]) == [(-5, [])]

    def test_sensed_at_every_acquisition_tick(self):
        plan = now_window(acquire(sensed(10)))
        assert evaluations(plan, "s.v", s=[reading(12, 1), reading(13, 2, 2), reading(41, 3)]) == [
            (10, [1, 2]),
            (20, []),
            (30, []),
            (40, [3]),
        ]

    def test_sensed_with_slide(self):
        plan = range_window(acquire(sensed(10)), 30, 30)
        assert evaluations(plan, "s.v", s=[reading(12, 1), reading(20, 2), reading(41, 3)]) == [
            (30, [1, 2]),
            (60, [3]),
        ]

    def test_pushed_at_every_tick_with_a_tuple(self):
        plan = now_window(acquire(pushed()))
        assert evaluations(plan, "s.v", s=[reading(3, 1), reading(3, 2), reading(8, 3)]) == [
            (3, [1, 2]),
            (8, [3]),
        ]

    def test_a_filter_above_does_not_move_the_ticks(self):
        window = now_window(acquire(pushed()))
        plan = logical.Select(window, compare(column("s.v"), ">", 1))
        assert evaluations(plan, "s.v", s=[reading(3, 1), reading(8, 2)]) == [(3, []), (8, [2])]

    def test_the_anchor_comes_before_any_filter(self):
        # The first tuple is filtered out, and still the windows begin with it.
        below = logical.Select(acquire(pushed()), compare(column("s.v"), ">", 1))
        assert evaluations(now_window(below, 5), "s.v", s=[reading(3, 1), reading(10, 2)]) == [
            (5, []),
            (10, [2]),
        ]
        below = logical.Select(acquire(sensed(5)), compare(column("s.v"), ">", 1))
        assert evaluations(now_window(below), "s.v", s=[reading(5, 1), reading(10, 2)]) == [
            (5, []),
            (10, [2]),
        ]

    def test_derived_streams_begin_with_the_least_of_their_extents(self):
        union = logical.Union(keep(acquire(pushed("a")), "a.v"), keep(acquire(pushed("b")), "b.v"))
        plan = now_window(union, 5)
        assert [
            tick
            for tick, _ in evaluations(plan, "a.v", a=[reading(12, 1)], b=[reading(3, 1), reading(12, 1)])
        ] == [
            5,
            10,
            15,
        ]

    def test_nothing_without_a_tuple(self):
        assert evaluations(now_window(acquire(pushed()), 5), "s.v", s=[100]) == []
        assert evaluations(now_window(acquire(sensed(5))), "s.v", s=[100]) == []


class TestWhat:
    LOG = (reading(0, 0), reading(5, 5), reading(10, 10), reading(15, 15), reading(20, 20))

    def last(self, plan):
        return evaluations(plan, "s.v", s=self.LOG)[-1]

    def test_now(self):
        assert self.last(now_window(acquire(pushed()), 20)) == (20, [20])

    def test_from_to_includes_both_ends(self):
        assert self.last(from_to(acquire(pushed()), 15, 5, 20)) == (20, [5, 10, 15])
        assert self.last(from_to(acquire(pushed()), 15, 0, 20)) == (20, [5, 10, 15, 20])

    def test_range_leaves_out_its_start(self):
        assert self.last(range_window(acquire(pushed()), 15, 20)) == (20, [10, 15, 20])

    def test_at_in_the_past(self):
        assert self.last(from_to(acquire(pushed()), 15, 15, 20)) == (20, [5])
        assert evaluations(from_to(acquire(pushed()), 5, 5), "s.v", s=self.LOG[:3]) == [
            (0, []),
            (5, [0]),
            (10, [5]),
        ]

    def test_unbounded(self):
        assert self.last(unbounded(acquire(pushed()), 20)) == (20, [0, 5, 10, 15, 20])

    def test_range_slide_of_one_length_counts_every_tuple_once(self):
        assert evaluations(range_window(acquire(pushed()), 10, 10), "s.v", s=self.LOG) == [
            (0, [0]),
            (10, [5, 10]),
            (20, [15, 20]),
        ]

    def test_ticks_count_not_times(self):
        plan = range_window(acquire(sensed(10)), 10, 10)
        assert evaluations(plan, "s.v", s=[reading(10, 1), reading(19, 2), reading(20, 3)]) == [
            (10, [1, 2]),
            (20, [3]),
        ]

    def test_empty_windows_are_evaluated(self):
        plan = logical.Deliver(logical.Aggregate(now_window(acquire(pushed()), 5), (), (COUNT,)), True)
        assert run(plan, s=[reading(5, 1), reading(14, 1)]) == [(5, 1), (10, 0), (15, 0)]


class TestRowWindows:
    def test_the_last_rows(self):
        plan = rows_window(acquire(pushed()), 2)
        assert evaluations(plan, "s.v", s=[reading(1, 1), reading(2, 2), reading(5, 3)]) == [
            (1, [1]),
            (2, [1, 2]),
            (5, [2, 3]),
        ]

    def test_from_to_rows(self):
        # FROM NOW - 2 ROWS TO NOW - 1 ROW: the two rows before the one it is evaluated at.
        plan = logical.RowWindow(acquire(pushed()), 2, 1, 1)
        log = [reading(time, time) for time in (1, 2, 3, 4)]
        assert evaluations(plan, "s.v", s=log) == [(1, []), (2, [1]), (3, [1, 2]), (4, [2, 3])]

    def test_from_now_minus_10_rows_holds_11(self):
        plan = logical.RowWindow(acquire(pushed()), 10, 0, 1)
        log = [reading(time, time) for time in range(20)]
        assert evaluations(plan, "s.v", s=log)[-1] == (19, list(range(9, 20)))

    def test_first_at_row_slide(self):
        plan = rows_window(acquire(pushed()), 2, 3)
        log = [reading(time, time) for time in range(1, 8)]
        assert evaluations(plan, "s.v", s=log) == [(3, [2, 3]), (6, [5, 6])]

    def test_unbounded_rows(self):
        log = [reading(time, time) for time in (1, 2, 3)]
        assert evaluations(rows_window(acquire(pushed()), None), "s.v", s=log)[-1] == (3, [1, 2, 3])

    def test_order_is_time_id_position(self):
        log = [reading(2, "c", 2), reading(1, "a", 9), reading(2, "b", 1), reading(2, "d", 2)]
        assert evaluations(rows_window(acquire(pushed(delay=9)), 1), "s.v", s=log) == [
            (1, ["a"]),
            (2, ["b"]),
            (2, ["c"]),
            (2, ["d"]),
        ]

    def test_a_null_id_comes_first(self):
        log = [reading(2, "b", 1), reading(2, "a", None)]
        assert evaluations(rows_window(acquire(pushed()), 1), "s.v", s=log) == [(2, ["a"]), (2, ["b"])]

    def test_sensed_rows_are_ordered_by_time_within_a_tick(self):
        log = [reading(18, "late", 1), reading(11, "early", 2)]
        assert evaluations(rows_window(acquire(sensed(10)), 1), "s.v", s=log) == [
            (10, ["early"]),
            (10, ["late"]),
        ]

    def test_rows_at_the_watermark_wait(self):
        log = [reading(1, 1), reading(2, 2), reading(2, 3)]
        plan = rows_window(acquire(pushed()), 1)
        assert evaluations(plan, "s.v", s=log, finished=False) == [(1, [1])]
        assert evaluations(plan, "s.v", s=[*log, 3], finished=False) == [(1, [1]), (2, [2]), (2, [3])]

    def test_several_evaluations_at_a_tick_are_all_there(self):
        counted = logical.Aggregate(rows_window(acquire(pushed()), 2), (), (COUNT,))
        log = [reading(1, 1), reading(1, 2), reading(1, 3)]
        assert run(logical.Deliver(counted, True), s=log) == [(1, 1), (1, 2), (1, 2)]

    def test_rows_before_where(self):
        plan = logical.Select(rows_window(acquire(pushed()), 2), compare(column("s.v"), ">", 1))
        assert evaluations(plan, "s.v", s=[reading(1, 2), reading(2, 1), reading(3, 1)]) == [
            (1, [2]),
            (2, [2]),
            (3, []),
        ]
