"""Where PySpark is missing, one line says so, and how to get it."""

from __future__ import annotations

import importlib.util

import pytest

import nilometer
from nilometer.errors import ConfigurationError
from nilometer.spark import installed


def test_a_missing_extra_is_said_in_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    there = importlib.util.find_spec
    monkeypatch.setattr(installed, "find_spec", lambda name: None if name == "pyspark" else there(name))
    db = nilometer.connect()
    db.execute("CREATE STREAM river (depth INT) PUSHED")
    db.append("river", [{"time": "2026-03-01T06:00Z", "id": 5, "depth": 12}])
    query = db.sql("SELECT depth FROM river")
    for ask in (lambda: query.run("spark"), query.dataframe):
        with pytest.raises(ConfigurationError, match="pyspark is missing") as refused:
            ask()
        assert refused.value.hint == "pip install 'nilometer[spark]', or run the query on the gateway"
