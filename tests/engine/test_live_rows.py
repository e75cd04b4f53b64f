"""Rows of live queries in Python: simulated sensors are found without a word, as the command line finds them."""

from __future__ import annotations

from pathlib import Path

import pytest

import nilometer

SENSORS = "CREATE STREAM air (temperature FLOAT) PUSHED FROM 'generate://diurnal?sensors=3&speed=3600' EXPECT EVERY 1 MINUTE;"


@pytest.mark.parametrize("kept", [True, False])
def test_a_generator_is_found(tmp_path: Path, kept: bool) -> None:
    if kept:
        (tmp_path / "schema.sql").write_text(SENSORS)
        db = nilometer.connect(tmp_path)
    else:
        db = nilometer.connect()
        db.execute(SENSORS)
    rows = db.sql("SELECT id, temperature FROM air").live()
    assert isinstance(next(rows)["temperature"], float)
    rows.close()
