"""Ticks, watermarks, late tuples, the end of a stream, and the books."""

from __future__ import annotations

from nilometer import algebra
from nilometer.plan import logical
from nilometer.plan.reference import evaluate
from nilometer.plan.reference.watermark import ALWAYS, NEVER, arrive
from nilometer.plan.window_join_parts import WindowBound
from nilometer.types import INT
from plan.reference.build import (
    acquire,
    column,
    evaluations,
    feeds,
    keep,
    now_window,
    pushed,
    range_window,
    reading,
    rows_window,
    run,
    sensed,
    stored,
)


def ticks(stream, *items):
    return [arrival.tick for arrival in arrive(stream, feeds(s=items)["s"]).accepted]


def watermark(plan, *, finished=True, **items):
    return evaluate(plan, feeds(**items), finished=finished).watermark


class TestArrivals:
    def test_tick_of_a_pushed_tuple_is_its_time(self):
        assert ticks(pushed(), reading(7), reading(12)) == [7, 12]

    def test_tick_of_a_sensed_tuple_is_rounded_down(self):
        assert ticks(sensed(10), reading(7), reading(12), reading(20)) == [0, 10, 20]
        assert ticks(sensed(10), reading(-3)) == [-10]

    def test_late_is_below_the_watermark_before_it(self):
        # Without DELAY, W is the greatest tick: an equal tick is in time, a smaller one late.
        assert ticks(pushed(), reading(5), reading(5), reading(4), reading(6)) == [5, 5, 6]

    def test_delay_leaves_room_for_disorder(self):
        # W = 10 - 3 = 7.
        assert ticks(pushed(delay=3), reading(10), reading(7), reading(6), reading(9)) == [10, 7, 9]

    def test_lateness_of_a_sensed_tuple_goes_by_its_tick(self):
        assert ticks(sensed(10), reading(19), reading(11), reading(9)) == [10, 10]

    def test_a_heartbeat_raises_the_watermark_and_never_lowers_it(self):
        arrivals = arrive(pushed(), feeds(s=[reading(1), 8, 3, reading(7), reading(8)])["s"])
        assert [a.tick for a in arrivals.accepted] == [1, 8]
        assert (arrivals.read, arrivals.late, arrivals.watermark) == (3, 1, 8)

    def test_positions_are_places_in_the_log(self):
        arrivals = arrive(pushed(), feeds(s=[reading(5), 5, reading(4), reading(6)])["s"])
        assert [a.position for a in arrivals.accepted] == [0, 3]

    def test_first_tick_is_that_of_the_first_in_log_order(self):
        assert arrive(pushed(delay=9), feeds(s=[reading(5), reading(2)])["s"]).first_tick == 5
        assert arrive(pushed(), feeds(s=[3])["s"]).first_tick is None

    def test_first_tick_is_not_that_of_a_late_tuple(self):
        assert arrive(pushed(), feeds(s=[9, reading(5), reading(12)])["s"]).first_tick == 12


class TestLateTuplesJoinNoAnswer:
    def test_stream(self):
        plan = keep(acquire(pushed()), "s.v")
        assert run(plan, s=[reading(5, 50), reading(4, 40), reading(6, 60)]) == [50, 60]

    def test_window(self):
        plan = range_window(acquire(pushed()), 10)
        assert evaluations(plan, "s.v", s=[reading(5, 50), reading(4, 40), reading(6, 60)]) == [
            (5, [50]),
            (6, [50, 60]),
        ]

    def test_accepted_disorder_is_in_its_window(self):
        plan = range_window(acquire(pushed(delay=5)), 2, 2)
        log = [reading(3, 30), reading(5, 50), reading(2, 20), reading(4, 40)]
        # From the first multiple of 2 at or after the first tuple in log order, 3: so (0, 2] is never evaluated.
        assert evaluations(plan, "s.v", s=log) == [(4, [30, 40]), (6, [50])]


class TestQueryWatermark:
    def test_of_a_stream_that_runs(self):
        assert watermark(now_window(acquire(pushed(delay=2))), s=[reading(10)], finished=False) == 8
        assert watermark(now_window(acquire(pushed())), s=[reading(3), 10], finished=False) == 10

    def test_minimum_over_streams(self):
        plan = logical.Join(
            now_window(acquire(pushed("a"))), now_window(acquire(pushed("b"))), algebra.JoinKind.INNER
        )
        assert watermark(plan, a=[reading(10)], b=[reading(7)], finished=False) == 7
        assert watermark(plan, a=[reading(10)], b=[reading(7)]) == 11  # both have ended
        assert watermark(plan, a=[reading(10)], b=[9], finished=False) == 9

    def test_of_a_stream_never_heard(self):
        plan = logical.Union(now_window(acquire(pushed("a"))), now_window(acquire(pushed("b"))))
        assert watermark(plan, a=[reading(10)], b=[], finished=False) == NEVER
        assert watermark(plan, a=[reading(10)], finished=False) == NEVER
        assert run(plan, a=[reading(10)], finished=False) == []

    def test_of_a_stream_that_ended_without_a_tuple(self):
        plan = logical.Union(now_window(acquire(pushed("a"))), now_window(acquire(pushed("b"))))
        assert watermark(plan, a=[reading(10)], b=[]) == 11
        assert watermark(plan) == NEVER

    def test_of_tables_alone(self):
        answer = evaluate(stored(k=INT), {}, {"t": [{"k": 1}]})
        assert (answer.watermark, answer.rows) == (ALWAYS, ((1,),))


class TestEndOfStream:
    def test_with_slide_the_first_multiple_at_or_after_the_last_tuple(self):
        # RANGE 10 SLIDE 10: the one window that holds it.
        plan = range_window(acquire(pushed()), 10, 10)
        assert watermark(plan, s=[reading(3), reading(11)]) == 21
        assert watermark(plan, s=[reading(3), reading(20)]) == 21

    def test_as_long_as_a_window_holds_a_tuple_and_no_further(self):
        plan = range_window(acquire(pushed()), 30, 10)
        assert evaluations(plan, "s.v", s=[reading(3, 7)]) == [(10, [7]), (20, [7]), (30, [7])]
        # RANGE leaves its start out: at 40 the window (10, 40] does not hold the tuple at 10.
        assert evaluations(plan, "s.v", s=[reading(10, 7)]) == [(10, [7]), (20, [7]), (30, [7])]

    def test_a_window_with_gaps_is_evaluated_once_after_the_last_tuple(self):
        plan = range_window(acquire(pushed()), 2, 10)
        assert evaluations(plan, "s.v", s=[reading(3, 7)]) == [(10, [])]

    def test_a_window_of_the_past_until_it_has_seen_the_last_tuple(self):
        plan = logical.TimeWindow(acquire(pushed()), 30, 10, 10, False)
        assert evaluations(plan, "s.v", s=[reading(3, 7)]) == [(10, []), (20, [7]), (30, [7])]

    def test_a_window_without_beginning_until_it_holds_the_last_tuple(self):
        plan = logical.TimeWindow(acquire(pushed()), None, 0, 10, False)
        assert evaluations(plan, "s.v", s=[reading(3, 7)]) == [(10, [7])]
        assert watermark(logical.TimeWindow(acquire(pushed()), None, 15, 10, False), s=[reading(3)]) == 21

    def test_while_it_runs_the_last_window_is_open(self):
        plan = range_window(acquire(pushed()), 10, 10)
        log = [reading(3, 1), reading(10, 2), reading(11, 3)]
        assert evaluations(plan, "s.v", s=log, finished=False) == [(10, [1, 2])]
        assert evaluations(plan, "s.v", s=log[:2], finished=False) == []
        assert evaluations(plan, "s.v", s=[*log[:2], 11], finished=False) == [(10, [1, 2])]

    def test_greatest_tuple_not_last_in_the_log(self):
        plan = range_window(acquire(pushed(delay=50)), 10, 10)
        assert watermark(plan, s=[reading(25), reading(3)]) == 31

    def test_without_slide(self):
        assert watermark(now_window(acquire(pushed())), s=[reading(3), reading(11)]) == 12
        assert watermark(now_window(acquire(sensed(10))), s=[reading(3), reading(17)]) == 11
        assert watermark(rows_window(acquire(sensed(10)), 2), s=[reading(17)]) == 11

    def test_unwindowed_the_greatest_time(self):
        assert watermark(acquire(sensed(10)), s=[reading(3), reading(17)]) == 18

    def test_a_heartbeat_beyond_it_stands(self):
        plan = range_window(acquire(pushed()), 10, 10)
        assert evaluations(plan, "s.v", s=[reading(3, 1), 25]) == [(10, [1]), (20, [])]

    def test_each_occurrence_has_its_own_end(self):
        # a's is 21, b's would be 13: b is silent after 12, and time passes until a's window is over.
        left, right = range_window(acquire(pushed("a")), 10, 10), now_window(acquire(pushed("b")))
        plan = logical.Join(left, right, algebra.JoinKind.INNER)
        assert watermark(plan, a=[reading(12, 7)], b=[reading(12)]) == 21
        assert evaluations(plan, "a.v", a=[reading(12, 7)], b=[reading(12)]) == [(12, []), (20, [7])]

    def test_the_window_is_found_through_other_nodes(self):
        inner = logical.Sample(keep(acquire(pushed()), "s.v"), 5)
        assert watermark(range_window(inner, 10, 10), s=[reading(11)]) == 21

    def test_of_nested_windows_both_count(self):
        inner = logical.ToStream(keep(now_window(acquire(pushed()), 10), "s.v"), algebra.Relation.RSTREAM)
        # The inner window's last evaluation is at 20, and the outer one's first at or after it at 60.
        assert watermark(range_window(inner, 60, 60), s=[reading(11)]) == 61
        assert watermark(range_window(inner, 60, 30), s=[reading(11)]) == 61

    def test_an_outer_window_join_waits_for_a_partner(self):
        streams = (acquire(pushed("a")), acquire(pushed("b")))
        bounds = (WindowBound(0, 1, 5),)
        log = {"a": [reading(10)], "b": [reading(7)]}
        for kind, expected in (("INNER", 11), ("LEFT", 16), ("FULL", 16)):
            plan = logical.WindowJoin(streams, bounds, kind=algebra.JoinKind(kind))
            assert watermark(plan, **log) == expected
        late = {"a": [reading(10)], "b": [reading(17)]}
        assert watermark(logical.WindowJoin(streams, bounds, kind=algebra.JoinKind.LEFT), **late) == 18

    def test_where_tuples_stand_at_their_times(self):
        # ASOF takes a left tuple at its time, 17, not at its acquisition tick, 10.
        keys = ((column("a.id"), column("b.id")),)
        asof = logical.AsofJoin(acquire(sensed(10, "a")), acquire(sensed(10, "b")), keys, None)
        log = [reading(17, 1)]
        assert watermark(now_window(asof), a=log, b=log) == 18
        assert evaluations(now_window(asof), "b.v", a=log, b=log) == [(17, [1])]


def test_books():
    plan = logical.Join(
        now_window(acquire(pushed("A"), "x")), now_window(acquire(pushed("A"), "y")), algebra.JoinKind.INNER
    )
    answer = evaluate(plan, feeds(a=[reading(5), reading(3), reading(6)]))
    assert [(b.stream, b.alias, b.read, b.late) for b in answer.occurrences] == [
        ("A", "x", 3, 1),
        ("A", "y", 3, 1),
    ]
