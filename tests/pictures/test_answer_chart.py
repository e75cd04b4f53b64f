"""Charts of answers: the columns that are chosen, what is drawn, and what cannot be."""

from __future__ import annotations

from pathlib import Path

import pytest

import nilometer
from nilometer.errors import ConfigurationError


@pytest.fixture
def db() -> nilometer.Database:
    db = nilometer.connect()
    db.execute("CREATE STREAM river (depth INT UNIT 'cm', place STRING) SENSED EVERY 15 MINUTES")
    rows = [
        {"time": f"2026-03-01T06:{minute:02}Z", "id": sensor, "depth": depth, "place": "brook"}
        for minute, depth in ((0, 112), (15, None), (30, 120))
        for sensor in (5, 7)
    ]
    db.append("river", rows)
    return db


def test_lines_over_time_one_for_each_sensor(db: nilometer.Database, tmp_path: Path) -> None:
    chart = db.sql("SELECT time, id, depth FROM river").plot(title="Depth")
    (panel,) = chart.figure.axes
    assert [line.get_label() for line in panel.get_lines()] == ["5", "7"]
    assert [len(line.get_xdata()) for line in panel.get_lines()] == [3, 3]
    assert panel.get_ylabel() == "depth (cm)"
    chart.save(tmp_path / "depth.png")
    assert (tmp_path / "depth.png").stat().st_size > 1_000
    assert "<svg" in chart._repr_svg_()


def test_a_panel_for_each_number_of_a_windowed_answer(db: nilometer.Database) -> None:
    chart = db.sql("SELECT MAX(depth) AS top, COUNT(*) AS n FROM river [NOW]").plot()
    assert [panel.get_ylabel() for panel in chart.figure.axes] == ["top", "n"]
    assert chart.figure.axes[-1].get_xlabel() == "tick"


def test_bars_where_there_is_no_time(db: nilometer.Database) -> None:
    chart = db.sql("SELECT place, depth FROM river WHERE id = 5").plot(x="place", y="depth")
    assert [bar.get_height() for bar in chart.figure.axes[0].patches] == [112, 0, 120]


def test_what_cannot_be_drawn_is_said(db: nilometer.Database) -> None:
    with pytest.raises(ConfigurationError, match="no number"):
        db.sql("SELECT time, place FROM river").plot()
    with pytest.raises(ConfigurationError, match="no column 'dept'"):
        db.sql("SELECT time, depth FROM river").plot(y="dept")
    with pytest.raises(ConfigurationError, match="not a number"):
        db.sql("SELECT time, place FROM river").plot(y="place")
    db.append("river", [{"time": "2026-03-01T07:00Z", "id": n, "depth": n} for n in range(60)])
    with pytest.raises(ConfigurationError, match="60 lines"):
        db.sql("SELECT time, id, depth FROM river").plot()
