"""What must hold of every plan, or no host that works through a log piece by piece could be right.

An answer so far is never taken back; late tuples might as well not be there.
"""

from __future__ import annotations

from collections import Counter

from hypothesis import given, settings
from hypothesis import strategies as st

from nilometer import algebra
from nilometer.algebra import JoinKind, Relation, Shift, SimilarForm
from nilometer.plan import logical
from nilometer.plan.reference import Feed, evaluate, same_answer
from nilometer.plan.reference.comparison import normalise
from nilometer.plan.reference.watermark import arrive
from nilometer.plan.window_join_parts import WindowBound
from nilometer.types import INT
from plan import functions
from plan.reference.build import (
    COUNT,
    acquire,
    aggregate,
    column,
    compare,
    from_to,
    keep,
    now_window,
    pushed,
    range_window,
    reading,
    rows_window,
    sensed,
    unbounded,
)

STREAMS = (pushed("a", delay=3), sensed(4, "b", delay=4), pushed("c"))
A, B, C = (acquire(stream) for stream in STREAMS)
VALUES_A, VALUES_B, VALUES_C = keep(A, "a.v"), keep(B, "b.v"), keep(C, "c.v")
MIXED = logical.Union(VALUES_A, VALUES_B)
BY_ID = ((column("a.id"), column("b.id")),)
LAG = (algebra.Lagged("before", Shift.LAG, column("b.v")), algebra.Lagged("rate", Shift.RATE, column("b.v")))


def emitted(windows, relation=Relation.RSTREAM):
    return logical.Deliver(logical.ToStream(windows, relation), True)


def counted(window, *keys):
    return emitted(logical.Aggregate(window, keys, (COUNT,)))


def completeness(window, *keys):
    return emitted(logical.Aggregate(window, keys, (), algebra.Completeness("c", 4, None, "b.id")))


PLANS = {
    "stream": logical.Select(A, compare(column("a.v"), ">", 1)),
    "union of streams": MIXED,
    "now": emitted(now_window(A)),
    "acquisition ticks": counted(now_window(B)),
    "slide": counted(range_window(A, 5, 3)),
    "slide of a filtered stream": counted(now_window(logical.Select(B, compare(column("b.v"), ">", 1)), 3)),
    "in the past": emitted(from_to(A, 6, 2, 2)),
    "unbounded": counted(unbounded(B), logical.Projection("id", column("b.id"))),
    "rows": emitted(rows_window(A, 3, 2)),
    "rows of a sensed stream": emitted(rows_window(B, 2)),
    "inserted": emitted(keep(range_window(A, 4, 2), "a.v"), Relation.ISTREAM),
    "deleted": emitted(keep(rows_window(B, 2), "b.v"), Relation.DSTREAM),
    "join": emitted(
        logical.Join(
            range_window(A, 4), now_window(B), JoinKind.LEFT, compare(column("a.v"), "=", column("b.v"))
        )
    ),
    "join of rows": emitted(logical.Join(rows_window(A, 2), range_window(B, 8, 3), JoinKind.INNER)),
    "union of windows": emitted(logical.Union(keep(now_window(A), "a.v"), keep(now_window(B), "b.v"))),
    "sample": logical.Sample(B, 6),
    "lag": logical.Lag(B, LAG),
    "silent": functions.silent(A, 3, "q", INT, frozenset((1, 2, 9))),
    "silent of a sensed stream": functions.silent(B, 5, "q", INT, frozenset((1, 9))),
    "similar": functions.similar(A, "a.v", 1.0, 5, SimilarForm.LIST, "q", INT),
    "similar of a sensed stream": functions.similar(B, "b.v", 0.0, 5, SimilarForm.PAIRS, "q", INT),
    "asof": logical.AsofJoin(A, B, BY_ID, 4),
    "asof of a sensed stream": logical.AsofJoin(B, A, tuple((b, a) for a, b in BY_ID), None),
    "window over asof": counted(now_window(logical.AsofJoin(B, A, tuple((b, a) for a, b in BY_ID), None))),
    "window join": logical.WindowJoin((A, B), (WindowBound(0, 1, 2),)),
    "window over a window join": counted(
        range_window(logical.WindowJoin((A, B), (WindowBound(0, 1, 2),)), 4)
    ),
    "rows over a window join": emitted(rows_window(logical.WindowJoin((A, B), (WindowBound(0, 1, 2),)), 2)),
    "window over similar": counted(
        now_window(functions.similar(B, "b.v", 1.0, 5, SimilarForm.PAIRS, "q", INT))
    ),
    "window over silent": counted(range_window(functions.silent(B, 5, "q", INT), 9, 3)),
    "rows over a union": emitted(rows_window(logical.Union(VALUES_A, VALUES_C), 2)),
    "rows over a mixed union": emitted(rows_window(MIXED, 2)),
    "lag over a mixed union": logical.Lag(MIXED, (algebra.Lagged("before", Shift.LAG, column("a.v")),)),
    "window over lag over a mixed union": counted(
        now_window(logical.Lag(MIXED, (algebra.Lagged("before", Shift.LAG, column("a.v")),)))
    ),
    "a window over windows": counted(
        range_window(
            logical.ToStream(logical.Aggregate(range_window(A, 2, 2), (), (COUNT,)), Relation.RSTREAM), 6, 4
        )
    ),
    "completeness": completeness(range_window(B, 8, 4)),
    "completeness by id": completeness(now_window(B), logical.Projection("id", column("b.id"))),
    "sum": emitted(logical.Aggregate(unbounded(A, 4), (), (aggregate("sum", "sum", column("a.v")),))),
}

ITEMS = st.one_of(
    st.builds(reading, st.integers(0, 25), st.none() | st.integers(0, 3), st.none() | st.integers(1, 3)),
    st.integers(0, 25),
)
LOGS = st.lists(ITEMS, max_size=14)
ALL_LOGS = st.fixed_dictionaries({stream.name: LOGS for stream in STREAMS})
NAMES = st.sampled_from(sorted(PLANS))
MANY = settings(max_examples=4 * settings().max_examples)  # shared by all the plans


def feeds_of(logs):
    return {name: Feed(tuple(log)) for name, log in logs.items()}


@MANY
@given(name=NAMES, logs=ALL_LOGS, data=st.data())
def test_an_answer_so_far_is_never_taken_back(name, logs, data):
    cut = {stream: log[: data.draw(st.integers(0, len(log)))] for stream, log in logs.items()}
    before = Counter(normalise(evaluate(PLANS[name], feeds_of(cut), finished=False)))
    later = Counter(normalise(evaluate(PLANS[name], feeds_of(logs), finished=False)))
    end = Counter(normalise(evaluate(PLANS[name], feeds_of(logs), finished=True)))
    assert not before - later
    assert not later - end


@MANY
@given(name=NAMES, logs=ALL_LOGS)
def test_late_tuples_might_as_well_not_be_there(name, logs):
    feeds = feeds_of(logs)
    cleaned = {}
    for stream in STREAMS:
        accepted = {arrival.position for arrival in arrive(stream, feeds[stream.name]).accepted}
        items = enumerate(feeds[stream.name].items)
        cleaned[stream.name] = Feed(
            tuple(item for i, item in items if isinstance(item, int) or i in accepted)
        )
    assert same_answer(evaluate(PLANS[name], feeds), evaluate(PLANS[name], cleaned)) is None
