"""Standing queries looked after, as users do it: nilometer queries list, pause, resume, drop, replay."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from nilometer.cli import main as cli
from nilometer.engine import connect
from nilometer.live.station import Station

SCHEMA = """
CREATE STREAM air (x FLOAT) PUSHED FROM 'file://{path}' EXPECT EVERY 1 MINUTE;
CREATE QUERY high AS SELECT time, id, x FROM air WHERE x > 1.0;
CREATE QUERY low AS SELECT id, x FROM air WHERE x <= 1.0;
"""
Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def field(tmp_path: Path) -> Path:
    (tmp_path / "readings").mkdir()
    path = tmp_path / "readings" / "air.csv"
    readings = (f"2026-03-01T06:{minute:02d}:00Z,1,{minute / 4}\n" for minute in range(12))
    path.write_text("time,id,x\n" + "".join(readings))
    (tmp_path / "schema.sql").write_text(SCHEMA.format(path=path))
    return tmp_path


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], field: Path) -> Run:
    monkeypatch.setenv("NILOMETER_DATA", str(field))

    def call(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["nilometer", *arguments])
        monkeypatch.setattr(sys, "stdin", io.StringIO(""))
        with pytest.raises(SystemExit) as ended:
            cli.main()
        out, err = capsys.readouterr()
        return int(ended.value.code or 0), out, err

    return call


def listed(run: Run, *arguments: str) -> dict[str, dict[str, object]]:
    code, out, err = run("queries", *arguments, "--json")
    assert code == 0, err
    return {found["name"]: found for found in map(json.loads, out.splitlines())}


def test_the_list_of_queries(run: Run, field: Path) -> None:
    assert {name: one["state"] for name, one in listed(run).items()} == {"high": "new", "low": "new"}
    code, _, err = run("run")
    assert code == 0, err
    high = listed(run, "list")["high"]
    assert (high["state"], high["host"], high["rows"], high["behind"], high["read"]) == (
        "stopped",
        "gateway",
        7,
        0,
        12,
    )
    assert high["watermark"] == "2026-03-01T06:11:00Z"
    code, out, _ = run("queries", "--data", str(field))
    assert code == 0
    assert out.splitlines()[0].split() == [
        "query", "state", "host", "version", "rows", "behind",
        "late", "shed", "dead", "watermark", "lag", "batch", "held", "complete",
    ]  # fmt: skip
    assert out.splitlines()[2].startswith("high   stopped  gateway")


def test_a_paused_query_waits_until_it_is_resumed(run: Run) -> None:
    code, _, err = run("queries", "pause", "high")
    assert code == 0
    assert "high is paused" in err
    code, out, err = run("run", "--json")
    assert code == 0
    assert {json.loads(line)["query"] for line in out.splitlines()} == {"low"}
    assert "high is paused; it goes on where it stands after: " in err
    assert " queries resume high" in err
    assert run("queries", "resume", "high")[0] == 0
    code, out, err = run("run", "--json")
    assert code == 0, err
    assert listed(run)["high"]["state"] == "stopped"


def test_all_may_be_paused(run: Run) -> None:
    for name in ("high", "low"):
        assert run("queries", "pause", name)[0] == 0
    code, out, err = run("run", "--seconds", "0.3")
    assert (code, out) == (0, "")
    assert "nothing runs now" in err


def test_a_name_that_is_not_there(run: Run) -> None:
    for verb in ("pause", "resume", "drop", "replay"):
        code, _, err = run("queries", verb, "hihg")
        assert code == 1
        assert "no standing query 'hihg'" in err
        assert "did you mean 'high'?" in err


def test_drop_says_what_goes_and_asks(run: Run) -> None:
    assert run("run")[0] == 0
    code, _, err = run("queries", "drop", "high")
    assert code == 1
    assert "high: 7 rows of answers" in err
    assert "retention waits for it in the log of air" in err
    assert "add --yes" in err
    assert listed(run)["high"]["rows"] == 7
    code, _, err = run("queries", "drop", "high", "--yes")
    assert code == 0, err
    assert "high is dropped" in err
    assert "it is still declared" in err
    assert listed(run)["high"]["state"] == "new"


def test_what_runs_is_not_dropped(run: Run, field: Path) -> None:
    database = connect(field)
    with Station(database, field) as station:
        station.install(database.query("high"), "high", durable=True)
        code, _, err = run("queries", "drop", "high", "--yes")
        assert code == 1
        assert "'high' cannot be dropped while it runs: process" in err
        assert " queries pause high" in err
        assert listed(run)["high"]["state"] == "running"


def test_replay_answers_again(run: Run, field: Path) -> None:
    assert run("run")[0] == 0
    code, _, err = run("queries", "replay", "high", "--from", "2026-03-01T06:09:00Z")
    assert code == 0, err
    assert f"7 rows of answers moved to {field}/.nilometer/queries/high/replaced/1" in err
    assert "high begins again at 2026-03-01T06:09:00Z when it is run next: 3 readings lie ahead of it" in err
    code, out, err = run("run", "--only", "high", "--json")
    assert code == 0, err
    assert [json.loads(line)["x"] for line in out.splitlines()] == [2.25, 2.5, 2.75]
    code, _, err = run("queries", "replay", "high", "--from", "noon")
    assert code == 1
    assert "not at 'noon'" in err
    assert run("queries", "replay", "high")[0] == 0
    code, out, _ = run("run", "--only", "high", "--json")
    assert len(out.splitlines()) == 7


def test_a_changed_text_is_a_new_version(run: Run, field: Path) -> None:
    assert run("run")[0] == 0
    before = listed(run)["high"]["version"]
    schema = field / "schema.sql"
    schema.write_text(schema.read_text().replace("x > 1.0", "x > 2.0"))
    code, _, err = run("queries")
    assert code == 0
    assert "high has changed since it last ran: its next run begins a new version" in err
    code, _, err = run("run")
    assert code == 0
    assert "high has changed since it last ran: the new version goes on where the old one stood" in err
    found = listed(run)["high"]
    assert found["version"] != before
    assert found["rows"] == 7


def test_an_unknown_host(run: Run) -> None:
    code, _, err = run("run", "--only", "high", "--on", "sprak")
    assert code == 1
    assert "did you mean 'spark'?" in err
