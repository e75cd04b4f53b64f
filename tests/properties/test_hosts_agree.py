"""The reference evaluator judges: the optimizer's plans and every host must give its answers, on random queries and logs."""

from __future__ import annotations

import os

import polars as pl
import pytest
from hypothesis import HealthCheck, example, given, note, settings

import nilometer
from dataflow.pushed import run_pushed
from nilometer.engine.data import feed_of, sensors_by_stream, tables_of
from nilometer.engine.gateway import run_on_gateway
from nilometer.engine.hosts import Host
from nilometer.errors import BindError, DataError
from nilometer.language import parse, print_statement
from nilometer.plan import logical
from nilometer.plan.explain import explain_text, parse_plan
from nilometer.plan.reference import evaluate, same_answer
from properties.random_queries import SCHEMA, STREAMS, TABLE_ROWS, Case, cases
from scripts import has_order, same_sequence

LONG = os.environ.get("HYPOTHESIS_PROFILE") == "long"
RELAXED = settings(
    deadline=None,
    suppress_health_check=list(HealthCheck),
    # Without --all the examples are the same in every run: more of them find nothing that the first run did not.
    max_examples=3000 if LONG else 50,
    print_blob=True,
)


@pytest.fixture(scope="module")
def table_file(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("table") / "t.parquet"
    pl.DataFrame(TABLE_ROWS, schema={"k": pl.Int64, "label": pl.String, "weight": pl.Float64}).write_parquet(
        path
    )
    return str(path)


def database_with(case: Case, table_file: str) -> nilometer.Database:
    database = nilometer.connect()
    database.execute(SCHEMA + f"CREATE TABLE t (k INT, label STRING, weight FLOAT) STORED AT '{table_file}';")
    for name in STREAMS:
        stream = database.catalog.stream(name)
        for entry in case.logs[name]:
            if isinstance(entry, int):
                database.data.heartbeat(stream, entry)
            else:
                database.append(name, [entry])
    return database


def judged(database: nilometer.Database, plan: logical.Node, finished: bool) -> object:
    nodes = list(logical.walk_plan(plan))
    feeds = {
        n.stream.name.lower(): feed_of(database.data, n.stream)
        for n in nodes
        if isinstance(n, logical.Acquire)
    }
    tables = tables_of(plan, database.data, database.catalog)
    return evaluate(plan, feeds, tables, sensors_by_stream(database.catalog), finished=finished)


def bound(database: nilometer.Database, case: Case) -> nilometer.Query | None:
    note(case.sql)
    return database.sql(case.sql)


@given(cases())
@RELAXED
def test_a_query_prints_and_parses_back(case: Case) -> None:
    tree = parse(case.sql)
    assert parse(print_statement(tree)) == tree


@given(case=cases())
@RELAXED
def test_the_optimizer_never_changes_an_answer(table_file: str, case: Case) -> None:
    database = database_with(case, table_file)
    query = bound(database, case)
    for finished in (True, False):
        try:
            expected = judged(database, query.logical, finished)
        except DataError:
            return  # integer overflow: a rule may avoid computing what is not asked for
        found = judged(database, query.optimized.plan, finished)
        difference = same_answer(expected, found)
        if difference is None and has_order(query.logical):
            difference = None if same_sequence(expected.rows, found.rows) else "another order"
        assert difference is None, (
            f"{difference}\n{explain_text(query.logical)}\n{explain_text(query.optimized.plan)}"
        )


@given(case=cases())
@example(
    case=Case(
        "SELECT r.x AS c1 FROM a [NOW] r WHERE r.x BETWEEN 0 AND 0 AND r.time >= now - 3 SECONDS",
        {name: [] for name in STREAMS},
    )
)
@RELAXED
def test_plan_text_parses_back(table_file: str, case: Case) -> None:
    database = database_with(Case(case.sql, {name: [] for name in STREAMS}), table_file)
    query = bound(database, case)
    for plan in (query.logical, query.optimized.plan):
        assert parse_plan(explain_text(plan), database.catalog) == plan


@pytest.mark.parametrize("host", [run_on_gateway, run_pushed])
@given(case=cases())
@RELAXED
def test_a_host_agrees_with_the_reference(table_file: str, host: Host, case: Case) -> None:
    database = database_with(case, table_file)
    query = bound(database, case)
    for finished in (True, False):
        try:
            expected = query.run("reference", finished=finished)
        except DataError:
            with pytest.raises(DataError):
                host(query, finished, None)
            return
        for batch_rows in (None, 1, 3):
            found = host(query, finished, batch_rows)
            difference = same_answer(expected.rows, found.rows)
            assert difference is None, f"{difference} (batches of {batch_rows})\n{query.explain('physical')}"
            if has_order(query.logical):
                assert same_sequence(expected.rows, found.rows), f"{expected.rows}\n{found.rows}"


def test_the_random_queries_bind() -> None:
    """A generator whose queries are refused would test nothing."""
    with pytest.raises(BindError):
        nilometer.connect().sql("SELECT * FROM nowhere")
