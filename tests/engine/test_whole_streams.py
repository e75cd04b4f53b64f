"""A query over a whole stream is answered over data at hand, and refused where the stream goes on."""

from __future__ import annotations

from pathlib import Path

import pytest

import nilometer
from nilometer.errors import BindError

QUERY = "SELECT id, AVG(v) FROM a GROUP BY id"
MESSAGE = "'a' has no window, so there is nothing finite to aggregate"


def database(directory: Path) -> nilometer.Database:
    found = nilometer.connect()
    found.data.base = directory
    found.execute("CREATE STREAM a (v FLOAT) PUSHED FROM 'generate://walk?every=1s';")
    found.append("a", [{"time": 1, "id": 1, "v": 2.0}, {"time": 2, "id": 1, "v": 4.0}])
    return found


def test_data_at_hand_is_a_table(tmp_path: Path) -> None:
    assert list(database(tmp_path).sql(QUERY)) == [{"id": 1, "avg_v": 3.0}]


def test_a_running_stream_is_not(tmp_path: Path) -> None:
    query = database(tmp_path).sql(QUERY)
    with pytest.raises(BindError, match=MESSAGE):
        query.standing()
    with pytest.raises(BindError, match=MESSAGE):
        list(query.live(seconds=0.1))
    with pytest.raises(BindError, match=MESSAGE):
        query.placement()
    with pytest.raises(BindError, match=MESSAGE):
        database(tmp_path).execute(f"CREATE QUERY mean AS {QUERY}")


def test_a_stream_without_data_is_not_at_hand() -> None:
    found = nilometer.connect()
    found.execute("CREATE STREAM a (v FLOAT) PUSHED;")
    with pytest.raises(BindError, match=MESSAGE):
        found.sql(QUERY)
