"""However a plan is laid out and its rows divided, batch by batch, the answer is the reference's: scripts, and random queries."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import HealthCheck, given, note, settings
from hypothesis import strategies as st

import nilometer
from nilometer.engine import Answer
from nilometer.engine.data import feed_of, sensors_by_stream
from nilometer.engine.gateway import DatabaseSources
from nilometer.errors import DataError
from nilometer.plan import logical
from nilometer.plan.reference import evaluate, same_answer
from nilometer.spark.layout import lay_out, text_of
from properties.random_queries import SCHEMA, STREAMS, TABLE_ROWS, Case, cases
from scripts import Run, read_script
from spark.layout.layered_queries import layered_cases
from spark.layout.pipeline import Pipeline

QUERIES = Path(__file__).parents[2] / "queries"
SCRIPTS = sorted(QUERIES.rglob("*.test"))
LONG = os.environ.get("HYPOTHESIS_PROFILE") == "long"
RELAXED = settings(
    deadline=None,
    suppress_health_check=list(HealthCheck),
    max_examples=2000 if LONG else 60,
    print_blob=True,
)

batch_sizes = st.sampled_from((None, 1, 3))
bucket_counts = st.sampled_from((1, 2, 5))


class LaidOut(Run):
    """A script run over a layout."""

    buckets = 5

    def _answer(self, asked: object, finished: bool) -> Answer:
        query = asked.query  # type: ignore[attr-defined]
        pipeline = Pipeline(
            query.physical,
            lay_out(query.physical, self.buckets, combine=self.batch_rows is not None),
            DatabaseSources(query.database, query.physical),
            self.batch_rows,
            finished,
            restarted=self.batch_rows is not None,
        )
        frame = pipeline.collect()
        ledgers = {name: inlet.door.ledger.as_dict() for name, inlet in pipeline.inlets.items()}
        return Answer(query.schema, frame, None, ledgers)


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.relative_to(QUERIES).as_posix())
def test_a_script_in_buckets(path: Path, tmp_path: Path) -> None:
    script = read_script(path)
    for batch_rows in (None, 3):
        LaidOut(script, "gateway", tmp_path, batch_rows=batch_rows).run()


@pytest.fixture(scope="module")
def table_file(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("table") / "t.parquet"
    columns = {"k": pl.Int64, "label": pl.String, "weight": pl.Float64}
    pl.DataFrame(TABLE_ROWS, schema=columns).write_parquet(path)
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


def judged(database: nilometer.Database, query: nilometer.Query, finished: bool) -> Any:
    """The reference's answer; so far, of the optimizer's plan, which does not wait for what nobody asks for."""
    if finished:
        return query.run("reference", finished=True).rows
    leaves = list(logical.walk_plan(query.optimized.plan))
    streams = {node.stream.name.lower(): node.stream for node in leaves if isinstance(node, logical.Acquire)}
    feeds = {name: feed_of(database.data, stream) for name, stream in streams.items()}
    sensors = sensors_by_stream(database.catalog)
    return evaluate(query.optimized.plan, feeds, {"t": TABLE_ROWS}, sensors, finished=False)


@pytest.mark.parametrize("queries", [cases, layered_cases])
def test_a_random_query_in_buckets(queries: object, table_file: str) -> None:
    @given(queries(), batch_sizes, bucket_counts, st.booleans(), st.booleans(), st.booleans())  # type: ignore[operator]
    @RELAXED
    def agrees(
        case: Case, batch_rows: int | None, buckets: int, combine: bool, finished: bool, restarted: bool
    ) -> None:
        database = database_with(case, table_file)
        note(case.sql)
        query = database.sql(case.sql)
        layout = lay_out(query.physical, buckets, combine=combine)
        note(text_of(layout))
        pipeline = Pipeline(
            query.physical,
            layout,
            DatabaseSources(database, query.physical),
            batch_rows,
            finished,
            restarted,
        )
        try:
            expected = judged(database, query, finished)
        except DataError:
            with pytest.raises(DataError):
                pipeline.collect()
            return
        difference = same_answer(expected, Answer(query.schema, pipeline.collect()).rows)
        assert difference is None, difference

    agrees()
