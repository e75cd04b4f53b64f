"""Joins and unions of windows, with tables, and of streams with tables."""

from __future__ import annotations

import pytest

from nilometer import algebra
from nilometer.algebra import JoinKind
from nilometer.expressions import Call, Literal, Now
from nilometer.plan import logical
from nilometer.types import BOOLEAN, DURATION, INT, STRING, TIME
from plan.reference.build import (
    COUNT,
    acquire,
    aggregate,
    column,
    compare,
    evaluations,
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

A, B = acquire(pushed("a")), acquire(pushed("b"))
SAME_VALUE = compare(column("a.v"), "=", column("b.v"))


def pairs(left, right, predicate=None, kind=JoinKind.INNER):
    """The join with the tick and both values."""
    names = ("a.v",) if kind in (JoinKind.SEMI, JoinKind.ANTI) else ("a.v", "b.v")
    join = logical.Join(left, right, kind, predicate)
    return logical.Deliver(logical.ToStream(keep(join, *names), algebra.Relation.RSTREAM), True)


class TestWindowsWithWindows:
    def test_union_of_ticks_and_latest_windows(self):
        plan = pairs(now_window(A, 10), now_window(B, 15))
        log_a = [reading(10, 1), reading(20, 2), reading(30, 3)]
        log_b = [reading(15, 7), reading(30, 8)]
        # a at 10, 20, 30; b at 15, 30. At 10 b has had no window: empty. At 20 b's latest is that of 15.
        assert run(plan, a=log_a, b=log_b) == [(15, 1, 7), (20, 2, 7), (30, 3, 8)]

    def test_evaluations_are_the_union_of_ticks(self):
        join = logical.Join(now_window(A, 10), now_window(B, 15), JoinKind.INNER)
        log_a, log_b = [reading(10, 1), reading(30, 3)], [reading(15, 7), reading(30, 8)]
        assert evaluations(join, "a.v", a=log_a, b=log_b) == [(10, []), (15, [1]), (20, []), (30, [3])]

    def test_an_ungrouped_aggregate_above_gives_one_row_a_tick(self):
        join = logical.Join(now_window(A), now_window(B), JoinKind.INNER)
        plan = logical.Deliver(logical.Aggregate(join, (), (COUNT,)), True)
        assert run(plan, a=[reading(1, 1), reading(3, 1)], b=[reading(2, 1), reading(3, 1)]) == [
            (1, 0),
            (2, 1),
            (3, 1),
        ]

    def test_pushed_windows_fire_at_each_others_ticks(self):
        plan = pairs(range_window(A, 100), range_window(B, 100), SAME_VALUE)
        assert run(plan, a=[reading(1, 5), reading(4, 6)], b=[reading(2, 5), reading(4, 7)]) == [
            (2, 5, 5),
            (4, 5, 5),
        ]

    def test_of_several_evaluations_at_a_tick_the_last_counts(self):
        plan = pairs(rows_window(A, 1), now_window(B))
        assert run(plan, a=[reading(1, 1), reading(1, 2)], b=[reading(1, 9)]) == [(1, 2, 9)]

    def test_left(self):
        plan = pairs(now_window(A), now_window(B), SAME_VALUE, JoinKind.LEFT)
        log_a, log_b = (
            [reading(1, 5), reading(2, 6), reading(2, 6)],
            [reading(2, 6), reading(2, 6), reading(3, 1)],
        )
        assert run(plan, a=log_a, b=log_b) == [(1, 5, None)] + 4 * [(2, 6, 6)] + 2 * [(3, 6, None)]
        assert run(plan, a=[*log_a, reading(3, 1)], b=log_b) == [(1, 5, None)] + 4 * [(2, 6, 6)] + [(3, 1, 1)]

    def test_full(self):
        plan = pairs(now_window(A), now_window(B), SAME_VALUE, JoinKind.FULL)
        log_a = [reading(1, 5), reading(2, 6), reading(2, 6), reading(2, None)]
        log_b = [reading(2, 6), reading(2, 7), reading(2, 7), reading(2, None)]
        assert run(plan, a=log_a, b=log_b) == [
            (1, 5, None),
            (2, 6, 6),
            (2, 6, 6),
            (2, None, None),
            (2, None, 7),
            (2, None, 7),
            (2, None, None),
        ]

    def test_semi_and_anti(self):
        log_a, log_b = [reading(1, 5), reading(2, 5), reading(2, 6)], [reading(2, 6), reading(2, 6)]
        windows = now_window(A), now_window(B)
        assert run(pairs(*windows, SAME_VALUE, JoinKind.SEMI), a=log_a, b=log_b) == [(2, 6)]
        assert run(pairs(*windows, SAME_VALUE, JoinKind.ANTI), a=log_a, b=log_b) == [(1, 5), (2, 5)]

    def test_a_null_predicate_does_not_hold(self):
        windows = now_window(A), now_window(B)
        assert run(pairs(*windows, SAME_VALUE), a=[reading(1, None)], b=[reading(1, None)]) == []
        assert run(
            pairs(*windows, SAME_VALUE, JoinKind.ANTI), a=[reading(1, None)], b=[reading(1, None)]
        ) == [(1, None)]

    def test_now_is_the_joined_tick(self):
        age = Call("-", (Now(), column("a.time", TIME)), DURATION)
        fresh = Call("<=", (age, Literal(1, DURATION)), BOOLEAN)
        plan = pairs(now_window(A), now_window(B), fresh)
        assert run(
            plan, a=[reading(1, 5), reading(9, 6)], b=[reading(2, 7), reading(3, 8), reading(9, 9)]
        ) == [
            (2, 5, 7),
            (9, 6, 9),
        ]

    def test_a_stream_with_itself(self):
        left, right = now_window(acquire(pushed(), "a")), now_window(acquire(pushed(), "b"))
        assert run(pairs(left, right), s=[reading(1, 5), reading(1, 6)]) == [
            (1, 5, 5),
            (1, 5, 6),
            (1, 6, 5),
            (1, 6, 6),
        ]

    def test_three(self):
        inner = logical.Join(now_window(A), now_window(B), JoinKind.INNER)
        plan = logical.Join(inner, now_window(acquire(pushed("c"))), JoinKind.INNER)
        logs = {"a": [reading(1, 1)], "b": [reading(1, 2), 9], "c": [reading(3, 3)]}
        assert evaluations(plan, "c.v", **logs, finished=False) == []
        logs["a"].append(2)
        assert evaluations(plan, "c.v", **logs, finished=False) == [(1, [])]
        logs["a"].append(4)
        assert evaluations(plan, "c.v", **logs) == [(1, []), (3, [3])]


class TestWithTables:
    TABLE = stored("t", k=INT, name=STRING)
    ROWS = ({"k": 5, "name": "five"}, {"K": 6, "name": "six"}, {"k": 6, "name": "sechs"})
    MATCH = compare(column("s.v"), "=", column("t.k"))

    @pytest.mark.parametrize("stream", [pushed(), sensed(1)])
    def test_windows(self, stream):
        join = logical.Join(now_window(acquire(stream)), self.TABLE, JoinKind.LEFT, self.MATCH)
        plan = logical.Deliver(keep(join, "s.v", "t.name"), True)
        log = [reading(1, 5), reading(2, 6), reading(3, 7)]
        assert run(plan, tables={"t": self.ROWS}, s=log) == [
            (1, 5, "five"),
            (2, 6, "six"),
            (2, 6, "sechs"),
            (3, 7, None),
        ]

    def test_table_on_the_left(self):
        join = logical.Join(self.TABLE, now_window(acquire(pushed())), JoinKind.INNER, self.MATCH)
        assert run(keep(join, "t.name"), tables={"t": self.ROWS}, s=[reading(1, 5)]) == ["five"]

    def test_every_evaluation_of_a_row_window_meets_the_table(self):
        join = logical.Join(rows_window(acquire(pushed()), 1), self.TABLE, JoinKind.INNER, self.MATCH)
        log = [reading(1, 5), reading(1, 6)]
        assert evaluations(join, "t.name", tables={"t": self.ROWS}, s=log) == [
            (1, ["five"]),
            (1, ["sechs", "six"]),
        ]

    def test_streams(self):
        for kind, expected in (
            (JoinKind.INNER, [5, 6, 6]),
            (JoinKind.LEFT, [5, 6, 6, 7]),
            (JoinKind.SEMI, [5, 6]),
            (JoinKind.ANTI, [7]),
        ):
            join = logical.Join(acquire(pushed()), self.TABLE, kind, self.MATCH)
            log = [reading(1, 5), reading(2, 6), reading(3, 7)]
            assert run(keep(join, "s.v"), tables={"t": self.ROWS}, s=log, finished=False) == expected

    def test_stream_on_the_right(self):
        join = logical.Join(self.TABLE, acquire(pushed()), JoinKind.INNER, self.MATCH)
        assert run(keep(join, "t.name"), tables={"t": self.ROWS}, s=[reading(1, 5)]) == ["five"]

    def test_now_of_a_streams_tuple_is_its_tick(self):
        tick = compare(Call("-", (Now(), Literal(0, TIME)), INT), "=", column("t.k"))
        join = logical.Join(acquire(sensed(6)), self.TABLE, JoinKind.INNER, tick)
        assert run(keep(join, "t.name"), tables={"t": self.ROWS}, s=[reading(8, 0)]) == ["six", "sechs"]

    def test_tables_alone(self):
        grouped = logical.Aggregate(self.TABLE, (logical.Projection("k", column("t.k")),), (COUNT,))
        assert run(grouped, tables={"t": self.ROWS}) == [(5, 1), (6, 2)]
        counted = logical.Aggregate(self.TABLE, (), (COUNT, aggregate("most", "max", column("t.k"))))
        assert run(counted, tables={"t": ()}) == [(0, None)]
        other = stored("u", k=INT)
        join = logical.Join(self.TABLE, other, JoinKind.ANTI, compare(column("t.k"), "=", column("u.k")))
        assert run(keep(join, "t.name"), tables={"t": self.ROWS, "u": [{"k": 6}]}) == ["five"]
        union = logical.Union(keep(self.TABLE, "t.k"), other)
        assert run(union, tables={"t": self.ROWS, "u": [{"k": 6}]}) == [5, 6, 6, 6]


class TestUnionOfWindows:
    def test_at_the_union_of_ticks_each_side_persists(self):
        plan = logical.Union(keep(now_window(A, 10), "a.v"), keep(now_window(B, 15), "b.v"))
        log_a, log_b = [reading(10, 1), reading(20, 2), reading(30, 3)], [reading(15, 7), reading(30, 8)]
        assert evaluations(plan, "a.v", a=log_a, b=log_b) == [
            (10, [1]),
            (15, [1, 7]),
            (20, [2, 7]),
            (30, [3, 8]),
        ]

    def test_it_is_a_bag(self):
        plan = logical.Union(keep(now_window(A), "a.v"), keep(now_window(B), "b.v"))
        assert evaluations(plan, "a.v", a=[reading(1, 5), reading(1, 5)], b=[reading(1, 5)]) == [
            (1, [5, 5, 5])
        ]
