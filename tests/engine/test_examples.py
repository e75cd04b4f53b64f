"""Examples of SIMILAR_TO that are read from a stream or a table: they become numbers of the plan, and are kept."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest

import nilometer
from nilometer.engine import examples
from nilometer.engine.database import Database
from nilometer.errors import NilometerError
from nilometer.types import SECOND

SCHEMA = """
CREATE STREAM s (v FLOAT) PUSHED EXPECT EVERY 1 SECOND;
CREATE TABLE shapes (name STRING, position INT, value FLOAT) STORED AT 'shapes.csv';
"""
SHAPES = "name,position,value\nstep,1,0\nspike,0,0\nspike,2,0\nspike,1,4\nstep,2,3\n"
OF_ONE = "OF 1 AT '1970-01-01T00:00:09.5Z' LENGTH 4"


def value(second: int, source: int) -> float:
    return math.sin(second / 2 + source) + second % 5


def directory(folder: Path, more: str = "") -> Database:
    folder.joinpath("schema.sql").write_text(SCHEMA + more)
    folder.joinpath("shapes.csv").write_text(SHAPES)
    lines = [
        f"{second * SECOND},{source},{value(second, source)}" for second in range(1, 31) for source in (1, 2)
    ]
    folder.joinpath("s.csv").write_text("\n".join(["time,id,v", *lines, ""]))
    return nilometer.connect(folder)


def plan(database: Database, example: str, behind: str = "WITHIN 1") -> str:
    return database.sql(f"SELECT * FROM SIMILAR_TO(s, v, {example} {behind})").explain()


def test_an_example_of_a_source_is_its_last_slots_up_to_the_time(tmp_path: Path) -> None:
    database = directory(tmp_path)
    # The slot with 9.5 s is the one of the reading at 10 s.
    numbers = ", ".join(repr(value(second, 1)) for second in (7, 8, 9, 10))
    assert plan(database, OF_ONE) == plan(database, f"({numbers})")
    rows = list(database.sql(f"SELECT * FROM SIMILAR_TO(s, v, {OF_ONE} WITHIN 1e-9)"))
    assert [(row["id"], row["time"].second) for row in rows] == [(1, 10)]
    inner = f"SELECT * FROM SIMILAR_TO((SELECT time, id, v * 2 AS w FROM s) t, w, {OF_ONE} WITHIN 1 RAW)"
    doubled = ", ".join(repr(2 * value(second, 1)) for second in (7, 8, 9, 10))
    assert f"({doubled})" in database.sql(inner).explain()
    common = f"WITH t AS (SELECT time, id, v FROM s) SELECT * FROM SIMILAR_TO(t, v, {OF_ONE} WITHIN 1)"
    assert f"({numbers})" in database.sql(common).explain()


def test_examples_of_a_table_have_names(tmp_path: Path) -> None:
    database = directory(tmp_path)
    assert plan(database, "shapes") == plan(database, "('spike' (0, 4, 0), 'step' (0, 3))")
    found = {row["example"] for row in database.sql("SELECT * FROM SIMILAR_TO(s, v, shapes WITHIN 2)")}
    assert found == {"spike", "step"}


def test_gaps_are_filled_as_the_call_says() -> None:
    database = nilometer.connect()
    database.execute("CREATE STREAM s (v FLOAT) PUSHED EXPECT EVERY 1 SECOND")
    readings: list[dict[str, Any]] = [
        {"time": second * SECOND, "id": 1, "v": float(second)} for second in (1, 2, 4)
    ]
    database.append("s", [*readings, {"time": 4 * SECOND, "id": 1, "v": 9.0}])
    call = "SIMILAR_TO(s, v, OF 1 AT '1970-01-01T00:00:04Z' LENGTH 3 WITHIN 1 {})"
    with pytest.raises(NilometerError, match="no reading after 1970-01-01T00:00:02Z"):
        database.sql(f"SELECT * FROM {call.format('')}")
    assert "(2.0, 2.0, 9.0)" in database.sql(f"SELECT * FROM {call.format('FILL 1')}").explain()


def test_an_installed_query_keeps_its_examples(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    database = directory(tmp_path)
    database.execute(f"CREATE QUERY q AS SELECT * FROM SIMILAR_TO(s, v, {OF_ONE} WITHIN 1)")
    database.execute("CREATE QUERY t AS SELECT * FROM SIMILAR_TO(s, v, shapes WITHIN 1)")
    database.execute("CREATE VIEW w AS SELECT * FROM SIMILAR_TO(s, v, shapes WITHIN 1)")
    texts = {name: database.query(name).explain() for name in "qt"}
    viewed = database.sql("SELECT * FROM w").explain()

    # Retention took the readings, and the table changed: a restart reads neither.
    (tmp_path / "s.csv").write_text("time,id,v\n")
    (tmp_path / "shapes.csv").write_text(SHAPES.replace("spike", "peak"))
    with monkeypatch.context() as patch:
        patch.setattr(examples, "_asked", lambda *_: pytest.fail("read again"))
        again = nilometer.connect(tmp_path)
        assert {name: again.query(name).explain() for name in "qt"} == texts
        assert again.sql("SELECT * FROM w").explain() == viewed
        again.execute(f"REPLACE QUERY q KEEP STATE AS SELECT * FROM SIMILAR_TO(s, v, {OF_ONE} WITHIN 2)")
        assert again.query("q").explain() == texts["q"].replace("WITHIN 1.0", "WITHIN 2.0")

    # REPLACE looks at the table again, and nothing is kept for a query that is gone.
    again.execute("REPLACE QUERY t AS SELECT * FROM SIMILAR_TO(s, v, shapes WITHIN 2)")
    assert "'peak'" in again.query("t").explain()
    assert "'spike'" in nilometer.connect(tmp_path).sql("SELECT * FROM w").explain()
    again.execute("DROP QUERY q")
    again.execute("DROP VIEW w")
    assert [path.stem for path in (tmp_path / ".nilometer" / "examples").iterdir()] == ["t"]
    with pytest.raises(NilometerError, match="no reading after"):
        again.execute(f"CREATE QUERY q AS SELECT * FROM SIMILAR_TO(s, v, {OF_ONE} WITHIN 1)")


def test_schema_sql_may_ask_for_examples(tmp_path: Path) -> None:
    query = f"CREATE QUERY q AS SELECT * FROM SIMILAR_TO(s, v, {OF_ONE} WITHIN 1);\n"
    before = directory(tmp_path, query).query("q").explain()
    (tmp_path / "s.csv").write_text("time,id,v\n")
    assert nilometer.connect(tmp_path).query("q").explain() == before


@pytest.mark.parametrize(
    ("example", "message"),
    [
        ("OF 9 AT '1970-01-01T00:00:09Z' LENGTH 3", "source 9 has no reading"),
        ("OF 1 AT '1970-01-01T00:00:09Z'", "how long is the example"),
        ("OF 1 AT 'noon' LENGTH 3", "'noon' is not a time"),
        ("nowhere", "no stream or table 'nowhere'"),
        ("s", "'s' gives no examples"),
        ("(1, 2) LENGTH 2", "these numbers have a length"),
        ("('a' (1, 2), 'a' (2, 3))", "the same name"),
        ("('a' (1))", "and 'a' 1"),
    ],
)
def test_what_is_refused(tmp_path: Path, example: str, message: str) -> None:
    with pytest.raises(NilometerError) as caught:
        plan(directory(tmp_path), example)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ("", "is empty"),
        ("a,,1\n", "lacks its name, position or value"),
        ("a,1,1\na,1,2\n", "two values of 'a'"),
    ],
)
def test_tables_that_give_no_examples(tmp_path: Path, rows: str, message: str) -> None:
    database = directory(tmp_path)
    (tmp_path / "shapes.csv").write_text("name,position,value\n" + rows)
    with pytest.raises(NilometerError) as caught:
        plan(database, "shapes")
    assert message in str(caught.value)
