"""EXPLAIN ANALYZE says what each operator did: the numbers are those of the data, whatever the batches."""

from __future__ import annotations

import re

import pytest

import nilometer
from nilometer.dataflow.analysis import measures
from nilometer.dataflow.run import Run
from nilometer.engine.analyzing import remark
from nilometer.engine.gateway import DatabaseSources
from nilometer.plan import physical


@pytest.fixture
def database() -> nilometer.Database:
    made = nilometer.connect()
    made.execute(
        "CREATE STREAM air (pm25 INT) PUSHED; CREATE STREAM wind (speed INT) PUSHED;"
        "CREATE TABLE limits (id INT, most INT) STORED AT 'file:limits.csv'"
    )
    made.append("air", [{"time": f"2026-03-01T00:00:{n:02}Z", "id": n % 3, "pm25": n} for n in range(60)])
    made.append("wind", [{"time": f"2026-03-01T00:00:{n:02}Z", "id": 0, "speed": n} for n in range(0, 60, 2)])
    return made


def counts(query: nilometer.engine.Query) -> list[tuple[str, int, int]]:
    return [
        (row["operator"], row["rows_in"], row["rows_out"]) for row in query.analyze().as_dict()["operators"]
    ]


def test_a_filter_and_a_projection(database: nilometer.Database) -> None:
    query = database.sql("SELECT id, pm25 * 2 AS twice FROM air WHERE pm25 >= 45")
    assert counts(query) == [("DELIVER", 15, 15), ("PROJECT", 15, 15), ("SP_ACQUIRE", 60, 15)]


def test_an_operator_that_does_the_work_of_those_below_it(database: nilometer.Database) -> None:
    query = database.sql("SELECT id, SUM(pm25) AS s FROM air [RANGE 20 SECONDS SLIDE 20 SECONDS] GROUP BY id")
    found = {name: (rows_in, rows_out) for name, rows_in, rows_out in counts(query)}
    assert found["SP_ACQUIRE"] == (60, 60)
    assert found["AGGR_EVAL"] == (60, query.polars().height)
    assert "TIME_WINDOW" not in found
    text = query.analyze().text()
    assert re.search(r"TIME_WINDOW .*-- done by the operator above", text)
    assert re.search(r"AGGR_EVAL .*-- 60 -> \d+ rows \(\d+(\.\d)? %\), [\d.]+ ms, [\d.]+ k?B held", text)
    assert text.splitlines()[-2] == "-- air: 60 received, 60 accepted"


def test_a_join_and_equal_sub_plans(database: nilometer.Database) -> None:
    query = database.sql("SELECT a.pm25, w.speed FROM air a, wind w WINDOW = 1 SECOND WHERE a.pm25 = w.speed")
    found = counts(query)
    join = next(row for row in found if row[0].endswith("JOIN"))
    assert join[1:] == (90, 30)
    assert "%" not in query.analyze().text().splitlines()[2]


@pytest.mark.parametrize("batch", [1, 7, 60])
def test_the_numbers_do_not_depend_on_the_batches(database: nilometer.Database, batch: int) -> None:
    query = database.sql(
        "SELECT id, MAX(pm25) AS m FROM air [RANGE 10 SECONDS SLIDE 5 SECONDS] WHERE pm25 > 7 GROUP BY id HAVING MAX(pm25) > 20"
    )
    run = Run(query.physical, DatabaseSources(database, query.physical), batch)
    run.collect()
    found = [
        (node.operator, one.rows_in, one.rows_out) for node, one in measures(run.flow, query.physical).items()
    ]
    assert sorted(found) == sorted(counts(query))


def test_a_query_that_leaves_frees_its_numbers(database: nilometer.Database) -> None:
    from nilometer.dataflow.dataflow import Dataflow

    query = database.sql("SELECT id, pm25 FROM air [NOW] WHERE pm25 > 3")
    flow = Dataflow(query.physical, DatabaseSources(database, query.physical))
    assert set(flow.origins) >= {query.physical}
    flow.remove(list(flow.stages))
    assert flow.origins == {}
    assert measures(flow, query.physical) == {}


def test_statement_and_remarks(database: nilometer.Database) -> None:
    (text,) = database.execute("EXPLAIN ANALYZE SELECT COUNT(*) AS n FROM air")
    assert re.match(r"DELIVER.*-- 1 row, [\d.]+ ms", text)
    from nilometer.dataflow.analysis import Measure

    assert remark(Measure(1_000, 10, 300_000, 1, 2_100)) == "1,000 -> 10 rows (1 %), 0.3 ms, 2.1 kB held"
    assert remark(Measure(0, 0, 0, 1)) == "0 rows, 0.0 ms"
    assert remark(Measure(2, 5, 0, 1), inputs=2) == "2 -> 5 rows, 0.0 ms"
    assert isinstance(database.sql("SELECT id FROM air").physical, physical.Node)
