"""ASOF JOIN and the WINDOW join."""

from __future__ import annotations

from nilometer.expressions import Call, Literal, Now
from nilometer.plan import logical
from nilometer.plan.window_join_parts import WindowBound
from nilometer.types import BOOLEAN, TIME
from plan.reference.build import (
    acquire,
    column,
    compare,
    evaluations,
    keep,
    now_window,
    pushed,
    reading,
    run,
    sensed,
)

A, B, C = (acquire(pushed(name)) for name in "abc")
BY_ID = ((column("a.id"), column("b.id")),)


def asof(left, right, *, within=None, keys=BY_ID, sides=(A, B), finished=True):
    """(time, left value, right value) of each row."""
    plan = keep(logical.AsofJoin(*sides, keys, within), "a.time", "a.v", "b.v")
    return run(plan, a=left, b=right, finished=finished)


class TestAsof:
    def test_the_latest_at_or_before(self):
        left = [reading(5, 1), reading(8, 2)]
        assert asof(left, [reading(3, 30), reading(5, 50), reading(6, 60), reading(9, 90)]) == [
            (5, 1, 50),
            (8, 2, 60),
        ]

    def test_else_nulls(self):
        assert asof([reading(2, 1)], [reading(3, 30)]) == [(2, 1, None)]

    def test_of_the_same_key(self):
        left = [reading(5, 1, 1), reading(5, 2, 2)]
        assert asof(left, [reading(3, 30, 1), reading(4, 40, 2), 9]) == [(5, 1, 30), (5, 2, 40)]

    def test_a_null_key_equals_nothing(self):
        assert asof([reading(5, 1, None)], [reading(3, 30, None), 9]) == [(5, 1, None)]

    def test_ties_go_to_the_last_by_id_and_position(self):
        any_id = ()
        right = [reading(3, "x", 2), reading(3, "y", 2), reading(3, "z", 1), 9]
        assert asof([reading(5, 1)], right, keys=any_id) == [(5, 1, "y")]

    def test_ties_at_its_own_time(self):
        assert asof([reading(5, 1)], [reading(5, "x"), reading(5, "y")]) == [(5, 1, "y")]

    def test_within_is_inclusive(self):
        left = [reading(5, 1), reading(6, 2)]
        assert asof(left, [reading(3, 30), 9], within=2) == [(5, 1, 30), (6, 2, None)]

    def test_waits_until_the_watermark_of_both_has_passed(self):
        left, right = [reading(5, 1), reading(8, 2)], [reading(3, 30), reading(6, 60)]
        assert asof(left, right, finished=False) == [(5, 1, 30)]
        assert asof(left, [*right, 9], finished=False) == [
            (5, 1, 30)
        ]  # the left is at 8, which is not past it
        assert asof([*left, 9], [*right, 9], finished=False) == [(5, 1, 30), (8, 2, 60)]
        assert asof(left, right, finished=True) == [(5, 1, 30), (8, 2, 60)]

    def test_disorder_on_the_right(self):
        sides = (A, acquire(pushed("b", delay=9)))
        assert asof([reading(5, 1)], [reading(8, 80), reading(4, 40)], sides=sides) == [(5, 1, 40)]

    def test_times_count_where_streams_are_sensed(self):
        sides = (acquire(sensed(10, "a")), acquire(sensed(10, "b")))
        left, right = [reading(15, 1), 20], [reading(14, 140), reading(16, 160), 20]
        assert asof(left, right, sides=sides) == [(15, 1, 140)]
        # W = 12 has passed the acquisition tick 10, but not the left tuple's time.
        assert asof([reading(15, 1), 12], [reading(14, 140), 12], sides=sides, finished=False) == []
        # And it stands in windows at that time.
        plan = now_window(logical.AsofJoin(*sides, BY_ID, None))
        assert evaluations(plan, "b.v", a=left, b=right) == [(15, [140])]


def window_join(*bounds, streams=(A, B), predicate=None):
    names = tuple(f"{stream.alias}.v" for stream in streams)
    return keep(logical.WindowJoin(streams, bounds, predicate), *names)


class TestWindowJoin:
    def test_pairs_within_the_window_included(self):
        plan = window_join(WindowBound(0, 1, 2))
        assert run(
            plan, a=[reading(1, 1), reading(5, 2)], b=[reading(3, 7), reading(4, 8), reading(8, 9)]
        ) == [
            (1, 7),
            (2, 7),
            (2, 8),
        ]

    def test_the_predicate(self):
        plan = window_join(WindowBound(0, 1, 9), predicate=compare(column("a.v"), "<", column("b.v")))
        assert run(plan, a=[reading(1, 1), reading(2, 9)], b=[reading(3, 7)]) == [(1, 7)]

    def test_bounds_of_pairs_not_of_all(self):
        # a-b within 2 and b-c within 2: a and c may be 4 apart.
        plan = window_join(WindowBound(0, 1, 2), WindowBound(1, 2, 2), streams=(A, B, C))
        assert run(plan, a=[reading(1, 1)], b=[reading(3, 2)], c=[reading(5, 3), reading(6, 4)]) == [
            (1, 2, 3)
        ]

    def test_time_and_tick_are_the_latest_members(self):
        join = logical.WindowJoin((A, B), (WindowBound(0, 1, 9),))
        assert evaluations(now_window(join), "a.v", a=[reading(1, 1), 9], b=[reading(4, 2), 9]) == [(4, [1])]

    def test_of_sensed_streams_by_their_times(self):
        left, right = acquire(sensed(10, "a")), acquire(sensed(10, "b"))
        join = logical.WindowJoin((left, right), (WindowBound(0, 1, 3),))
        logs = {"a": [reading(12, 1)], "b": [reading(19, 2), reading(14, 3)]}
        assert evaluations(now_window(join), "b.v", finished=False, **logs) == []
        assert evaluations(now_window(join), "b.v", a=[*logs["a"], 30], b=[*logs["b"], 30]) == [(14, [3])]

    def test_now_is_the_latest_members_time(self):
        at_four = Call("=", (Now(), Literal(4, TIME)), BOOLEAN)
        plan = window_join(WindowBound(0, 1, 9), predicate=at_four)
        assert run(plan, a=[reading(1, 1), reading(5, 5)], b=[reading(4, 2)]) == [(1, 2)]

    def test_a_tuple_may_join_itself_under_another_alias(self):
        streams = (acquire(pushed(), "a"), acquire(pushed(), "b"))
        assert run(window_join(WindowBound(0, 1, 0), streams=streams), s=[reading(1, 5), reading(2, 6)]) == [
            (5, 5),
            (6, 6),
        ]

    def test_does_not_wait(self):
        plan = window_join(WindowBound(0, 1, 9))
        assert run(plan, a=[reading(5, 1)], b=[reading(3, 2)], finished=False) == [(1, 2)]

    def test_late_tuples_join_nothing(self):
        plan = window_join(WindowBound(0, 1, 9))
        assert run(plan, a=[reading(5, 1), reading(4, 9)], b=[reading(3, 2)]) == [(1, 2)]
