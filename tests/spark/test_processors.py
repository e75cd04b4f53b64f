"""Every query script, and random queries, through the readers and processors that Spark runs, with TwsTester in Spark's place: no JVM."""

from __future__ import annotations

import os
from collections import OrderedDict
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, note, settings

import nilometer
from nilometer.engine import hosts
from nilometer.engine.spark import job_over_logs, land_query
from nilometer.errors import BindError, DataError
from nilometer.plan.reference import same_answer
from nilometer.spark import processor
from nilometer.spark.faults import CarriedError
from properties.analytic_queries import analytic_cases
from properties.random_queries import Case, cases
from properties.test_delivery_order import LAGGED, WAITING, check_ticks, logs
from properties.test_group_windows import group_window_cases
from properties.test_hosts_agree import database_with, table_file  # noqa: F401 - a fixture
from scripts import Run, read_script
from spark import without_jvm

QUERIES = Path(__file__).parent.parent / "queries"
SCRIPTS = sorted(QUERIES.rglob("*.test"))
HOST = "spark without a JVM"
LONG = os.environ.get("HYPOTHESIS_PROFILE") == "long"


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.relative_to(QUERIES).as_posix())
def test_script(path: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    script = read_script(path)
    for run, batch_rows in ((without_jvm.run, None), (without_jvm.forgetful, 2)):
        monkeypatch.setitem(hosts.HOSTS, HOST, run)
        Run(script, HOST, tmp_path, batch_rows=batch_rows).run()


@given(case=cases() | group_window_cases() | analytic_cases())
@settings(
    deadline=None, suppress_health_check=list(HealthCheck), max_examples=1000 if LONG else 20, print_blob=True
)
def test_random_queries(table_file: str, case: Case) -> None:  # noqa: F811
    note(case.sql)
    try:
        query = database_with(case, table_file).sql(case.sql)
    except BindError:  # the log is empty, so its stream is not at hand; or an aggregate is of the wrong type
        return
    for finished in (True, False):
        try:
            expected = query.run("reference", finished=finished)
        except DataError:
            with pytest.raises(DataError):
                without_jvm.run(query, finished, None)
            return
        for run, batch_rows in ((without_jvm.run, None), (without_jvm.run, 3), (without_jvm.forgetful, 1)):
            found = run(query, finished, batch_rows)
            difference = same_answer(expected.rows, found.rows)
            assert difference is None, (
                f"{difference} (batches of {batch_rows})\n{query.explain('physical')}\n{query.explain('spark')}"
            )


@pytest.mark.parametrize("sql", [*LAGGED.values(), *WAITING.values()], ids=[*LAGGED, *WAITING])
@given(given_logs=logs)
@settings(deadline=None, suppress_health_check=list(HealthCheck), max_examples=3)
def test_rows_of_several_buckets_come_in_the_order_of_ticks(sql: str, given_logs: dict[str, Any]) -> None:
    check_ticks(sql, without_jvm.run, given_logs)


@pytest.mark.parametrize("host", [without_jvm.run, without_jvm.forgetful])
def test_what_a_join_sheds_is_counted(host: Any) -> None:
    database = nilometer.connect()
    database.execute("CREATE STREAM a (v INT) PUSHED; CREATE STREAM b (v INT) PUSHED;")
    readings = [{"time": number * 100_000, "id": 1, "v": number % 7} for number in range(240)]
    database.append("a", readings)
    database.append("b", readings)
    query = database.sql(
        "SELECT A.v AS v FROM a A, b B WINDOW = 50 SECONDS MEMORY(A) = 10 ROWS SHED PROB WHERE A.v = B.v"
    )
    answer = host(query, True, 60)
    assert 0 < len(answer) < len(query.run("reference"))
    # Three buckets keep ten rows each, at most; all of the others were given up.
    assert 240 - 30 <= answer.ledgers["a"]["shed"] < 240
    assert answer.ledgers["b"]["shed"] == 0


def test_a_checkpoint_that_does_not_say_how_its_state_is_divided_is_refused(tmp_path: Path) -> None:
    """The previous release wrote such ones, and kept windows without SLIDE in one bucket."""
    database = nilometer.connect()
    database.execute("CREATE STREAM a (v INT) PUSHED; CREATE STREAM b (v INT) PUSHED;")
    database.append("a", [{"time": number * 1_000_000, "id": 1, "v": number} for number in range(9)])
    for sql, refused in (
        ("SELECT id, SUM(v) AS s FROM a [RANGE 3 SECONDS] GROUP BY id", True),
        ("SELECT id, v FROM a WHERE v > 2", False),
    ):
        query = database.sql(sql)
        folder = str(tmp_path / str(refused))
        land_query(query, folder)
        planner = without_jvm.Pipeline(job_over_logs(query, 3, 2, folder, ends=True, max_rows=4)).planner
        assert planner.latest(planner.begin, 4) != planner.begin
        unmarked = planner.start.as_json()
        if refused:
            with pytest.raises(CarriedError, match="this checkpoint does not fit"):
                planner.latest(unmarked, 4)
        else:
            assert planner.latest(unmarked, 4) != unmarked


def test_buckets_of_ended_queries_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr(processor, "_BUCKETS", OrderedDict())
    monkeypatch.setattr(processor.time, "monotonic", lambda: now[0])
    flow: Any = None
    for minute, query in enumerate(["ended", "runs", *["runs"] * 9, "new"]):
        now[0] = 60.0 * minute
        bucket = processor._BUCKETS.pop((query, 0, 0), None) or processor.Bucket(flow)
        processor._remember((query, 0, 0), bucket)
    assert [query for query, _, _ in processor._BUCKETS] == ["runs", "new"]
