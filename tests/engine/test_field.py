"""What `nilometer field` says and draws; the examples of phenomena, generated and measured."""

from __future__ import annotations

import importlib.util
import os
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import nilometer
from nilometer.engine.field import describe_field
from nilometer.pictures.field_map import animate_field, draw_field
from nilometer.types import format_time, parse_time

EXAMPLES = Path(__file__).parents[2] / "examples"
DATA = os.environ.get("NILOMETER_EXAMPLE_DATA")
measured = pytest.mark.skipif(
    DATA is None or not Path(DATA).is_dir(),
    reason="set NILOMETER_EXAMPLE_DATA to a folder with smoke_pm25, la_loop and ngsim_us101",
)


def made(name: str, folder: Path, data: str | None = None) -> nilometer.Database:
    """The directory that an example's make.py makes, opened."""
    spec = importlib.util.spec_from_file_location("make", EXAMPLES / name / "make.py")
    assert spec is not None
    assert spec.loader is not None
    module: Any = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.main(folder, None if data is None or DATA is None else Path(DATA) / data)
    return nilometer.connect(folder)


@pytest.mark.parametrize("name", ["campfire", "la_loop", "us101"])
def test_a_folder_without_the_data_is_named(name: str, tmp_path: Path) -> None:
    spec = importlib.util.spec_from_file_location("make", EXAMPLES / name / "make.py")
    assert spec is not None
    assert spec.loader is not None
    module: Any = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    with pytest.raises(SystemExit, match=r"has no \w+.*README.md says where"):
        module.main(tmp_path / "out", tmp_path)
    assert not (tmp_path / "out").exists()


def frame(database: nilometer.Database, text: str) -> pl.DataFrame:
    given = database.sql(text).run("gateway").given
    assert isinstance(given, pl.DataFrame)
    return given


def test_a_generated_fire_is_described_and_drawn(tmp_path: Path) -> None:
    database = made("campfire", tmp_path / "fire")
    (now,) = describe_field(database, parse_time("2018-11-09T04:00Z"))
    assert now.sentences == [
        "smoke: 33 sensors, 35.19 to 146.7 ug/m3, around 38.7 N 122.5 W, 32,431 km2, since 13 h, moving south-west at 1.4 m/s; it reaches monitor-064 in about 6 h"
    ]
    (before,) = describe_field(database, parse_time("2018-11-08T10:00Z"), "SMOKE")
    assert before.sentences == ["smoke: nothing is going on: 134 sensors, no group of them above 35 ug/m3"]
    draw_field(now.name, now.tick, now.rows, now.sensors, now.coordinates, tmp_path / "now.png", now.outlook)
    assert (tmp_path / "now.png").read_bytes().startswith(b"\x89PNG")
    few = [row for row in now.history if row["time"] > now.tick - 3 * now.slide]
    assert (
        animate_field("smoke", now.slide, few, now.sensors, now.coordinates, tmp_path / "a.gif", now.outlook)
        == 3
    )
    assert (tmp_path / "a.gif").read_bytes().startswith(b"GIF8")


def test_a_generated_road_has_jams_of_neighbours(tmp_path: Path) -> None:
    database = made("la_loop", tmp_path / "road")
    updates = frame(database, "SELECT kind, members FROM PHENOMENA(jam)")
    counts = Counter(updates["kind"])
    assert counts["APPEAR"] == counts["DISAPPEAR"] == 2
    assert all(
        members == list(range(members[0], members[-1] + 1))
        for members in updates["members"].to_list()
        if members
    )


def test_generated_waves_travel_upstream(tmp_path: Path) -> None:
    slopes = wave_slopes(made("us101", tmp_path / "lane"))
    assert np.median(slopes) == pytest.approx(-5.0, abs=0.1)


def wave_slopes(database: nilometer.Database) -> list[float]:
    """How fast the middles of waves of a minute or longer travel, in m/s, by least squares over their lives."""
    rows = frame(database, "SELECT id, time, location FROM CURRENT(wave)")
    slopes = []
    for _, own in rows.group_by("id", maintain_order=True):
        seconds = own["time"].to_numpy() / 1e6
        if seconds[-1] - seconds[0] >= 60:
            places = own["location"].struct.field("x").to_numpy()
            slopes.append(float(np.polyfit(seconds - seconds[0], places, 1)[0]))
    return slopes


@measured
def test_the_camp_fire(tmp_path: Path) -> None:
    database = made("campfire", tmp_path / "fire", "smoke_pm25")
    updates = frame(database, "SELECT time, kind, gained FROM PHENOMENA(smoke)")
    counts = Counter(updates["kind"])
    assert (counts["APPEAR"], counts["DISAPPEAR"], updates.height) == (53, 53, 53 + 53 + 435)
    names = {sensor.id: dict(sensor.attributes).get("name") for sensor in database.catalog.sensors("air")}
    first: dict[Any, str] = {}
    for time, _, gained in updates.iter_rows():
        for member in gained:
            first.setdefault(names[member], format_time(time))
    cities = ("Vacaville", "Oakland", "San Pablo - Rumrill", "Redwood City")
    assert [first[city] for city in cities] == [
        "2018-11-08T21:00:00Z",
        "2018-11-08T22:00:00Z",
        "2018-11-08T23:00:00Z",
        "2018-11-09T04:00:00Z",
    ]


@measured
def test_the_jams_of_los_angeles(tmp_path: Path) -> None:
    updates = frame(made("la_loop", tmp_path / "road", "la_loop"), "SELECT kind FROM PHENOMENA(jam)")
    assert Counter(updates["kind"]) == {
        "APPEAR": 142,
        "DISAPPEAR": 142,
        "MERGE": 52,
        "SPLIT": 41,
        "GROW": 380,
        "SHRINK": 404,
        "MOVE": 373,
    }


@measured
def test_the_waves_of_us101(tmp_path: Path) -> None:
    slopes = wave_slopes(made("us101", tmp_path / "lane", "ngsim_us101"))
    assert len(slopes) == 8
    assert np.percentile(slopes, (25, 50, 75)) == pytest.approx((-4.81, -4.72, -4.65), abs=0.005)
