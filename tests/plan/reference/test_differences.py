"""RSTREAM, ISTREAM and DSTREAM."""

from __future__ import annotations

from nilometer.algebra import Relation
from nilometer.plan import logical
from plan.reference.build import (
    acquire,
    column,
    compare,
    keep,
    now_window,
    pushed,
    range_window,
    reading,
    rows_window,
    run,
    unbounded,
)

S = acquire(pushed())


def emitted(relation, windows, *names, **logs):
    return run(logical.Deliver(logical.ToStream(keep(windows, *(names or ("s.v",))), relation), True), **logs)


LOG = (reading(1, 5), reading(2, 5), reading(3, 6), reading(4, 5))


def test_rstream_emits_the_window():
    assert emitted(Relation.RSTREAM, range_window(S, 2), s=LOG) == [
        (1, 5),
        (2, 5),
        (2, 5),
        (3, 5),
        (3, 6),
        (4, 6),
        (4, 5),
    ]


def test_istream_emits_what_is_new_as_a_multiset():
    # {5}, {5, 5}, {5, 6}, {6, 5}: the tuple of 4 is another than that of 2, but its values are the same.
    assert emitted(Relation.ISTREAM, range_window(S, 2), s=LOG) == [(1, 5), (2, 5), (3, 6)]


def test_dstream_emits_what_is_gone():
    assert emitted(Relation.DSTREAM, range_window(S, 2), s=LOG) == [(3, 5)]
    assert emitted(Relation.DSTREAM, now_window(S, 1), s=(reading(1, 5), reading(1, 5), reading(3, 6))) == [
        (2, 5),
        (2, 5),
    ]


def test_null_equals_null():
    log = (reading(1, None), reading(2, None), reading(2, None))
    assert emitted(Relation.ISTREAM, now_window(S), s=log) == [(1, None), (2, None)]


def test_over_the_select_lists_values():
    # With the time selected every tuple is new.
    log = (reading(1, 5), reading(2, 5))
    assert emitted(Relation.ISTREAM, now_window(S), "s.time", "s.v", s=log) == [(1, 1, 5), (2, 2, 5)]
    assert emitted(Relation.ISTREAM, now_window(S), s=log) == [(1, 5)]


def test_an_empty_evaluation_counts():
    log = (reading(5, 1), reading(15, 1))
    assert emitted(Relation.ISTREAM, now_window(S, 5), s=log) == [(5, 1), (15, 1)]
    assert emitted(Relation.DSTREAM, now_window(S, 5), s=log) == [(10, 1)]


def test_the_ticks_are_those_of_the_unfiltered_extent():
    above = logical.Select(now_window(S), compare(column("s.v"), ">", 1))
    log = (reading(1, 5), reading(2, 0), reading(3, 5))
    assert emitted(Relation.ISTREAM, above, s=log) == [(1, 5), (3, 5)]
    assert emitted(Relation.DSTREAM, above, s=log) == [(2, 5)]


def test_of_row_windows_at_one_tick():
    log = (reading(1, 5), reading(1, 6), reading(1, 6))
    assert emitted(Relation.ISTREAM, rows_window(S, 1), s=log) == [(1, 5), (1, 6)]
    assert emitted(Relation.DSTREAM, rows_window(S, 1), s=log) == [(1, 5)]


def test_of_unbounded_nothing_goes():
    assert emitted(Relation.DSTREAM, unbounded(S), s=LOG) == []
    assert emitted(Relation.ISTREAM, unbounded(S), s=LOG) == [(1, 5), (2, 5), (3, 6), (4, 5)]


def test_tuples_have_the_tick_as_time_and_no_source():
    inner = logical.Rename(logical.ToStream(keep(now_window(S, 10), "s.v"), Relation.RSTREAM), "q")
    # A second window over the answers: each counts at its tick, 10 or 20, whatever the reading's time was.
    outer = range_window(inner, 15, 10)
    plan = logical.Deliver(keep(outer, "q.s.v"), True)
    assert run(plan, s=(reading(10, 1), reading(20, 2))) == [(10, 1), (20, 1), (20, 2), (30, 2)]
