"""A query that asks for more than nilometer.toml allows is refused, with both numbers, before anything has happened."""

from __future__ import annotations

from pathlib import Path

import pytest

from live.owner.owners import client_of, field, write
from live.owner.test_changes import SUMS, answered, serving
from nilometer.engine import Database, connect
from nilometer.errors import ConfigurationError, ResourceError
from nilometer.live.admission import Admission
from nilometer.live.limits import limits_of
from nilometer.live.owner.client import Asking
from nilometer.live.owner.control_log import ControlLog
from nilometer.optimizer.load import Load

ALL = "SELECT time, id, x FROM air"


def limit(folder: Path, text: str) -> None:
    (folder / "nilometer.toml").write_text(f"[limits]\n{text}\n")


def load(database: Database, text: str) -> Load:
    assert database.data.base is not None
    return Admission(database, database.data.base).load(database.sql(text))


def test_a_query_that_answers_too_much_is_refused_and_force_overrules(tmp_path: Path) -> None:
    database = field(tmp_path)
    write(tmp_path, 0, 30)  # two sensors, a reading a minute each
    with serving(tmp_path):
        database.execute("CREATE QUERY first STARTING AT BEGINNING AS SELECT time, x FROM air WHERE x > 7")
        answered(database, "first", 1)
        limit(tmp_path, "rows_out = 0.02")
        with pytest.raises(ResourceError) as refused:
            database.execute(f"CREATE QUERY many AS {ALL}")
        assert refused.value.message == "'many' would answer about 0.0333 rows/s, and 0.02 are allowed"
        assert "the measured statistics of air" in (refused.value.detail or "")
        assert ("QUERY", "many") not in ControlLog(tmp_path).declared
        assert [query.name for query in connect(tmp_path).catalog.queries()] == ["first"]
        database.execute("CREATE QUERY many AS SELECT time, id, x FROM air WHERE x > 7")
        with pytest.raises(ResourceError, match="would answer about"):
            database.execute(f"REPLACE QUERY many AS {ALL}")
        assert database.catalog.query("many").text.endswith("x > 7")  # type: ignore[union-attr]
        with client_of(database) as client:
            with pytest.raises(ResourceError, match=r"^the query would answer"):
                Asking(ALL).install(client)
            Asking(ALL, force=True).install(client)
        database.execute(f"REPLACE QUERY many AS {ALL}", force=True)
        write(tmp_path, 30, 4)
        assert len(answered(database, "many", 2)) == 2
    with serving(tmp_path) as owner:  # a query that was admitted stays so
        assert set(owner.submit(lambda: list(owner.station.queries))) == {"first", "many"}


def test_the_number_of_queries_and_the_state_are_limited(tmp_path: Path) -> None:
    database = field(tmp_path)
    write(tmp_path, 0, 10)
    limit(tmp_path, 'queries = 2\nstate = "1kB"')
    with serving(tmp_path):
        database.execute(
            "CREATE QUERY a AS SELECT time, x FROM air; CREATE QUERY b AS SELECT time, x FROM air"
        )
        with pytest.raises(ResourceError, match="would be one of 3 queries, and 2 are allowed"):
            database.execute("CREATE QUERY c AS SELECT time, x FROM air")
        database.execute("DROP QUERY b")
        next(database.sql(ALL).live(start="beginning"))
        with pytest.raises(ResourceError, match=r"would hold about \d+.* and 1.* are allowed"):
            database.execute(
                "CREATE QUERY d AS SELECT a.x, b.x AS y FROM air [RANGE 1 DAY] a, air [RANGE 1 DAY] b WHERE a.id = b.id"
            )
        database.execute(f"CREATE QUERY e AS {SUMS}")


def test_schema_sql_is_admitted_too_and_asked_again_at_every_start(tmp_path: Path) -> None:
    declared = (
        f"CREATE STREAM dense (x FLOAT) PUSHED FROM 'directory://{tmp_path}/in?follow=1' EXPECT EVERY 1 SECOND;\n"
        "CREATE QUERY all_of_it AS SELECT time, x FROM dense;\n"
    )
    database = field(tmp_path, declared)
    limit(tmp_path, "rows_in = 0.5")
    for _ in range(2):
        with serving(tmp_path) as owner:
            assert not owner.submit(lambda: list(owner.station.queries))
            with pytest.raises(ResourceError) as refused:
                database.execute("CREATE QUERY more AS SELECT time, x FROM dense")
            assert "declared intervals" in (refused.value.detail or "")
    limit(tmp_path, "rows_in = 2")
    with serving(tmp_path) as owner:
        assert owner.submit(lambda: list(owner.station.queries)) == ["all_of_it"]


def test_what_the_limits_may_say(tmp_path: Path) -> None:
    assert not limits_of(tmp_path).any
    limit(tmp_path, 'rows_out = 10\nstate = "2MB"')
    assert (limits_of(tmp_path).rows_out, limits_of(tmp_path).state) == (10, 2_000_000)
    for wrong, said in (
        ("rows_uot = 1", "no limit 'rows_uot'"),
        ("rows_out = -1", "above 0"),
        ("queries = true", "above 0"),
    ):
        limit(tmp_path, wrong)
        with pytest.raises(ConfigurationError, match=said):
            limits_of(tmp_path)


def test_estimates(tmp_path: Path) -> None:
    database = field(tmp_path)
    assert load(database, ALL).unknown == ("air",)  # neither measured nor declared: it is admitted
    database.execute("CREATE STREAM river (depth INT) SENSED EVERY 10 SECONDS")
    for sensor in range(4):
        database.execute(f"CREATE SENSOR {sensor} OF river")
    assert load(database, "SELECT depth FROM river [NOW]").rows_out == pytest.approx(0.4)
    hour = load(database, "SELECT id, AVG(depth) AS d FROM river [RANGE 1 HOUR SLIDE 1 MINUTE] GROUP BY id")
    assert (hour.rows_in, hour.rows_out) == (pytest.approx(0.4), pytest.approx(4 / 60))
    assert hour.state_rows == pytest.approx(4 * 61)
    median = load(database, "SELECT MEDIAN(depth) AS d FROM river [RANGE 1 HOUR SLIDE 1 MINUTE]")
    assert median.state_rows == pytest.approx(0.4 * 3600)
    join = load(
        database, "SELECT a.depth FROM river [RANGE 1 HOUR] a, river [RANGE 1 HOUR] b WHERE a.id = b.id"
    )
    assert join.state_rows == pytest.approx(2 * 0.4 * 3600)
    assert join.rows_out is not None
    assert join.rows_out > 0.4
