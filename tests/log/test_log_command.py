"""`nilometer log` as its users see it."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

import polars as pl
import pytest

from nilometer.cli import main as cli
from nilometer.log import Letter, LogDirectory, LogSettings
from nilometer.types import SECOND, format_time, parse_time

START = parse_time("2026-03-01T00:00:00Z")
COLUMNS = {"time": pl.Int64(), "id": pl.Int64(), "at": pl.Struct({"x": pl.Float64(), "y": pl.Float64()})}


def batch(first: int, count: int = 4) -> pl.DataFrame:
    numbers = range(first, first + count)
    points = [{"x": n / 2, "y": 0.0} for n in numbers]
    return pl.DataFrame(
        {"time": [START + n * SECOND for n in numbers], "id": numbers, "at": points}, schema=COLUMNS
    )


@pytest.fixture
def field(tmp_path: Path) -> Path:
    logs = LogDirectory(tmp_path, LogSettings(segment_bytes=600))
    with logs.log("River", COLUMNS) as log:
        for number in range(5):
            log.append(batch(4 * number))
        reader = log.reader("spark")
        reader.read(8)
        reader.commit()
    with logs.log("lake", COLUMNS) as log:
        log.heartbeat(START)
        log.writer.letters(
            [Letter(START, "lake/7", "no time", b'{"depth": \xff}'), Letter(None, "", "x", b"")]
        )
        log.writer.demand({"time": START, "query": "deep", "event": "begin", "demand": "all of lake"})
    return tmp_path


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], field: Path):
    def call(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["nilometer", "log", *arguments, "--data", str(field)])
        with pytest.raises(SystemExit) as ended:
            cli.main()
        out, err = capsys.readouterr()
        return int(ended.value.code or 0), out, err

    return call


def test_ls(run) -> None:
    code, out, _ = run("ls", "--json")
    lake, river = map(json.loads, out.splitlines())
    assert code == 0
    assert lake["rows"] == 0
    assert lake["from"] is None
    assert river["segments"] > 2
    assert (river["rows"], river["positions"], river["readers"]) == (20, [0, 20], {"spark": 12})
    assert (river["from"], river["to"]) == ("2026-03-01T00:00:00Z", "2026-03-01T00:00:19Z")
    _, out, _ = run("ls")
    assert "spark -12" in out


def test_tail(run) -> None:
    code, out, _ = run("tail", "river", "-n", "2")
    assert code == 0
    assert out.splitlines()[0].split() == ["@position", "time", "id", "at"]
    assert out.splitlines()[-1].split() == ["19", "2026-03-01T00:00:19Z", "19", "(9.5,", "0)"]
    _, out, _ = run("tail", "River", "-n", "1", "--json")
    assert json.loads(out) == {
        "@position": 19,
        "time": "2026-03-01T00:00:19Z",
        "id": 19,
        "at": {"x": 9.5, "y": 0.0},
    }
    code, _, err = run("tail", "rivr")
    assert code == 1
    assert "lake, river" in err


def test_tail_follows(run, field: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    looks = 0

    def sleep(_: float) -> None:
        nonlocal looks
        looks += 1
        if looks == 3:
            raise KeyboardInterrupt
        with LogDirectory(field).log("river") as log:
            log.append(batch(20 + looks, 1))

    monkeypatch.setattr(time, "sleep", sleep)
    code, out, _ = run("tail", "river", "-n", "1", "-f")
    assert code == 130
    assert [json.loads(line)["id"] for line in out.splitlines()] == [19, 21, 22]


def test_dead_letters(run) -> None:
    code, out, _ = run("dead", "lake", "--json")
    assert code == 0
    assert [json.loads(line) for line in out.splitlines()] == [
        {
            "arrived": "2026-03-01T00:00:00Z",
            "source": "lake/7",
            "reason": "no time",
            "payload": '{"depth": \\xff}',
            "count": 1,
        },
        {"arrived": None, "source": "", "reason": "x", "payload": "", "count": 1},
    ]
    _, out, _ = run("dead", "lake", "-n", "1", "--json")
    assert len(out.splitlines()) == 1
    code, out, err = run("dead", "river")
    assert (code, "no dead letters" in err) == (0, True)


def test_demand(run) -> None:
    shown = format_time(START)
    assert run("demand", "lake")[1] == f"{shown}  begin deep: all of lake\n"
    found = json.loads(run("demand", "lake", "--json")[1])
    assert found == {"time": shown, "query": "deep", "event": "begin", "demand": "all of lake"}
    assert "nothing was ever demanded" in run("demand", "river")[2]


def test_verify(run, field: Path) -> None:
    code, out, _ = run("verify")
    assert code == 0
    assert "lake: whole" in out
    segment = sorted((field / ".nilometer/log/river").glob("*.segment"))[1]
    data = bytearray(segment.read_bytes())
    data[-100] ^= 4
    segment.write_bytes(data)
    code, out, _ = run("verify")
    assert code == 1
    assert "river: damaged" in out
    assert segment.name in out
    assert "fails its checksum" in out
    code, out, _ = run("verify", "river", "--json")
    assert code == 1
    assert json.loads(out)["damages"][0]["file"] == segment.name
    code, _, err = run("replay", "river")
    assert code == 1
    assert " log verify" in err


def test_trim(run, field: Path) -> None:
    code, out, err = run("trim", "river", "--older-than", "1d", "--json")
    assert code == 0
    assert json.loads(out)["rows"] == 8
    assert "waits for reader 'spark'" in err
    assert LogDirectory(field).log("river").start.position == 8
    code, out, _ = run("trim", "--older-than", "1d", "--force", "--json")
    assert [json.loads(line)["rows"] > 0 for line in out.splitlines()] == [False, True]
    for wrong, hint in ((["--force"], "--older-than"), (["--older-than", "week"], "7d")):
        code, _, err = run("trim", *wrong)
        assert code == 1
        assert hint in err


def test_replay(run) -> None:
    span = ("--from", "2026-03-01T00:00:05Z", "--to", "2026-03-01T00:00:07Z")
    code, out, err = run("replay", "river", *span)
    assert code == 0
    assert [json.loads(line)["id"] for line in out.splitlines()] == [5, 6]
    assert "2 rows" in err
    _, out, _ = run("replay", "river", *span, "--csv")
    assert out.splitlines()[:2] == ["time,id,at", '2026-03-01T00:00:05Z,5,"{""x"": 2.5, ""y"": 0.0}"']
    code, _, err = run("replay", "river", "--from", "yesterday")
    assert code == 1
    assert "ISO-8601" in err
