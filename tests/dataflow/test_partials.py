"""The steps of an aggregate apart: INIT at two places, MERGE and EVAL, against the aggregate in one step."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dataflow.judge import Logs, answer, judged, logs, plans, sources
from nilometer.dataflow import Run
from nilometer.errors import UnsupportedError
from nilometer.expressions import TRUE, Call, ColumnReference, Literal
from nilometer.plan import physical
from nilometer.plan.reference import same_answer
from nilometer.types import BOOLEAN, INT

ITEMS = (
    "COUNT(*) AS n, COUNT(v) AS c, SUM(x) AS s, SUM(v) AS w, AVG(x) AS a, AVG(v) AS m, MIN(x) AS l, MAX(name) AS h, "
    "STDEV(v) AS d, VARIANCE(x) AS q"
)
QUERIES = [
    f"SELECT {ITEMS} FROM a [RANGE 4 SECONDS SLIDE 2 SECONDS]",
    f"SELECT id, {ITEMS} FROM s [RANGE 4 SECONDS] WHERE x != 3 GROUP BY id",
    f"SELECT {ITEMS} FROM b [RANGE 3 ROWS]",
    "SELECT label, COUNT(*) AS n, AVG(weight) AS w, SUM(k) AS s FROM t GROUP BY label",
    "SELECT COUNT(*) AS n, STDEV(weight) AS w FROM t WHERE k > 7",
]


def apart(plan: physical.Node) -> physical.Node:
    """The same plan with something between all steps, so that they cannot be one."""

    def change(node: physical.Node) -> physical.Node:
        if isinstance(node, physical.AggregateInit | physical.AggregateMerge):
            return physical.Select(node, TRUE)
        return node

    return physical.transform_plan(plan, change)


@pytest.mark.parametrize("sql", QUERIES)
@settings(max_examples=settings().max_examples // 25)
@given(given_logs=logs, batch_rows=st.sampled_from([None, 2]), restarted=st.booleans())
def test_the_steps_apart_give_the_same_answer(
    sql: str, given_logs: Logs, batch_rows: int | None, restarted: bool
) -> None:
    for plan in plans(sql):
        rows = answer(apart(plan), given_logs, batch_rows, restarted=restarted)
        assert same_answer(judged(sql, given_logs), rows) is None


@given(given_logs=logs)
@settings(max_examples=settings().max_examples // 25)
def test_partial_results_of_two_places_merge_into_one(given_logs: Logs) -> None:
    sql = QUERIES[1]
    plan = plans(sql)[0]

    def divide(node: physical.Node) -> physical.Node:
        if not isinstance(node, physical.AggregateInit):
            return node
        odd, even = (_only(node, remainder) for remainder in (0, 1))
        return physical.Union(odd, even)

    rows = answer(physical.transform_plan(plan, divide), given_logs)
    assert same_answer(judged(sql, given_logs), rows) is None


def _only(node: physical.AggregateInit, remainder: int) -> physical.Node:
    number = Call("coalesce", (ColumnReference("s.x", INT), Literal(0, INT)), INT)
    rest = Call("%", (Call("*", (number, number), INT), Literal(2, INT)), INT)
    chosen = Call("=", (rest, Literal(remainder, INT)), BOOLEAN)
    return node.with_inputs((physical.Select(node.input, chosen),))


def test_completeness_cannot_be_told_from_partial_results() -> None:
    plan = plans("SELECT id, COMPLETENESS() AS c FROM a [RANGE 4 SECONDS SLIDE 2 SECONDS] GROUP BY id")[0]
    with pytest.raises(UnsupportedError, match="COMPLETENESS"):
        Run(apart(plan), sources({}))
