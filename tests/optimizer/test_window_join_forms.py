"""Which form of the W-join the planner picks, and that EXPLAIN says why in text that still reads back."""

from __future__ import annotations

import pytest

import nilometer
from nilometer.engine import Database
from nilometer.plan import physical
from nilometer.plan.explain import explain_text, parse_physical_plan

STREAMS = "CREATE STREAM s (k INT, m INT, x FLOAT) PUSHED;"
UNIFORM = "WINDOW = 5 SECONDS"

CHOSEN = {
    "equalities reach all": (
        f"FROM s A, B, C {UNIFORM} WHERE A.k = B.k AND B.m = C.m",
        physical.HwJoin,
        "hashes: equalities tie A, B and C together; one window of 5 SECONDS",
    ),
    "missing windows, all equal": (
        "FROM s A, B, C WINDOW(A, B) = 5 SECONDS AND WINDOW(B, C) = 5 SECONDS WHERE A.k = B.k AND B.k = C.k",
        physical.HwJoin,
        "hashes: equalities tie A, B and C together; no window between A and C: implied by the others",
    ),
    "one stream without an equality": (
        f"FROM s A, B, C {UNIFORM} WHERE A.k = B.k",
        physical.MwJoin,
        "merge: no equality for C; one window of 5 SECONDS",
    ),
    "two pairs": (
        f"FROM s A, B, C, D {UNIFORM} WHERE A.k = B.k AND C.k = D.k",
        physical.MwJoin,
        "merge: equalities that do not tie all streams; one window of 5 SECONDS",
    ),
    "a band": (
        f"FROM s A, B {UNIFORM} WHERE A.x BETWEEN B.x - 0.5 AND B.x + 0.5",
        physical.MwJoin,
        "merge: no equality; A.x - B.x is bounded on both sides: searched by value; one window of 5 SECONDS",
    ),
    "a distance": (
        f"FROM s A, B {UNIFORM} WHERE ABS(A.k - B.k) < 3",
        physical.MwJoin,
        "merge: no equality; A.k - B.k is bounded on both sides: searched by value; one window of 5 SECONDS",
    ),
    "a comparison": (
        f"FROM s A, B {UNIFORM} WHERE A.x < B.x",
        physical.MwJoin,
        "merge: no equality; A.x - B.x is bounded on one side: searched by value; one window of 5 SECONDS",
    ),
    "different windows": (
        "FROM s A, B, C WINDOW(A, B) = 5 SECONDS AND WINDOW(B, C) = 6 SECONDS AND WINDOW(A, C) = 7 SECONDS",
        physical.MwJoin,
        "merge: no equality; different windows",
    ),
    "nothing to search by": (
        f"FROM s A, B, C {UNIFORM} WHERE A.x * B.x > C.x",
        physical.NlwJoin,
        "nested loops: no equality, band or order of windows to search by; one window of 5 SECONDS",
    ),
    "an equality that reads NOW": (
        f"FROM s A, B {UNIFORM} WHERE A.time = B.time AND A.time = NOW",
        physical.HwJoin,
        "hashes: equalities tie A and B together; one window of 5 SECONDS",
    ),
}


@pytest.fixture(scope="module")
def database() -> Database:
    db = nilometer.connect()
    db.execute(STREAMS)
    return db


@pytest.mark.parametrize("name", CHOSEN)
def test_chosen(name: str, database: Database) -> None:
    question, form, reason = CHOSEN[name]
    query = database.sql(f"SELECT time, A.k AS k {question}")
    text = query.explain("physical")
    assert [line.split("  -- ")[1] for line in text.splitlines() if "  -- " in line] == [reason]
    assert parse_physical_plan(text, database.catalog) == query.physical
    assert any(isinstance(node, form) for node in physical.walk_plan(query.physical))
    assert text in query.explain("physical", verbose=True)
    assert "  -- " not in explain_text(query.physical)


def test_nested_loops_with_keys_read_back_and_say_so(database: Database) -> None:
    """As plans were written before there were other forms."""
    query = database.sql("SELECT time, A.k AS k FROM s A, B WINDOW = 5 SECONDS WHERE A.k = B.k")
    text = explain_text(query.physical).replace("HW_JOIN", "NLW_JOIN")
    plan = parse_physical_plan(text, database.catalog)
    assert explain_text(plan) == text
    assert any(type(node) is physical.NlwJoin and node.keys for node in physical.walk_plan(plan))


def test_hashes_need_equalities_that_reach_all(database: Database) -> None:
    query = database.sql("SELECT time, A.k AS k FROM s A, B WINDOW = 5 SECONDS WHERE A.x < B.x")
    with pytest.raises(nilometer.NilometerError, match="HW_JOIN whose keys do not tie all streams together"):
        parse_physical_plan(explain_text(query.physical).replace("MW_JOIN", "HW_JOIN"), database.catalog)
