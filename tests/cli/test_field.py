"""`nilometer field`: sentences, JSON, and what it refuses."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

import pytest

from nilometer.cli import main as cli

SCHEMA = """
CREATE STREAM air (pm25 FLOAT UNIT 'ug/m3') PUSHED EXPECT EVERY 1 MINUTE COORDINATES 'm';
CREATE SENSOR 1 OF air AT (0, 0);
CREATE SENSOR 2 OF air AT (30, 0);
CREATE SENSOR 3 OF air AT (0, 40);
CREATE PHENOMENON smoke ON air.pm25 ABOVE 35 RANGE 5 MINUTES SLIDE 1 MINUTE NEIGHBOURS WITHIN 60 M;
"""


def call(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *arguments: str
) -> tuple[int, str, str]:
    monkeypatch.setattr(sys, "argv", ["nilometer", *arguments])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    out, err = capsys.readouterr()
    return int(ended.value.code or 0), out, err


def test_sentences_and_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "schema.sql").write_text(SCHEMA)
    rows = [f"2026-03-01T06:0{minute}:00Z,{sensor},5{sensor}" for minute in range(3) for sensor in (1, 2, 3)]
    (tmp_path / "air.csv").write_text("\n".join(["time,id,pm25", *rows]) + "\n")
    data = ("--data", str(tmp_path))
    code, out, _ = call(monkeypatch, capsys, "field", *data)
    assert code == 0
    assert out == "smoke: 3 sensors, 51 to 53 ug/m3, around (10, 13.33) m, 600 m2, since 2 min\n"
    _, out, _ = call(monkeypatch, capsys, "field", *data, "--at", "2026-03-01T06:01:00Z", "--json")
    row = json.loads(out)
    assert (row["size"], row["time"], row["members"]) == (3, "2026-03-01T06:01:00Z", [1, 2, 3])
    _, out, _ = call(monkeypatch, capsys, "field", *data, "--geojson")
    collection = json.loads(out)
    (feature,) = collection["features"]
    assert collection["type"] == "FeatureCollection"
    assert feature["geometry"]["type"] == "Polygon"
    assert [30.0, 0.0] in feature["geometry"]["coordinates"][0]
    assert feature["properties"]["sentence"] == collection["sentences"][0]
    code, _, err = call(monkeypatch, capsys, "field", *data, "--geojson", "--json")
    assert "exclude each other" in err
    code, _, err = call(monkeypatch, capsys, "field", *data, "--phenomenon", "fog")
    assert code != 0
    assert "no phenomenon 'fog'" in err
    code, _, err = call(monkeypatch, capsys, "field", *data, "--animate", str(tmp_path / "a.avi"))
    assert "cannot animate into 'a.avi'" in err
    code, _, err = call(monkeypatch, capsys, "field", *data, "--animate", str(tmp_path))
    assert "is a directory" in err
    drawn = tmp_path / "map.svg"
    drawn.write_text("an older drawing")
    code, _, err = call(monkeypatch, capsys, "field", *data, "--plot", str(drawn))
    assert code == 0, err
    assert "<svg" in drawn.read_text()
    if shutil.which("ffmpeg") is not None:
        code, _, err = call(monkeypatch, capsys, "field", *data, "--animate", str(tmp_path / "film.mp4"))
        assert code == 0, err
        assert (tmp_path / "film.mp4").read_bytes()[4:8] == b"ftyp"
    monkeypatch.setattr("shutil.which", lambda _: None)
    code, _, err = call(monkeypatch, capsys, "field", *data, "--animate", str(tmp_path / "a.mp4"))
    assert "an MP4 is written by ffmpeg, which is not here" in err


def test_sensors_without_a_place_are_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "schema.sql").write_text(SCHEMA)
    rows = [f"2026-03-01T06:0{minute}:00Z,{sensor},50" for minute in range(3) for sensor in (1, 2, 3, 8)]
    (tmp_path / "air.csv").write_text("\n".join(["time,id,pm25", *rows]) + "\n")
    code, out, _ = call(monkeypatch, capsys, "field", "--data", str(tmp_path))
    assert code == 0
    first, second = out.splitlines()
    assert first.startswith("smoke: 3 sensors")
    assert second == "smoke: 1 sensor has no place, and takes no part"


def test_sensors_that_move_are_drawn_where_they_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "schema.sql").write_text(
        "CREATE STREAM bus (speed FLOAT, at POINT) PUSHED EXPECT EVERY 1 MINUTE COORDINATES 'm';"
        "CREATE PHENOMENON crawl ON bus.speed BELOW 5 RANGE 2 MINUTES NEIGHBOURS WITHIN 60 M LOCATED AT at;"
    )
    rows = [
        f"2026-03-01T06:0{minute}:00Z,{bus},2,{'' if bus == 9 and minute == 3 else f'{10 * bus + 40 * minute} 0'}"
        for minute in range(4)
        for bus in (1, 2, 3, 9)
    ]
    (tmp_path / "bus.csv").write_text("\n".join(["time,id,speed,at", *rows]) + "\n")
    data = ("--data", str(tmp_path))
    code, out, err = call(monkeypatch, capsys, "field", *data, "--plot", str(tmp_path / "map.svg"))
    assert code == 0, err
    assert out.splitlines()[0].startswith(
        "crawl: 3 sensors, 2 to 2, around (140, 0) m, since 3 min, moving east"
    )
    assert out.splitlines()[1:] == ["crawl: 1 sensor has no place, and takes no part"]
    assert "<svg" in (tmp_path / "map.svg").read_text()
