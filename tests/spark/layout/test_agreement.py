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
from nilometer.errors import BindError, DataError
from nilometer.plan import logical
from nilometer.plan.reference import evaluate, same_answer
from nilometer.spark.layout import lay_out, text_of
from properties.analytic_queries import analytic_cases
from properties.random_queries import BASE, SCHEMA, STREAMS, TABLE_ROWS, Case, cases, readings
from properties.test_group_windows import group_window_cases
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


def check(
    case: Case,
    table_file: str,
    buckets: int,
    batch_rows: int | None,
    *,
    combine: bool = True,
    finished: bool = True,
    restarted: bool = False,
) -> None:
    """The layout's answer is the reference's."""
    database = database_with(case, table_file)
    note(case.sql)
    try:
        query = database.sql(case.sql)
    except BindError:  # the log is empty, so its stream is not at hand; or an aggregate is of the wrong type
        return
    layout = lay_out(query.physical, buckets, combine=combine)
    note(text_of(layout))
    sources = DatabaseSources(database, query.physical)
    pipeline = Pipeline(query.physical, layout, sources, batch_rows, finished, restarted)
    try:
        expected = judged(database, query, finished)
    except DataError:
        with pytest.raises(DataError):
            pipeline.collect()
        return
    try:
        found = pipeline.collect()
    except DataError:
        # What a stage computes of a reading when it comes, the reference computes when its window is evaluated, and then fails as well.
        assert not finished
        with pytest.raises(DataError):
            judged(database, query, True)
        return
    difference = same_answer(expected, Answer(query.schema, found).rows)
    assert difference is None, difference


@pytest.mark.parametrize("queries", [cases, layered_cases, analytic_cases, group_window_cases])
def test_a_random_query_in_buckets(queries: object, table_file: str) -> None:
    @given(queries(), batch_sizes, bucket_counts, st.booleans(), st.booleans(), st.booleans())  # type: ignore[operator]
    @RELAXED
    def agrees(
        case: Case, batch_rows: int | None, buckets: int, combine: bool, finished: bool, restarted: bool
    ) -> None:
        check(
            case,
            table_file,
            buckets,
            batch_rows,
            combine=combine,
            finished=finished,
            restarted=restarted,
        )

    agrees()


PITFALLS = {
    "a bucket without a row at a tick has an evaluation there": "ISTREAM SELECT r.x AS x FROM a [NOW] r",
    "also where windows are joined": "SELECT r.x AS x, q.x AS y FROM a [NOW] r, b [NOW] q WHERE r.id = q.id",
    "also of other buckets' rows": "SELECT r.id AS k, COUNT(*) AS n FROM a [RANGE 3 SECONDS] r GROUP BY r.id",
    "a declared sensor is expected in one bucket": "SELECT * FROM SILENT(s FOR 2 SECONDS)",
    "a condition does not say when a window is evaluated": "SELECT COUNT(*) AS n FROM a [RANGE 3 SECONDS] r WHERE r.x > 1",
    "a condition may read the tick": "SELECT r.id AS k, SUM(r.x) AS n FROM a [RANGE 4 SECONDS SLIDE 1 SECOND] r"
    " WHERE r.time >= now - 1 SECOND GROUP BY r.id",
    "what no window sees is no error": "SELECT r.x * 2305843009213693952 AS y FROM a [NOW SLIDE 4 SECONDS] r",
    "a key that a condition guards is no error": "SELECT r.x * 2305843009213693952 AS k, COUNT(*) AS n"
    " FROM a [RANGE 4 SECONDS SLIDE 1 SECOND] r WHERE r.x < 4 AND r.time >= now - 3 SECONDS"
    " GROUP BY r.x * 2305843009213693952",
    "a row without a partner is not with its key": "SELECT j.k AS k, COUNT(*) AS n FROM (SELECT q.id AS k FROM a r"
    " ASOF JOIN b q ON r.id = q.id) [RANGE 4 SECONDS SLIDE 1 SECOND] j GROUP BY j.k",
    "a union has one source of an id": "SELECT u.k AS k, DELTA(u.x) AS d FROM (SELECT r.id AS k, r.x AS x FROM a r"
    " UNION SELECT r.id AS k, r.x AS x FROM s r) u",
    "equal rows of two groups are equal": "ISTREAM SELECT COUNT(*) AS n FROM a [RANGE 3 SECONDS SLIDE 1 SECOND] r"
    " GROUP BY r.id",
    "an INT is equal to a FLOAT": "SELECT r.id AS i, q.id AS j FROM a [RANGE 4 SECONDS SLIDE 1 SECOND] r,"
    " b [RANGE 4 SECONDS SLIDE 1 SECOND] q WHERE r.x = q.v * 64",
    "partials of one slice come in many batches": "SELECT STDEV(r.x) AS s, AVG(r.v) AS a, MIN(r.x) AS l, COUNT(r.v) AS n"
    " FROM a [FROM NOW - 5 SECONDS TO NOW - 2 SECONDS SLIDE 2 SECONDS] r",
    "near tuples meet across stripes": "SELECT * FROM SIMILAR(a, v WITHIN 0.25 PAIRS) [RANGE 4 SECONDS]",
    "a tuple answers at home alone": "SELECT s.id AS k, s.matches AS n FROM SIMILAR(s, x WITHIN 2 COUNTS) [RANGE 3 SECONDS] s",
    "so do those of a union": "SELECT w.id AS k, w.arity AS n FROM SIMILAR((SELECT r.id AS id, r.v AS v FROM a r UNION"
    " SELECT q.id AS id, q.v AS v FROM b q), v WITHIN 0.25) [RANGE 4 SECONDS] w",
    "a band divides a window join": "SELECT r.x AS x, q.x AS y FROM a r, b q WINDOW = 3 SECONDS WHERE ABS(r.x - q.x) <= 1",
    "so do two of them, one through the other": "SELECT r.x AS x, q.x AS y, p.x AS z FROM a r, b q, s p WINDOW = 2 SECONDS"
    " WHERE r.x BETWEEN q.x - 1 AND q.x + 2 AND p.x > q.x AND p.x - 2 < q.x",
    "a band beside an equality": "SELECT r.v AS x, q.v AS y, p.v AS z FROM a r, b q, s p WINDOW = 2 SECONDS"
    " WHERE r.x = q.x + 1 AND ABS(q.x - p.x) < 2",
    "a chain of keys divides a window join in a grid": "SELECT r.v AS x, q.v AS y, p.v AS z FROM a r, b q, s p"
    " WINDOW = 2 SECONDS WHERE r.id = q.id AND q.x = p.x",
    "so does no key at all": "SELECT r.v AS x, q.v AS y FROM a r, b q WINDOW = 2 SECONDS WHERE r.v < q.v",
    "aggregates of joined windows are merged": "SELECT AVG(r.v) AS a, COUNT(*) AS n, SUM(r.v) AS s, STDEV(q.v) AS d,"
    " AVG(q.x) AS m, MAX(q.x) AS h FROM a [RANGE 4 SECONDS SLIDE 1 SECOND] r, b [RANGE 4 SECONDS SLIDE 1 SECOND] q"
    " WHERE r.id = q.id",
    "also by group": "SELECT q.name AS k, SUM(r.x) AS s, VARIANCE(r.x) AS d, MIN(q.v) AS l FROM"
    " a [RANGE 4 SECONDS SLIDE 1 SECOND] r, b [RANGE 3 SECONDS SLIDE 1 SECOND] q WHERE r.id = q.id GROUP BY q.name",
    "also of three": "SELECT SUM(r.x) AS s, STDEV(p.v) AS d FROM a [RANGE 4 SECONDS SLIDE 1 SECOND] r,"
    " b [RANGE 4 SECONDS SLIDE 1 SECOND] q, s [RANGE 4 SECONDS SLIDE 1 SECOND] p WHERE r.id = q.id AND q.id = p.id",
    "windows are joined by a band": "SELECT r.v AS x, q.v AS y FROM a [RANGE 4 SECONDS SLIDE 1 SECOND] r,"
    " b [RANGE 4 SECONDS SLIDE 1 SECOND] q WHERE r.v <= q.v + 0.5 AND r.v >= q.v - 0.25",
    "what is near is counted once": "SELECT COUNT(*) AS n FROM (SELECT r.x AS x FROM a r, b q WINDOW = 3 SECONDS"
    " WHERE ABS(r.x - q.x) <= 1) [RANGE 4 SECONDS SLIDE 1 SECOND]",
    "a table brings the key": "SELECT t.label AS k, SUM(r.x) AS n FROM a [RANGE 3 SECONDS SLIDE 2 SECONDS] r, t"
    " WHERE r.x = t.k GROUP BY t.label",
}


@pytest.mark.parametrize("sql", PITFALLS.values(), ids=PITFALLS.keys())
def test_pitfalls(sql: str, table_file: str) -> None:
    @given(st.fixed_dictionaries({name: readings() for name in STREAMS}), st.sampled_from((None, 3)))
    @settings(max_examples=300 if LONG else 8, deadline=None)
    def agrees(logs: dict[str, list[Any]], batch_rows: int | None) -> None:
        check(Case(sql, logs), table_file, 5, batch_rows)

    agrees()


@given(batch_rows=batch_sizes)
@settings(deadline=None)
def test_a_band_that_is_as_good_as_an_equality_still_rounds(table_file: str, batch_rows: int | None) -> None:
    # Beside 1e18 all of these are equal.
    sql = (
        "SELECT r.v AS x, q.v AS y, p.v AS z FROM a r, b q, s p WINDOW = 2 SECONDS"
        " WHERE r.v + 1e18 <= q.v + 1e18 AND r.v + 1e18 >= q.v + 1e18 AND ABS(q.v - p.v) <= 0.25"
    )
    rows = [{"time": BASE, "id": 1, "x": None, "v": v, "name": None, "ok": None} for v in (-4.0, 0.0, 4.0)]
    check(Case(sql, dict.fromkeys(STREAMS, rows)), table_file, 5, batch_rows)


@given(batch_rows=batch_sizes)
@settings(deadline=None)
def test_a_sum_of_joined_windows_is_beyond_64_bits_in_buckets_alone(
    table_file: str, batch_rows: int | None
) -> None:
    """Each bucket has the sum of one id. The whole fits; and a mean of such numbers shows what a FLOAT would lose."""
    sql = (
        "SELECT SUM(r.x) AS s, AVG(r.x) AS a, COUNT(*) AS n FROM a [RANGE 4 SECONDS SLIDE 1 SECOND] r,"
        " b [RANGE 4 SECONDS SLIDE 1 SECOND] q WHERE r.id = q.id"
    )
    most = 9_007_199_254_740_993 * 1000
    values = {1: [most, 1], 2: [-most, 2], 3: [5, 7]}
    rows = [
        {"time": BASE, "id": id_, "x": x, "v": 0.5, "name": None, "ok": None}
        for id_, own in values.items()
        for x in own
    ]
    # Two rows of b with each id: every row counts twice, and the sums of ids 1 and 2 are beyond 64 bits.
    check(Case(sql, dict.fromkeys(STREAMS, rows)), table_file, 5, batch_rows)


@pytest.mark.parametrize("more", ["50", "1e-9"])
@given(batch_rows=batch_sizes)
@settings(deadline=None)
def test_a_band_that_nothing_is_in(more: str, table_file: str, batch_rows: int | None) -> None:
    sql = (
        "SELECT r.v AS x, q.v AS y, p.v AS z FROM a r, b q, s p WINDOW = 2 SECONDS"
        f" WHERE r.v >= q.v + {more} AND r.v <= q.v AND ABS(q.v - p.v) <= 1"
    )
    rows = [{"time": BASE, "id": 1, "x": None, "v": v, "name": None, "ok": None} for v in (0.0, 4.0, 1e18)]
    check(Case(sql, dict.fromkeys(STREAMS, rows)), table_file, 5, batch_rows)
