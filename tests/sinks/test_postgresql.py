"""A real PostgreSQL: rows and their commit are one transaction, in fitting types."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import polars as pl
import psycopg
import pytest

from nilometer.errors import ConfigurationError, DataError, ResourceError
from nilometer.operators.frames import dtypes
from nilometer.sinks.registry import sink_for
from nilometer.sinks.sink import Origin
from nilometer.types import FLOAT, INT, INT_MINIMUM, STRING, TIME, Column, Schema, vector_of
from sinks.results import ALL, Results, everything, plain

pytestmark = pytest.mark.postgres

Sql = Callable[[str], list[tuple[Any, ...]]]


@pytest.fixture
def results(tmp_path: Path) -> Results:
    return Results(tmp_path)


@pytest.fixture
def server(postgres_url: str) -> Iterator[str]:
    """A database of the test's own: what other tests have left in the server's, a schema of the user's name even, is not in it."""
    whole = postgres_url.replace("postgresql+psycopg", "postgresql")
    with psycopg.connect(whole, autocommit=True) as connection:
        connection.execute("CREATE DATABASE sinks")
        yield whole.rpartition("/")[0] + "/sinks"
        connection.execute("DROP DATABASE sinks WITH (FORCE)")


@pytest.fixture
def sql(server: str) -> Iterator[Sql]:
    """Asks the server."""
    with psycopg.connect(server, autocommit=True) as connection:

        def ask(text: str) -> list[tuple[Any, ...]]:
            cursor = connection.execute(text)
            return cursor.fetchall() if cursor.description else []

        yield ask


def test_a_table_is_made_in_fitting_types(results: Results, server: str, sql: Sql) -> None:
    results.commit(everything(), ALL)
    results.deliver(f"{server}?table=smoky")
    types = sql(
        "SELECT attname, format_type(atttypid, atttypmod) FROM pg_attribute"
        " WHERE attrelid = 'smoky'::regclass AND attnum > 0"
    )
    assert dict(types) == {
        "time": "timestamp with time zone",
        "number": "bigint",
        "x": "double precision",
        "some words": "text",
        "wet": "boolean",
        "at": "point",
        "since": "interval",
        "seen": "jsonb",
        "match": "jsonb",
        "matches": "jsonb",
    }
    found = sql('SELECT time, number, x, "some words", wet, at[0], at[1], since FROM smoky')
    assert found[0] == (
        datetime(2026, 3, 1, 12, tzinfo=UTC),
        2**63 - 1,
        1.5,
        'it\'s "so"',
        True,
        1.0,
        2.5,
        timedelta(seconds=90),
    )
    assert found[1][1:5] == (-(2**63), float("inf"), "two\nlines\\u0000\t", False)
    assert found[2] == (None,) * 8
    assert found[3][0] == datetime(1, 1, 1, tzinfo=UTC)
    assert found[3][3] == "zero:\ufffd ünï ☂"
    one = {"id": 7, "seen": "2026-03-01T12:00:00Z", "at": [1.5, -2.0], "words": ["a'b", None, "\u2028"]}
    nothing = {"id": None, "seen": None, "at": None, "words": None}
    assert sql("SELECT seen, match, matches FROM smoky") == [
        (["2026-03-01T12:00:00Z", None], one, [one, nothing, None]),
        ([], nothing, []),
        (None, None, None),
        (["1970-01-01T00:00:00Z"], one, [one]),
    ]
    assert sql("SELECT * FROM nilometer_sinks") == [("smoky", "smoky@1a2b3c4d", "v1", 0, 4)]


def test_values_that_postgresql_does_not_know(results: Results, server: str, sql: Sql) -> None:
    schema = Schema((Column("time", TIME), Column("x", FLOAT)))
    rows = {"time": [INT_MINIMUM, 2**63 - 1], "x": [float("nan"), float("-inf")]}
    results.commit(pl.DataFrame(rows, schema=dtypes(schema)), schema)
    results.deliver(f"{server}?table=smoky")
    assert sql("SELECT time::text, x::text FROM smoky") == [
        ("4714-11-24 00:00:00+00 BC", "NaN"),
        ("294247-01-10 04:00:54.775807+00", "-Infinity"),
    ]


def test_vectors_are_arrays(results: Results, server: str, sql: Sql) -> None:
    schema = Schema((Column("v", vector_of(FLOAT, 2)), Column("n", vector_of(INT, 3))))
    rows = {"v": [[0.5, -1e300], None], "n": [[1, 2, INT_MINIMUM], [4, 5, 6]]}
    sql("CREATE TABLE smoky (v double precision[], n bigint[])")
    results.commit(pl.DataFrame(rows, schema=dtypes(schema)), schema)
    results.deliver(f"{server}?table=smoky")
    assert sql("SELECT v, n FROM smoky") == [([0.5, -1e300], [1, 2, INT_MINIMUM]), (None, [4, 5, 6])]
    results.deliver(f"{server}?table=fresh")
    assert sql("SELECT v[1], n[2] FROM fresh") == [(0.5, 2.0), (None, 5.0)]


def test_it_goes_on_and_several_fill_one_table(
    results: Results, server: str, sql: Sql, tmp_path: Path
) -> None:
    url = f"{server}?table=smoky"
    results.answer(2, 0, 3)
    delivery = results.delivery(url + "&rows=2")
    assert delivery.step()
    results.answer(1)
    assert delivery.step()
    delivery.close()
    assert results.deliver(url).progress.rows == 0
    other = Results(tmp_path / "other")
    other.answer(3)
    away = other.delivery(url, origin=Origin("smoky", "00000000"))
    assert away.step()
    away.close()
    assert sql("SELECT id, count(*) FROM smoky GROUP BY id ORDER BY id") == [
        (0, 2),
        (1, 2),
        (2, 2),
        (3, 1),
        (4, 1),
        (5, 1),
    ]
    assert sql('SELECT origin, "commit", rows FROM nilometer_sinks ORDER BY origin') == [
        ("smoky@00000000", 0, 3),
        ("smoky@1a2b3c4d", 3, 6),
    ]


def test_a_database_that_was_put_back_gets_what_it_lost(results: Results, server: str, sql: Sql) -> None:
    url = f"{server}?table=smoky"
    results.answer(2, 2)
    results.deliver(url)
    sql("CREATE TABLE backup AS SELECT * FROM smoky")
    sql("CREATE TABLE marks AS SELECT * FROM nilometer_sinks")
    results.answer(*[1] * 30)
    results.deliver(url)
    sql("DELETE FROM smoky WHERE id >= 4")
    sql('UPDATE nilometer_sinks SET "commit" = 1, rows = 4')
    results.deliver(url)
    assert sql("SELECT array_agg(id ORDER BY id) FROM smoky") == [(list(range(34)),)]


def test_columns_that_come_and_go(results: Results, server: str, sql: Sql) -> None:
    url = f"{server}?table=smoky"
    results.answer(1)
    results.deliver(url)
    other = Schema((Column("id", INT), Column("new", STRING)))
    results.commit(pl.DataFrame({"id": [1], "new": ["a"]}), other, "v2")
    results.deliver(url)
    assert sql("SELECT id, x, new FROM smoky ORDER BY id") == [(0, 0.0, None), (1, None, "a")]
    wider = Schema((Column("id", FLOAT), Column("x", INT)))
    results.commit(pl.DataFrame({"id": [0.5], "x": [3]}), wider, "v3", log=2)
    delivery = results.delivery(url)
    assert not delivery.step()
    assert isinstance(delivery.error, DataError)
    assert not delivery.ended
    assert "column 'id' of the table smoky is bigint, and the answers are FLOAT" in str(delivery.error)
    sql("ALTER TABLE smoky ALTER id TYPE double precision")
    assert delivery.step(all_of_it=True)
    delivery.close()
    assert sql("SELECT id, x FROM smoky ORDER BY id") == [(0.0, 0.0), (0.5, 3.0), (1.0, None)]


def test_a_table_that_was_there_keeps_its_types(results: Results, server: str, sql: Sql) -> None:
    sql("CREATE SCHEMA air")
    sql(
        'CREATE TABLE air."Smoky" (serial bigserial PRIMARY KEY, time timestamp(3), number numeric(30), x real,'
        ' "some words" varchar(40), wet boolean, at jsonb, since interval, seen text, match json, matches jsonb)'
    )
    results.commit(everything()[[0, 2]], ALL)
    results.deliver(f"{server}?table=air.Smoky")
    assert sql('SELECT serial, time, number, "some words", at, seen FROM air."Smoky"') == [
        (1, datetime(2026, 3, 1, 12), 2**63 - 1, 'it\'s "so"', [1.0, 2.5], '["2026-03-01T12:00:00Z", null]'),
        (2, None, None, None, None, None),
    ]
    assert sql("SELECT sink, rows FROM air.nilometer_sinks") == [("Smoky", 2)]
    sql("DROP SCHEMA air CASCADE")


def test_a_value_that_does_not_fit_is_trouble_and_nothing_is_cut(
    results: Results, server: str, sql: Sql
) -> None:
    sql("CREATE TABLE small (time timestamptz, id smallint, x double precision)")
    results.answer(1)
    results.commit(plain(70_000, 1))
    delivery = results.delivery(f"{server}?table=small&rows=1")
    delivery.step()
    assert "out of range" in str(delivery.progress.trouble)
    assert delivery.progress.failures == 1
    assert sql("SELECT id FROM small") == [(0,)]
    sql("ALTER TABLE small ALTER id TYPE integer")
    assert delivery.step(all_of_it=True)
    assert delivery.progress.trouble is None
    delivery.close()
    assert sql("SELECT id FROM small ORDER BY id") == [(0,), (70_000,)]


def test_from_now_on(results: Results, server: str, sql: Sql) -> None:
    results.answer(2, 1)
    results.deliver(f"{server}?table=smoky&start=now")
    results.answer(1)
    results.deliver(f"{server}?table=smoky&start=now")
    assert sql("SELECT id FROM smoky") == [(3,)]


def test_two_that_deliver_the_same(results: Results, server: str, sql: Sql) -> None:
    url = f"{server}?table=smoky"
    results.answer(1)
    with closing(results.delivery(url)) as one, closing(results.delivery(url)) as two:
        assert one.step()
        assert not two.step()
        results.answer(2)
        assert one.step()
        assert not two.step()
        assert "another process" in str(two.progress.trouble)
        assert not two.step(all_of_it=True)
        assert two.progress.trouble is None
        results.answer(1)
        assert two.step()
    assert sql("SELECT array_agg(id ORDER BY id) FROM smoky") == [([0, 1, 2, 3],)]


def test_a_connection_that_the_server_ends(results: Results, server: str, sql: Sql) -> None:
    now = [0.0]
    results.answer(1)
    with closing(results.delivery(f"{server}?table=smoky", clock=lambda: now[0])) as delivery:
        assert delivery.step()
        sql(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND datname = current_database()"
        )
        results.answer(2)
        assert not delivery.step()
        assert delivery.progress.failures == 1
        assert not delivery.step()
        now[0] += 1.0
        assert delivery.step()
        assert delivery.progress.rows == 3
    assert sql("SELECT count(*) FROM smoky") == [(3,)]


def test_no_server(results: Results, tmp_path: Path) -> None:
    results.answer(1)
    with pytest.raises(ResourceError, match="cannot be reached"):
        results.deliver("postgresql://nobody:secret@127.0.0.1:1/x?table=smoky")
    delivery = results.delivery("postgresql://nobody:secret@127.0.0.1:1/x?table=smoky")
    delivery.step()
    assert "secret" not in f"{delivery.progress} {delivery.sink.name} {delivery.error}"
    with pytest.raises(ConfigurationError, match="table"):
        sink_for("postgresql://host/x", Origin("a", "b"))


def test_names_of_columns(results: Results, server: str, sql: Sql) -> None:
    schema = Schema((Column('a "b" c', INT), Column("Id", INT), Column("id", INT)))
    results.commit(pl.DataFrame({'a "b" c': [1], "Id": [2], "id": [3]}), schema)
    results.deliver(f"{server}?table=smoky")
    assert sql('SELECT "a ""b"" c", "Id", "id" FROM smoky') == [(1, 2, 3)]
    long = Schema((Column("x" * 70, INT),))
    results.commit(pl.DataFrame({"x" * 70: [1]}), long, "v2")
    with pytest.raises(DataError, match="as long as"):
        results.deliver(f"{server}?table=smoky")


@pytest.mark.promise("dripping-and-locked")
def test_a_sink_that_waits_for_a_lock_is_in_trouble(results: Results, server: str, sql: Sql) -> None:
    results.answer(1)
    results.deliver(f"{server}?table=locked")
    results.answer(2)
    with psycopg.connect(server) as other:
        other.execute("LOCK TABLE locked IN ACCESS EXCLUSIVE MODE")
        with pytest.raises(ResourceError, match="the table locked takes no answers") as raised:
            results.deliver(f"{server}?table=locked&timeout=100ms")
        assert "statement timeout" in str(raised.value.detail)
    results.deliver(f"{server}?table=locked")
    assert sql("SELECT count(*) FROM locked") == [(3,)]
