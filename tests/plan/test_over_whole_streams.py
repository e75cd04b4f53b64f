"""OVER a stream without a window: in the order of time as it comes, in any other order once all of it is there."""

from __future__ import annotations

import pytest

import nilometer
from nilometer.errors import BindError

BASE = 1_767_225_600_000_000
ROWS = [(0, 1, "a", 5), (1, 2, "a", 7), (2, 1, "b", None), (3, 2, "b", 3)]


@pytest.fixture
def database() -> nilometer.Database:
    database = nilometer.connect()
    database.execute("CREATE STREAM s (k STRING, v INT) PUSHED; CREATE STREAM live (v INT) PUSHED;")
    readings = [{"time": BASE + t * 1_000_000, "id": i, "k": k, "v": v} for t, i, k, v in ROWS]
    database.append("s", readings)
    return database


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        (
            "SELECT k, v, ROW_NUMBER() OVER (PARTITION BY k ORDER BY v DESC) AS n FROM s",
            [("a", 7, 1), ("a", 5, 2), ("b", 3, 1), ("b", None, 2)],
        ),
        ("SELECT v, LEAD(v) OVER (ORDER BY time) AS n FROM s", [(5, 7), (7, None), (None, 3), (3, None)]),
        ("SELECT v, ROW_NUMBER() OVER (ORDER BY time) AS n FROM s", [(5, 1), (7, 2), (None, 3), (3, 4)]),
        (
            "SELECT k, v FROM (SELECT k, v, RANK() OVER (PARTITION BY k ORDER BY v DESC) AS n FROM s) WHERE n = 1",
            [("a", 7), ("b", 3)],
        ),
    ],
)
@pytest.mark.parametrize("host", ["reference", "gateway"])
def test_data_at_hand_is_a_table(
    database: nilometer.Database, sql: str, expected: list[tuple[object, ...]], host: str
) -> None:
    found = [tuple(row.values()) for row in database.sql(sql).run(host)]
    assert sorted(found, key=repr) == sorted(expected, key=repr)


def test_a_stream_without_data_is_refused(database: nilometer.Database) -> None:
    with pytest.raises(BindError, match="OVER a stream goes by time"):
        database.sql("SELECT ROW_NUMBER() OVER (ORDER BY v) AS n FROM live")
