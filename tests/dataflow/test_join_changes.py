"""ISTREAM and DSTREAM of joins of windows, by deltas, against the reference evaluator, which compares whole windows."""

from __future__ import annotations

import pytest
from hypothesis import given, note, settings
from hypothesis import strategies as st

from dataflow.judge import Logs, answer, judged, logs, plans, sources
from nilometer.dataflow.dataflow import Dataflow
from nilometer.dataflow.stages import Operator
from nilometer.operators import join_changes
from nilometer.operators.join_changes import JoinChangesLogic
from nilometer.optimizer import why
from nilometer.plan import physical
from nilometer.plan.reference import same_answer

A = "a [RANGE 4 SECONDS SLIDE 2 SECONDS]"
B = "b [RANGE 6 SECONDS SLIDE 3 SECONDS]"
S = "s [RANGE 4 SECONDS]"
K = "k [RANGE 3 SECONDS SLIDE 1 SECOND]"

QUERIES = [
    f"SELECT a.x, b.v FROM {A}, {B} WHERE a.x = b.x",
    f"SELECT a.name FROM {A}, {B} WHERE a.x = b.x AND a.id = b.id",
    f"SELECT a.name, s.x FROM {A}, {B}, {S} WHERE a.x = b.x AND b.x = s.x",
    f"SELECT a.id, k.v FROM {A}, {B}, {K} WHERE a.x = b.x AND b.name = k.name",
    f"SELECT a.x + b.x AS y FROM {A}, {B} WHERE a.id = b.id AND a.v > 0",
    f"SELECT y, b.v FROM (SELECT x + 1 AS y FROM {A} WHERE x > -5) q, {B} WHERE q.y = b.x",
    "SELECT p.x FROM a [RANGE 3 SECONDS] p, a [RANGE 2 SECONDS SLIDE 1 SECOND] q WHERE p.x = q.x",
    "SELECT a.x, s.v FROM a [NOW], s [NOW] WHERE a.x = s.x",
    f"SELECT a.x, b.x AS y FROM a [NOW], {B}",
    "SELECT b.name FROM b [UNBOUNDED], s [FROM NOW - 4 SECONDS TO NOW - 2 SECONDS] WHERE b.x = s.x",
]
WHOLE = {
    f"SELECT a.x FROM {A}, {B} WHERE a.x = b.x AND a.v < b.v": "a.v < b.v must hold between joined rows",
    f"SELECT a.x, now FROM {A}, {B} WHERE a.x = b.x": "its columns read NOW",
    f"SELECT a.x FROM {A}, b [RANGE 3 ROWS] WHERE a.x = b.x": "ROW_WINDOW is no time window",
}
BOTH = [f"{relation} {query}" for relation in ("ISTREAM", "DSTREAM") for query in (*QUERIES, *WHOLE)]


def workers(sql: str) -> list[type]:
    stages = Dataflow(plans(sql)[-1], sources({})).stages.values()
    return [type(stage.worker.logic) for stage in stages if isinstance(stage.worker, Operator)]


def reasons(sql: str) -> list[str]:
    return [reason for node in physical.walk_plan(plans(sql)[-1]) if (reason := why(node)) is not None]


@pytest.mark.parametrize("query", QUERIES)
def test_only_what_changes_is_joined(query: str) -> None:
    assert JoinChangesLogic in workers(f"DSTREAM {query}")
    assert reasons(f"ISTREAM {query}") == ["deltas: what enters or leaves a window is joined with the others"]


@pytest.mark.parametrize("query", WHOLE)
def test_what_depends_on_whole_windows_compares_them(query: str) -> None:
    assert JoinChangesLogic not in workers(f"DSTREAM {query}")
    assert reasons(f"ISTREAM {query}") == [f"whole windows are compared: {WHOLE[query]}"]


@pytest.mark.parametrize("sql", BOTH)
@settings(max_examples=settings().max_examples // 25)
@given(
    given_logs=logs,
    batch_rows=st.sampled_from([None, 1, 3, 7]),
    finished=st.booleans(),
    restarted=st.booleans(),
    rows_a_step=st.sampled_from([0, 2, 4_096]),
)
def test_the_reference_gives_the_same(
    sql: str, given_logs: Logs, batch_rows: int | None, finished: bool, restarted: bool, rows_a_step: int
) -> None:
    expected = judged(sql, given_logs, finished=finished)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(join_changes, "ROWS_A_STEP", rows_a_step)
        for plan in plans(sql):
            rows = answer(plan, given_logs, batch_rows, finished=finished, restarted=restarted)
            note(str(expected.rows))
            note(str(rows))
            difference = same_answer(expected, rows)
            assert difference is None, difference
