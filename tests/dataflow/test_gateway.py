"""The gateway against the reference evaluator: every physical node, random logs, any cut into batches, any restart."""

from __future__ import annotations

import inspect
from typing import Any

import pytest
from hypothesis import given, note, settings
from hypothesis import strategies as st

from dataflow.judge import STREAMS, Logs, answer, judged, logs, plans, sources
from nilometer.dataflow import Run
from nilometer.dataflow.lowering import ABILITIES
from nilometer.plan import physical
from nilometer.plan.reference import same_answer
from nilometer.types import SECOND

QUERIES = [
    # streams
    "SELECT * FROM a WHERE x > 0",
    "SELECT a.time, a.id, x + 1 AS y, now FROM a WHERE v IS NOT NULL AND x != 2",
    "SELECT id, kind, location, zone FROM s WHERE kind = 'gauge'",
    "SELECT id, x FROM s WHERE distance(location, POINT(0, 0)) < 2 AND x > 0",
    "SELECT * FROM k",
    "SELECT id, LAG(x) AS before, DELTA(x) AS step, RATE(v) AS speed, LAG(name, 2) AS earlier FROM a WHERE x >= 0",
    "SELECT * FROM s SAMPLE EVERY 4 SECONDS",
    "SELECT * FROM SILENT(a FOR 3 SECONDS)",
    "SELECT * FROM SILENT(s FOR 4 SECONDS)",
    "SELECT * FROM SIMILAR(a, x) [RANGE 4 SECONDS]",
    "SELECT time, id, other_id FROM SIMILAR(s, v WITHIN 0.5 PAIRS) [RANGE 6 SECONDS]",
    "SELECT a.x, b.x AS other FROM a ASOF JOIN b ON a.id = b.id WITHIN 4 SECONDS",
    "SELECT s.x, a.x AS other FROM s ASOF JOIN a ON s.id = a.id",
    "SELECT a.x, t.label FROM a, t WHERE a.x = t.k",
    "SELECT a.x FROM a WHERE a.x IN (SELECT k FROM t WHERE weight > 0.3)",
    "SELECT x, v FROM a UNION SELECT x, v FROM s",
    "SELECT a.x, b.x AS y FROM a, b WINDOW = 2 SECONDS WHERE a.x = b.x",
    "SELECT a.time, b.time AS u, s.time AS w FROM a, b, s WINDOW(a, b) = 2 SECONDS AND WINDOW(b, s) = 1 SECONDS",
    # windows
    "SELECT * FROM a [RANGE 4 SECONDS SLIDE 2 SECONDS] WHERE x > 0",
    "SELECT x FROM b [NOW]",
    "SELECT x FROM s [NOW]",
    "SELECT x, now FROM s [FROM NOW - 4 SECONDS TO NOW - 2 SECONDS]",
    "SELECT x FROM a [AT NOW - 2 SECONDS]",
    "SELECT x FROM a [UNBOUNDED] WHERE x > 1",
    "SELECT x, id FROM a [RANGE 3 ROWS SLIDE 2 ROWS] WHERE x >= 0",
    "SELECT x FROM s [FROM NOW - 3 ROWS TO NOW - 1 ROWS]",
    "ISTREAM SELECT x FROM a [RANGE 3 SECONDS SLIDE 1 SECOND]",
    "DSTREAM SELECT x, name FROM s [RANGE 4 SECONDS]",
    "SELECT a.x, b.x AS y FROM a [RANGE 4 SECONDS SLIDE 2 SECONDS], b [RANGE 2 SECONDS] WHERE a.x = b.x",
    "SELECT a.x, s.x AS y FROM a [NOW], s [NOW] WHERE a.v < s.v",
    "SELECT t.label, s.x FROM t, s [RANGE 4 SECONDS] WHERE t.k = s.x",
    "SELECT x FROM a [NOW] UNION SELECT x FROM s [NOW]",
    "SELECT x FROM (ISTREAM SELECT x FROM a [RANGE 3 SECONDS]) [RANGE 2 SECONDS SLIDE 2 SECONDS]",
    # orders, sets and constants
    "SELECT x, name FROM a [RANGE 4 SECONDS SLIDE 2 SECONDS] ORDER BY v DESC, name",
    "ISTREAM SELECT x, id FROM s [RANGE 4 SECONDS] ORDER BY x DESC NULLS FIRST LIMIT 2 OFFSET 1",
    "SELECT id, x FROM a LIMIT 4 OFFSET 1",
    "SELECT id, x FROM s ORDER BY time",
    "SELECT k, label FROM t ORDER BY weight LIMIT 2",
    "SELECT DISTINCT x, name FROM a [RANGE 4 SECONDS SLIDE 2 SECONDS]",
    "SELECT x FROM a [RANGE 3 SECONDS] EXCEPT ALL SELECT x FROM s [NOW]",
    "SELECT x FROM a [RANGE 3 SECONDS SLIDE 1 SECOND] INTERSECT SELECT x FROM s [RANGE 4 SECONDS]",
    "SELECT a.x, l.label FROM a, (VALUES (1, 'one'), (2, NULL)) l(k, label) WHERE a.x = l.k",
    "SELECT x, x IN (SELECT k FROM t) AS found FROM a",
    "SELECT a.x FROM a [RANGE 3 SECONDS] WHERE a.x > 2 OR EXISTS (SELECT * FROM s [NOW] WHERE s.id = a.id)",
    # aggregates
    "SELECT COUNT(*) AS n, SUM(x) AS s, AVG(v) AS m FROM a [RANGE 4 SECONDS SLIDE 2 SECONDS]",
    "SELECT COUNT(*) AS n, MIN(v) AS low, MAX(name) AS high FROM b [NOW] WHERE x > 0",
    "SELECT id, COUNT(x) AS n, STDEV(v) AS d, VARIANCE(v) AS q FROM s [RANGE 6 SECONDS] GROUP BY id",
    "SELECT id, x, AVG(v) AS m FROM a [RANGE 4 SECONDS SLIDE 1 SECOND] WHERE x != 2 GROUP BY id, x HAVING COUNT(*) > 1",
    "SELECT MEDIAN(v) AS m, COUNT(DISTINCT name) AS n FROM a [RANGE 4 SECONDS SLIDE 2 SECONDS]",
    "SELECT name, MEDIAN(x) AS m FROM s [RANGE 4 SECONDS] GROUP BY name",
    "SELECT COUNT(*) AS n, now FROM a [RANGE 4 SECONDS SLIDE 2 SECONDS] WHERE a.time > now - 2 SECONDS",
    "SELECT SUM(x) AS s FROM a [RANGE 5 ROWS SLIDE 2 ROWS] WHERE x > 0",
    "SELECT x, COUNT(*) AS n FROM s [RANGE 4 ROWS] GROUP BY x",
    "SELECT COUNT(*) AS n FROM s [NOW SLIDE 3 SECONDS] WHERE kind = 'gauge'",
    "SELECT AVG(v) AS m FROM s [FROM NOW - 4 SECONDS TO NOW - 2 SECONDS SLIDE 3 SECONDS]",
    "SELECT SUM(x) AS s FROM b [UNBOUNDED]",
    "ISTREAM SELECT id, COUNT(*) AS n FROM b [RANGE 3 SECONDS] GROUP BY id",
    "SELECT n, COUNT(*) AS k FROM (RSTREAM SELECT COUNT(*) AS n FROM a [RANGE 2 SECONDS SLIDE 1 SECOND]) [RANGE 4 SECONDS] GROUP BY n",
    "SELECT p.id, p.m, q.n FROM (SELECT id, AVG(v) AS m FROM a [RANGE 4 SECONDS SLIDE 2 SECONDS] GROUP BY id) p, "
    "(SELECT id, COUNT(*) AS n FROM b [RANGE 4 SECONDS SLIDE 4 SECONDS] GROUP BY id) q WHERE p.id = q.id",
    "SELECT y, SUM(w) AS total FROM (SELECT x + 1 AS y, v * 2.0 AS w FROM a [RANGE 4 SECONDS SLIDE 2 SECONDS] WHERE x > -5) q "
    "WHERE w < 100.0 GROUP BY y",
    "SELECT COUNT(*) AS n, COMPLETENESS() AS c FROM s [RANGE 6 SECONDS] WHERE x > 0",
    "SELECT id, COMPLETENESS() AS c FROM a [RANGE 4 SECONDS SLIDE 2 SECONDS] GROUP BY id",
    "SELECT COMPLETENESS() AS c FROM a [RANGE 4 SECONDS SLIDE 2 SECONDS]",
    # tables
    "SELECT label, COUNT(*) AS n, SUM(weight) AS w FROM t GROUP BY label",
    "SELECT COUNT(*) AS n, MAX(weight) AS w FROM t WHERE k > 5",
    "SELECT label, weight FROM t WHERE k = 2",
    "SELECT p.label, q.weight FROM t p, t q WHERE p.k = q.k",
    "SELECT label FROM t UNION SELECT label FROM t",
]


@pytest.mark.parametrize("sql", QUERIES)
@settings(max_examples=settings().max_examples // 25)
@given(
    given_logs=logs,
    batch_rows=st.sampled_from([None, 1, 2, 3, 7, 65_536]),
    finished=st.booleans(),
    restarted=st.booleans(),
)
def test_the_gateway_gives_the_reference_answer(
    sql: str, given_logs: Logs, batch_rows: int | None, finished: bool, restarted: bool
) -> None:
    expected = judged(sql, given_logs, finished=finished)
    for plan in plans(sql):
        rows = answer(plan, given_logs, batch_rows, finished=finished, restarted=restarted)
        difference = same_answer(expected, rows)
        note(str(expected.rows))
        note(str(rows))
        assert difference is None, difference


def test_every_physical_node_has_an_ability() -> None:
    nodes = {
        value
        for value in vars(physical).values()
        if inspect.isclass(value) and issubclass(value, physical.Node) and value.operator
    }
    assert set(ABILITIES) == nodes


def reading(time: float, **values: Any) -> dict[str, Any]:
    return {"time": int(time * SECOND), "id": 1, "x": None, "v": None, "name": None} | values


def test_the_summary_balances_the_books() -> None:
    rows = [reading(10), reading(1), reading(8), reading(8), reading(12)]
    run = Run(plans("SELECT x FROM k")[0], sources({"k": rows}), 2)
    assert run.collect().height == 3
    summary = run.summary
    assert summary.ledgers["k"].as_dict() == {
        "received": 5,
        "garbled": 0,
        "future": 0,
        "duplicate": 1,
        "late": 1,
        "accepted": 3,
    }
    assert (summary.rows_in, summary.rows_out, summary.rows_late) == (5, 3, 1)
    assert summary.watermark == 12 * SECOND + 1


def test_the_stream_that_is_furthest_behind_moves() -> None:
    plan = plans("SELECT a.x FROM a [RANGE 2 SECONDS], b [RANGE 2 SECONDS]")[0]
    given_logs = {
        "a": [reading(time) for time in range(1000)],
        "b": [reading(time) for time in range(0, 1000, 10)],
    }
    run = Run(plan, sources(given_logs), 10)
    gaps = []
    while not run.over:
        run.step()
        doors = [inlet.door for inlet in run._inlets.values() if not inlet.ended]
        if len(doors) == 2:
            gaps.append(abs(doors[0].watermark - doors[1].watermark))
    assert len(gaps) > 90
    assert max(gaps) <= 100 * SECOND


def test_a_stream_without_tuples_holds_the_answer_back() -> None:
    sql = "SELECT a.x FROM a [RANGE 2 SECONDS], b [RANGE 2 SECONDS]"
    run = Run(plans(sql)[0], sources({"a": [reading(1), reading(2)]}))
    assert run.collect().height == 0
    assert run.summary.ledgers["b"].received == 0


def test_an_answer_without_rows_still_has_its_columns() -> None:
    run = Run(plans("SELECT x, v FROM a [RANGE 2 SECONDS]")[0], sources({}))
    assert run.collect().columns == ["tick", "x", "v"]


def test_all_streams_are_there() -> None:
    assert set(STREAMS) == {"a", "b", "s", "k"}
