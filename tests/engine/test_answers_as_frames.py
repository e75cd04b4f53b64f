"""The answer as Polars, Arrow and pandas frames, and in a notebook."""

from __future__ import annotations

import builtins
from datetime import UTC, datetime, timedelta
from typing import Any

import polars as pl
import pyarrow as pa
import pytest

import nilometer
from nilometer.errors import ConfigurationError

QUERY = "SELECT time, id, depth, time - TIME '2026-03-01T06:00Z' AS since FROM river"


@pytest.fixture
def db() -> nilometer.Database:
    db = nilometer.connect()
    db.execute("CREATE STREAM river (depth INT UNIT 'cm', place STRING) SENSED EVERY 15 MINUTES")
    db.append("river", [{"time": "2026-03-01T06:15Z", "id": 5, "depth": 112, "place": "<brook>"}])
    return db


def test_times_and_durations_have_their_types_in_every_frame(db: nilometer.Database) -> None:
    query = db.sql(QUERY)
    frame = query.polars()
    assert frame.schema["time"] == pl.Datetime("us", "UTC")
    assert frame.rows() == [(datetime(2026, 3, 1, 6, 15, tzinfo=UTC), 5, 112, timedelta(minutes=15))]
    assert query.frame().equals(frame)
    assert query.polars("reference").equals(frame)
    assert query.arrow().schema.field("since").type == pa.duration("us")
    assert query.pandas()["since"].tolist() == [timedelta(minutes=15)]


def test_without_pandas_the_way_out_is_said(db: nilometer.Database, monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def without_pandas(name: str, *arguments: Any) -> Any:
        if name == "pandas":
            raise ImportError(name)
        return real(name, *arguments)

    monkeypatch.setattr(builtins, "__import__", without_pandas)
    with pytest.raises(ConfigurationError, match="pandas is not installed"):
        db.sql(QUERY).pandas()


def test_a_notebook_shows_the_first_rows(db: nilometer.Database) -> None:
    html = db.sql("SELECT id, depth, place FROM river")._repr_html_()
    assert "<pre>SELECT id, depth, place FROM river</pre>" in html
    assert "INT cm" in html
    assert "&lt;brook&gt;" in html
    assert "1 row<" in html
    db.append("river", [{"time": "2026-03-01T06:30Z", "id": n, "depth": n, "place": ""} for n in range(30)])
    assert "31 rows, the first 20 shown" in db.sql("SELECT id FROM river").run()._repr_html_()


def test_a_notebook_does_not_run_a_live_query() -> None:
    db = nilometer.connect()
    db.execute("CREATE STREAM air (pm25 FLOAT) PUSHED FROM 'mqtt://localhost/air/+'")
    assert (
        db.sql("SELECT id FROM air WHERE pm25 < 3")._repr_html_()
        == "<pre>SELECT id FROM air WHERE pm25 &lt; 3</pre>"
    )
