"""A join with bounded memory from the query's text to its books: what EXPLAIN expects, what is shed, what is told."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from typer.testing import CliRunner

import nilometer
from nilometer.cli.main import application
from nilometer.dataflow.graph import Graph
from nilometer.engine.gateway import DatabaseSources

DECLARED = """
CREATE STREAM a (v INT) PUSHED DELAY 1 SECOND EXPECT EVERY 1 SECOND;
CREATE STREAM b (v INT) PUSHED;
"""
JOIN = "SELECT A.v AS v FROM a A, b B WINDOW = 50 SECONDS MEMORY(A) = 10 ROWS SHED {} WHERE A.v = B.v"


TIMES = [f"2026-01-01T00:00:{tenth // 10:02d}.{tenth % 10}Z" for tenth in range(120)]
"""Ten a second, so that both streams together are several of the slices in which they are joined."""


def database() -> nilometer.Database:
    found = nilometer.connect()
    for statement in DECLARED.split(";")[:-1]:
        found.execute(statement)
    rows = [{"time": time, "id": 1, "v": number % 7} for number, time in enumerate(TIMES)]
    found.append("a", rows)
    found.append("b", rows)
    return found


@pytest.mark.parametrize("policy", ["RANDOM", "PROB", "LIFE", "AGE", "SAMPLE"])
def test_what_is_shed_is_in_the_books(policy: str) -> None:
    query = database().sql(JOIN.format(policy))
    whole = query.run("reference")
    answer = query.run("gateway")
    assert set(answer.rows) <= set(whole.rows)
    assert 0 < len(answer) < len(whole)
    books = answer.ledgers["a"]
    assert books["read"] == 120
    assert 60 < books["shed"] <= 110
    assert "shed" not in answer.ledgers["b"]


def test_the_books_of_a_fjord_balance() -> None:
    found = database()
    query = found.sql(JOIN.format("PROB"))
    graph = Graph(DatabaseSources(found, query.physical))
    graph.install("q", query.physical)
    for stream in ("a", "b"):
        for entry in DatabaseSources(found, query.physical).entries(found.catalog.stream(stream)):
            graph.push(stream, entry)
        graph.end(stream)
        graph.run()
    ledger = graph.ledger("q")
    assert ledger.balanced
    assert (ledger.read, ledger.late) == (240, 0)
    assert 60 < ledger.shed <= 110


def test_explain_says_what_to_expect() -> None:
    found = database()
    text = found.sql(JOIN.format("LIFE")).explain("physical")
    assert "MEMORY(0) = 10 ROWS SHED LIFE" in text
    assert "-- memory of input 0: 10 rows of 51 in the window (51 SECONDS); enough for 0.196 rows/s" in text
    assert "-- completeness: not known without the rate of every stream; EXPECT EVERY declares one" in text
    itself = "SELECT A.v AS v FROM a A, a B WINDOW = 19 SECONDS MEMORY = 10 ROWS SHED {} WHERE A.v = B.v"
    random = found.sql(itself.format("RANDOM")).explain_json("optimized")
    assert random["notes"][-1] == (
        "completeness: 50.0%, at least 25.0% (DHTJoin, equation 11); kept of the streams: 50.0%, 50.0%"
    )
    sample = found.sql(itself.format("SAMPLE")).explain("optimized")
    assert sample.endswith(
        "completeness: 19.6%, as a sample overflows a bounded memory at times; without that 25.0%"
        " (DHTJoin, equation 11); kept of the streams: 50.0%, 50.0%"
    )
    loose = "SELECT A.v AS v FROM a A, b B WINDOW = 5 SECONDS MEMORY = 9 ROWS SHED PROB WHERE A.v < B.v"
    assert "no equality ties the streams: the newest are kept" in found.sql(loose).explain("optimized")
    assert "no equality" not in text.split("-- memory")[1]
    assert "notes" not in found.sql("SELECT v FROM a").explain_json("optimized")


def test_the_command_line_tells_how_many(tmp_path: Path) -> None:
    (tmp_path / "schema.sql").write_text(DECLARED)
    times = pl.DataFrame({"time": TIMES})
    for stream in ("a", "b"):
        times.with_columns(id=1, v=1).write_csv(tmp_path / f"{stream}.csv")
    result = CliRunner().invoke(application, ["query", "--data", str(tmp_path), JOIN.format("AGE")])
    assert result.exit_code == 0
    assert "a: 120 read, 110 shed; b: 120 read" in result.stderr
