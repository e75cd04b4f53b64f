"""A standing query is read in FROM as a stream of its answers: each answer once, also after a crash."""

from __future__ import annotations

from pathlib import Path

import pytest

from live.owner.owners import field, write
from live.owner.test_changes import SUMS, answered, serving
from nilometer.errors import CatalogError, ConfigurationError

HIGH = "SELECT time, id, total FROM sums WHERE total > 12"


def test_a_query_reads_the_answers_of_another(tmp_path: Path) -> None:
    database = field(tmp_path, f"CREATE QUERY sums STARTING AT BEGINNING AS {SUMS};\n")
    write(tmp_path, 0, 21)
    with serving(tmp_path):
        answered(database, "sums", 20)
        database.execute(
            f"CREATE QUERY high STARTING AT BEGINNING AS {HIGH};"
            "CREATE QUERY tops STARTING AT BEGINNING AS"
            " SELECT MAX(total) AS top, COUNT(*) AS n FROM sums [RANGE 6 MINUTES SLIDE 6 MINUTES]"
        )
        sums = list(database.answers("sums"))
        expected = [{"time": r["tick"], "id": r["id"], "total": r["total"]} for r in sums if r["total"] > 12]
        assert answered(database, "high", len(expected)) == expected
        tops = answered(database, "tops", 2)
        with pytest.raises(CatalogError, match="'sums' is read by high, tops"):
            database.execute("DROP QUERY sums")
    with serving(tmp_path) as owner:
        owner.submit(lambda: None)
        write(tmp_path, 21, 8)
        more = answered(database, "high", len(expected) + 4)
    sums = list(database.answers("sums"))
    assert more[: len(expected)] == expected
    assert (
        more
        == [{"time": r["tick"], "id": r["id"], "total": r["total"]} for r in sums if r["total"] > 12][
            : len(more)
        ]
    )
    text = "SELECT MAX(total) AS top, COUNT(*) AS n FROM sums [RANGE 6 MINUTES SLIDE 6 MINUTES]"
    assert tops == list(database.sql(text).run("reference", finished=False))[:2]
    assert list(database.sql(HIGH)) == list(database.sql(HIGH).run("reference"))


def test_a_query_over_answers_begins_after_those_that_are_there(tmp_path: Path) -> None:
    database = field(tmp_path, f"CREATE QUERY sums STARTING AT BEGINNING AS {SUMS};\n")
    write(tmp_path, 0, 9)
    with serving(tmp_path):
        before = len(answered(database, "sums", 8))
        database.execute("CREATE QUERY later AS SELECT time, total FROM sums")
        write(tmp_path, 9, 8)
        rows = answered(database, "later", 4)
        assert [row["total"] for row in rows] == [
            row["total"] for row in answered(database, "sums", 12)[before:]
        ]


def test_what_cannot_be_read_as_a_stream_says_why(tmp_path: Path) -> None:
    database = field(tmp_path, "CREATE QUERY few AS SELECT id, x FROM air;\n")
    with pytest.raises(CatalogError, match="answers without a 'time'"):
        database.sql("SELECT id FROM few")
    with pytest.raises(ConfigurationError, match="cannot read itself"):
        database.execute(
            "REPLACE QUERY few AS SELECT time, x FROM air; REPLACE QUERY few AS SELECT time, x FROM few"
        )
