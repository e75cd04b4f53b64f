"""A sensed stream has one reading for each sensor and tick, from files and appended rows as from live sensors."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import nilometer

COUNT = "SELECT COUNT(*) AS n FROM s [RANGE 15 MINUTES SLIDE 15 MINUTES]"


def row(minute: int, id_: int | None, v: int = 0) -> dict[str, object]:
    return {"time": f"2026-01-01T00:{minute:02}:00Z", "id": id_, "v": v}


def database(kind: str) -> nilometer.Database:
    made = nilometer.connect()
    made.execute(f"CREATE STREAM s (v INT) {kind}")
    return made


@given(st.lists(st.tuples(st.integers(0, 59), st.sampled_from([1, 2, None]), st.integers(0, 3)), max_size=20))
def test_hosts_count_each_sensor_once_a_tick(rows: list[tuple[int, int | None, int]]) -> None:
    made = database("SENSED EVERY 15 MINUTES")
    made.append("s", [row(*each) for each in sorted(rows, key=lambda each: each[0])])
    naive: dict[tuple[int, int | None], int] = {}
    for minute, id_, v in sorted(rows, key=lambda each: each[0]):
        naive.setdefault((minute // 15, id_), v)
    query = made.sql("SELECT time, id, v FROM s")
    for host in ("reference", "gateway"):
        answer = query.run(host)
        assert len(answer) == len(naive)
        assert answer.ledgers["s"]["duplicate"] == len(rows) - len(naive)
        assert sorted(r[2] for r in answer.rows) == sorted(naive.values())


@pytest.mark.parametrize("host", ["reference", "gateway", pytest.param("spark", marks=pytest.mark.spark)])
def test_the_first_reading_of_a_tick_counts(host: str, request: pytest.FixtureRequest) -> None:
    if host == "spark":
        request.getfixturevalue("spark")  # the session of all tests
    made = database("SENSED EVERY 15 MINUTES")
    made.append("s", [row(0, 5, 1), row(7, 5, 2), row(7, 6, 3), row(15, 5, 4), row(15, 5, 5)])
    assert [r["n"] for r in made.sql(COUNT).run(host)] == [2, 1]
    assert sorted(r["v"] for r in made.sql("SELECT v FROM s").run(host)) == [1, 3, 4]


def test_a_late_copy_is_a_duplicate_and_a_declared_key_counts_instead() -> None:
    made = database("SENSED EVERY 15 MINUTES")
    made.append("s", [row(0, 5), row(15, 5), row(1, 5), row(1, 6)])
    ledger = made.sql("SELECT v FROM s").run().ledgers["s"]
    assert (ledger["late"], ledger["duplicate"]) == (1, 1)
    keyed = database("SENSED EVERY 15 MINUTES KEY (id, time)")
    keyed.append("s", [row(0, 5), row(7, 5), row(7, 5)])
    assert len(keyed.sql("SELECT v FROM s").run()) == 2


def test_a_pushed_stream_keeps_all() -> None:
    made = database("PUSHED")
    made.append("s", [row(0, 5), row(0, 5)])
    assert len(made.sql("SELECT v FROM s").run()) == 2


def test_why_readings_were_removed_is_noted(tmp_path: Path) -> None:
    (tmp_path / "schema.sql").write_text("CREATE STREAM s (v INT) SENSED EVERY 15 MINUTES;")
    (tmp_path / "s.csv").write_text("time,v\n2026-01-01T00:00:00Z,1\n2026-01-01T00:01:00Z,2\n")
    made = nilometer.connect(tmp_path)
    assert len(made.sql("SELECT v FROM s").run()) == 1
    assert made.data.notes[-1] == (
        "1 reading of s came after one of the same sensor and tick, and is not counted:"
        " a sensed stream has one reading for each; no id tells its sensors apart"
    )
