"""Stored extents: files and databases, declared and undeclared."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import polars as pl
import pytest

from nilometer.catalog.extents import Table
from nilometer.catalog.form import Form, Format
from nilometer.errors import DataError, ResourceError
from nilometer.ingest.readers import describe_table, read_table
from nilometer.types import BOOLEAN, FLOAT, INT, POINT, STRING, TIME, Column

COLUMNS = (Column("id", INT), Column("Kind", STRING), Column("limit", FLOAT))
ROWS = [(1, "gauge", 2.5), (2, None, None)]


def test_a_csv_table_as_declared(tmp_path: Path) -> None:
    (tmp_path / "kinds.csv").write_text("kind,id,limit,other\ngauge,1,2.5,x\n,2,,y\n")
    assert read_table(Table("kinds", COLUMNS, "kinds.csv"), tmp_path).rows() == ROWS
    assert read_table(Table("kinds", COLUMNS, f"file://{tmp_path}/kinds.csv")).rows() == ROWS


def test_parquet_and_json_tables(tmp_path: Path) -> None:
    frame = pl.DataFrame(ROWS, schema=["id", "kind", "limit"], orient="row")
    frame.write_parquet(tmp_path / "kinds.parquet")
    frame.write_ndjson(tmp_path / "kinds.jsonl")
    for name in ("kinds.parquet", "kinds.jsonl"):
        assert read_table(Table("kinds", COLUMNS, name), tmp_path).rows() == ROWS


@pytest.fixture
def database(tmp_path: Path) -> Path:
    path = tmp_path / "field.db"
    with sqlite3.connect(path) as connection:
        connection.execute('CREATE TABLE "my kinds" (id INTEGER, kind TEXT, "limit" REAL, since TEXT)')
        connection.executemany(
            'INSERT INTO "my kinds" VALUES (?, ?, ?, ?)', [(*row, "2026-01-01") for row in ROWS]
        )
        connection.execute("CREATE TABLE mixed (v)")
        connection.executemany("INSERT INTO mixed VALUES (?)", [(n,) for n in [*range(3000), 0.5]])
    connection.close()
    return path


def test_a_sqlite_table(database: Path) -> None:
    table = Table("kinds", COLUMNS, f"sqlite:///{database}", "my kinds")
    assert read_table(table).rows() == ROWS
    assert (
        read_table(Table("kinds", COLUMNS, "sqlite:///field.db", "my kinds"), database.parent).rows() == ROWS
    )
    assert describe_table(f"sqlite:///{database}", "my kinds") == (
        Column("id", INT),
        Column("kind", STRING),
        Column("limit", FLOAT),
        Column("since", TIME),
    )
    assert (
        read_table(Table("mixed", (Column("v", FLOAT),), f"sqlite:///{database}"))["v"].sum()
        == 3000 * 2999 / 2 + 0.5
    )


def test_a_table_or_database_that_is_not_there(database: Path) -> None:
    with pytest.raises(DataError, match="the table 'kinds' cannot be read"):
        read_table(Table("kinds", COLUMNS, f"sqlite:///{database}"))
    with pytest.raises(ResourceError, match="no SQLite database") as caught:
        read_table(Table("kinds", COLUMNS, f"sqlite:///{database}x"))
    assert caught.value.hint is not None
    with pytest.raises(ResourceError, match="the database cannot be reached"):
        read_table(Table("kinds", COLUMNS, "postgresql://nobody@127.0.0.1:1/none"))
    with pytest.raises(DataError, match="a table cannot be read from 'ftp://'"):
        read_table(Table("kinds", COLUMNS, "ftp://somewhere/kinds.csv"))


def test_a_missing_column_and_a_wrong_value_are_errors(tmp_path: Path) -> None:
    (tmp_path / "kinds.csv").write_text("id,kind\n1,a\nx,b\n")
    with pytest.raises(DataError, match="has no column 'limit'") as caught:
        read_table(Table("kinds", COLUMNS, "kinds.csv"), tmp_path)
    assert caught.value.detail == "columns found: id, kind"
    with pytest.raises(DataError, match="1 of 2 rows of the table 'kinds' are not as declared") as caught:
        read_table(Table("kinds", COLUMNS[:2], "kinds.csv"), tmp_path)
    assert caught.value.detail == "line 3: id is 'x', not an INT"


def test_columns_are_described_by_the_narrowest_type_that_fits(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text(
        "a,b,c,d,e,f,g\n1,1.5,true,2026-01-01,1 2,x,\n0,2,false,2026-01-01T00:00:00Z,3 4,5,\n"
    )
    expected = {"a": INT, "b": FLOAT, "c": BOOLEAN, "d": TIME, "e": POINT, "f": STRING, "g": STRING}
    assert describe_table("t.csv", "t", tmp_path) == tuple(
        Column(name, type_) for name, type_ in expected.items()
    )
    (tmp_path / "t.jsonl").write_text('{"a":1,"e":[1,2]}\n{"a":2}\n')
    assert describe_table("t.jsonl", "t", tmp_path) == (Column("a", INT), Column("e", POINT))
    pl.DataFrame({"a": [1], "b": [b"x"], "c": [[1.0]], "d": [True]}).write_parquet(tmp_path / "t.parquet")
    assert describe_table("t.parquet", "t", tmp_path) == (Column("a", INT), Column("d", BOOLEAN))
    (tmp_path / "empty.csv").write_text("")
    with pytest.raises(DataError, match="has no columns"):
        describe_table("empty.csv", "empty", tmp_path)


@pytest.mark.postgres
def test_a_postgresql_table(postgres_url: str) -> None:
    import psycopg

    with psycopg.connect(postgres_url.replace("+psycopg", "")) as connection:
        connection.execute(
            'CREATE TABLE public.kinds (id INT, "Kind" TEXT, "limit" DOUBLE PRECISION, since TIMESTAMPTZ, exact NUMERIC)'
        )
        connection.execute(
            "INSERT INTO public.kinds VALUES (1, 'gauge', 2.5, '1970-01-01 00:00:01+00', 1.5), (2, NULL, NULL, NULL, NULL)"
        )
    table = Table("kinds", (*COLUMNS, Column("since", TIME), Column("exact", FLOAT)), postgres_url)
    assert read_table(table).rows() == [(1, "gauge", 2.5, 1_000_000, 1.5), (2, None, None, None, None)]
    described = {column.name: column.type for column in describe_table(postgres_url, "public.kinds")}
    assert described == {"id": INT, "Kind": STRING, "limit": FLOAT, "since": TIME, "exact": FLOAT}
    with pytest.raises(DataError, match="the table 'nothing' cannot be read"):
        describe_table(postgres_url, "nothing")


def test_columns_of_a_table_come_from_fields_and_paths(tmp_path: Path, database: Path) -> None:
    columns = (Column("id", INT), Column("what", STRING), Column("most", FLOAT))
    form = Form((("what", "kind"), ("most", "limit")))
    table = Table("kinds", columns, f"sqlite:///{database}", "my kinds", form=form)
    assert read_table(table).rows() == ROWS
    (tmp_path / "kinds.json").write_text(
        '{"kinds": [\n{"id": 1, "kind": "gauge", "limits": {"most": 2.5}},\n{"id": 2, "limits": {"most": null}}\n]}'
    )
    form = Form((("what", "kind"), ("most", "$.kinds.limits.most")), "$.kinds")
    assert read_table(Table("kinds", columns, "kinds.json", form=form), tmp_path).rows() == ROWS


def test_a_table_without_a_header_is_described_by_places(tmp_path: Path) -> None:
    (tmp_path / "kinds.csv").write_text("1;gauge;2,5\n2;;NA\n")
    form = Form(format=Format("CSV", header=False, decimal=",", nulls=("NA",)))
    columns = describe_table("kinds.csv", "kinds", tmp_path, form)
    assert columns == (Column("column_1", INT), Column("column_2", STRING), Column("column_3", FLOAT))
    assert read_table(Table("kinds", columns, "kinds.csv", form=form), tmp_path).rows() == ROWS
