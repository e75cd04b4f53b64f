"""A client's question over files is run in the session that the owner keeps, and its answer is the gateway's."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest

from live.owner.owners import owned
from nilometer.engine import Database, connect
from nilometer.engine import spark as host
from nilometer.errors import ConfigurationError
from nilometer.live.owner import borrowing
from nilometer.live.owner.client import Client
from nilometer.spark.settings import SparkSettings

MEANS = "SELECT id, AVG(depth) AS mean FROM river [RANGE 1 HOUR SLIDE 1 HOUR] GROUP BY id"


@pytest.fixture
def database(tmp_path: Path) -> Database:
    (tmp_path / "schema.sql").write_text("CREATE STREAM river (depth INT) SENSED EVERY 15 MINUTES;\n")
    minutes = range(0, 600, 15)
    pl.DataFrame(
        {
            "time": [f"2026-03-01T{m // 60:02}:{m % 60:02}:00Z" for m in minutes for _ in (1, 2)],
            "id": [sensor for _ in minutes for sensor in (1, 2)],
            "depth": [m % 7 * sensor for m in minutes for sensor in (1, 2)],
        }
    ).write_csv(tmp_path / "river.csv")
    return connect(tmp_path)


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Makes this process a stranger to its own owner and session; the requests that it sends."""
    found: list[str] = []

    class Heard(Client):
        def request(self, do: str, **fields: Any) -> Any:
            found.append(do)
            return super().request(do, **fields)

    monkeypatch.setattr(host, "_has_session", lambda: False)
    monkeypatch.setattr(borrowing, "_is_me", lambda _: False)
    monkeypatch.setattr(borrowing, "find_owner", Heard)
    return found


@pytest.mark.spark
@pytest.mark.slow
@pytest.mark.usefixtures("spark")
@pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning")
def test_the_owner_answers(database: Database, asked: list[str], tmp_path: Path) -> None:
    with owned(connect(tmp_path)):
        lent = database.sql(MEANS).run("spark")
        parts = database.sql(MEANS).run("spark", batch_rows=7)
        with (
            pytest.raises(ConfigurationError, match="is not a folder of this data directory"),
            Client(tmp_path) as client,
        ):
            client.request("spark", place=str(tmp_path), at_once=True)
    assert asked == ["hello", "lend", "spark"] * 2
    expected = database.sql(MEANS).run("gateway")
    for answer in (lent, parts):
        assert sorted(answer.rows) == sorted(expected.rows)
        assert answer.watermark == expected.watermark
    assert lent.ledgers["river"]["read"] == 80
    assert not list((tmp_path / ".nilometer").glob("asked-*"))


def test_whom_nothing_is_lent(database: Database, asked: list[str], tmp_path: Path) -> None:
    settings = SparkSettings.from_environment(tmp_path)
    with borrowing.borrowed(tmp_path, settings) as lent:
        assert lent is None, "there is no owner"
    with owned(connect(tmp_path), embedded=True), borrowing.borrowed(tmp_path, settings) as lent:
        assert lent is None, "the owner is not there to stay"
    other = SparkSettings.from_environment(tmp_path, master="spark://elsewhere:7077")
    assert asked == []
    with owned(connect(tmp_path)), borrowing.borrowed(tmp_path, other) as lent:
        assert lent is None, "its session would be another"
    assert asked == ["hello", "lend"]


def test_a_directory_can_be_named(asked: list[str], tmp_path: Path) -> None:
    (tmp_path / "schema.sql").write_text("CREATE STREAM river (depth INT) PUSHED;\n")
    settings = SparkSettings.from_environment(None, session_of=str(tmp_path), master="spark://elsewhere:7077")
    with owned(connect(tmp_path)), borrowing.borrowed(None, settings) as lent:
        assert lent is None
    assert asked == ["hello", "lend"]
