"""Files out of order: their readings are sorted by time, so that none is late; `log_order` keeps the file's order."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import nilometer
from nilometer.ingest.readers import time_order

HOUR = "[RANGE 3 MINUTES SLIDE 1 MINUTE]"
QUERIES = (
    "SELECT time, id, v FROM s WHERE v > 2",
    f"SELECT id, COUNT(*), SUM(v), MAX(v) FROM s {HOUR} GROUP BY id",
    "SELECT time, id, DELTA(v) AS change FROM s",
    "SELECT AVG(v) FROM s [RANGE 3 ROWS SLIDE 2 ROWS]",
    "SELECT time, id, state FROM SILENT(s FOR 2 MINUTES)",
)


def written(directory: Path, rows: list[tuple[int, int, int]], kind: str = "PUSHED") -> Path:
    lines = [f"2026-01-01T{m // 60:02}:{m % 60:02}:00Z,{id_},{v}" for m, id_, v in rows]
    (directory / "schema.sql").write_text(f"CREATE STREAM s (v INT) {kind};")
    (directory / "s.csv").write_text("\n".join(["time,id,v", *lines]) + "\n")
    return directory


READINGS = st.lists(
    st.tuples(st.integers(0, 30), st.integers(1, 3), st.integers(0, 9)),
    max_size=25,
    unique_by=lambda row: row[0],
)


@given(READINGS, st.randoms(use_true_random=False), st.sampled_from(QUERIES), st.sampled_from([40, 1 << 30]))
def test_any_order_of_the_rows_gives_the_answer_of_the_sorted_file(
    tmp_path_factory: pytest.TempPathFactory,
    rows: list[tuple[int, int, int]],
    chance: random.Random,
    sql: str,
    limit: int,
) -> None:
    mixed = list(rows)
    chance.shuffle(mixed)
    directory = tmp_path_factory.mktemp("files")
    sound = nilometer.connect(written(directory, sorted(rows)), log_order=True).sql(sql).run()
    before, time_order.IN_MEMORY = time_order.IN_MEMORY, limit
    try:
        database = nilometer.connect(written(directory, mixed))
        answer = database.sql(sql).run()
        judged = database.sql(sql).run("reference")
    finally:
        time_order.IN_MEMORY = before
    assert answer.rows == sound.rows
    assert sorted(map(str, judged.rows)) == sorted(map(str, sound.rows))
    assert answer.ledgers["s"]["late"] == 0


def test_readings_of_one_time_stay_in_the_order_of_the_file(tmp_path: Path) -> None:
    rows = [(5, 1, 1), (5, 2, 2), (4, 3, 3), (5, 3, 4), (4, 1, 5)]
    answer = nilometer.connect(written(tmp_path, rows)).sql("SELECT v FROM s").run()
    assert [row[0] for row in answer.rows] == [3, 5, 1, 2, 4]


def test_log_order_keeps_late_readings_late(tmp_path: Path) -> None:
    rows = [(5, 1, 1), (3, 2, 2), (4, 3, 3), (6, 3, 4)]
    directory = written(tmp_path, rows, "PUSHED DELAY 1 MINUTE")
    answer = nilometer.connect(directory, log_order=True).sql("SELECT v FROM s").run()
    assert [row[0] for row in answer.rows] == [1, 3, 4]
    assert answer.ledgers["s"]["late"] == 1
    database = nilometer.connect(directory)
    assert [row[0] for row in database.sql("SELECT v FROM s").run().rows] == [2, 3, 1, 4]
    assert database.data.notes == [
        "s.csv is not in the order of time: its readings were sorted (2 of 4 came after a later one)"
    ]


def test_rows_that_are_appended_come_in_the_order_of_their_arrival(tmp_path: Path) -> None:
    database = nilometer.connect(written(tmp_path, [(5, 1, 1), (4, 1, 2)]))
    database.append("s", [{"time": "2026-01-01T00:09:00Z", "id": 1, "v": 3}])
    database.append("s", [{"time": "2026-01-01T00:07:00Z", "id": 1, "v": 4}])
    answer = database.sql("SELECT v FROM s").run()
    assert [row[0] for row in answer.rows] == [2, 1, 3]
    assert answer.ledgers["s"]["late"] == 1


@pytest.mark.spark
@pytest.mark.usefixtures("spark")
def test_spark_reads_the_same_order(tmp_path: Path) -> None:
    rows = [(minute, 1 + minute % 3, minute) for minute in range(30)]
    random.Random(7).shuffle(rows)
    database = nilometer.connect(written(tmp_path, rows, "SENSED EVERY 1 MINUTE"))
    sql = f"SELECT id, COUNT(*), SUM(v) FROM s {HOUR} GROUP BY id"
    here, there = database.sql(sql).run(), database.sql(sql).run("spark")
    assert sorted(here.rows) == sorted(there.rows)
    assert here.ledgers["s"]["late"] == there.ledgers["s"]["late"] == 0
