"""Live verbs as their users see them: rows as they come, standing queries that go on, the books."""

from __future__ import annotations

import io
import json
import re
import sys
from pathlib import Path

import pytest

from nilometer.cli import main as cli
from nilometer.engine import connect
from nilometer.live.station import Station

SCHEMA = """
CREATE STREAM air (x FLOAT) PUSHED FROM 'file://{path}' EXPECT EVERY 1 MINUTE;
CREATE QUERY high AS SELECT id, x FROM air WHERE x > 1.0;
"""
READINGS = "time,id,x\n" + "".join(f"2026-03-01T06:{minute:02d}:00Z,1,{minute / 4}\n" for minute in range(12))


@pytest.fixture
def field(tmp_path: Path) -> Path:
    (tmp_path / "readings").mkdir()
    path = tmp_path / "readings" / "air.csv"
    path.write_text(READINGS + "2026-03-01T06:12:00Z,1,high\n")
    (tmp_path / "schema.sql").write_text(SCHEMA.format(path=path))
    return tmp_path


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    def call(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["nilometer", *arguments])
        monkeypatch.setattr(sys, "stdin", io.StringIO(""))
        with pytest.raises(SystemExit) as ended:
            cli.main()
        out, err = capsys.readouterr()
        return int(ended.value.code or 0), out, err

    return call


WINDOWS = "SELECT COUNT(*) AS n, MAX(x) AS most FROM air [RANGE 5 MINUTES SLIDE 5 MINUTES]"


def test_a_query_over_a_replay_ends_with_it(run, field: Path) -> None:
    code, out, err = run("query", "--data", str(field), WINDOWS)
    assert code == 0, err
    assert out.splitlines() == [
        "tick                  n  most",
        "--------------------  -  ----",
        "2026-03-01T06:00:00Z  1  0",
        "2026-03-01T06:05:00Z  5  1.25",
        "2026-03-01T06:10:00Z  5  2.5",
        "2026-03-01T06:15:00Z  1  2.75",
    ]
    assert "13 received" in err
    assert "1 garbled" in err


def test_the_log_answers_again_without_the_source(run, field: Path) -> None:
    _, live, _ = run("query", "--data", str(field), "--json", WINDOWS)
    (field / "readings" / "air.csv").unlink()
    for options in (["--no-follow"], ["--on", "reference"], ["--no-follow", "--on", "fjord"]):
        code, out, _ = run("query", "--data", str(field), "--json", *options, WINDOWS)
        assert code == 0
        assert out == live


def test_limit_stops_a_live_query(run, field: Path) -> None:
    code, out, _ = run("query", "--data", str(field), "--json", "--limit", "2", WINDOWS)
    assert code == 0
    assert [json.loads(line)["n"] for line in out.splitlines()] == [1, 5]


def test_standing_queries_go_on_and_the_books_are_kept(run, field: Path) -> None:
    code, out, err = run("run", "--data", str(field), "--json")
    assert code == 0, err
    assert [json.loads(line)["x"] for line in out.splitlines()] == [1.25, 1.5, 1.75, 2.0, 2.25, 2.5, 2.75]
    code, out, _ = run("run", "--data", str(field), "--json")
    assert (code, out) == (0, "")
    code, out, _ = run("streams", "--ledger", "--json", "--data", str(field))
    assert code == 0
    stream, query = map(json.loads, out.splitlines())
    assert (stream["received"], stream["appended"], stream["garbled"]) == (13, 12, 1)
    assert (query["read"], query["delivered"], query["filtered"], query["answers"]) == (12, 7, 5, 7)
    assert stream["balanced"]
    assert query["balanced"]
    _, out, _ = run("log", "dead", "air", "--data", str(field))
    assert "high" in out


def test_a_query_that_fails_leaves_the_others_running(run, field: Path) -> None:
    schema = field / "schema.sql"
    schema.write_text(
        schema.read_text()
        + "CREATE QUERY bad ON ERROR STOP AS SELECT (id + 9223372036854775806) * 2 AS y FROM air;"
    )
    code, out, err = run("run", "--data", str(field), "--json")
    assert code == 1
    assert len(out.splitlines()) == 7
    assert "bad has stopped: integer overflow" in err
    assert "stopped early: bad" in err
    assert err.count("has stopped") == 1


def test_why_readings_are_garbled_is_said_at_once(run, field: Path) -> None:
    _, _, err = run("query", "--data", str(field), WINDOWS)
    assert "air: garbled: " in err
    assert " log dead air" in err


def test_a_long_dead_letter_is_cut(run, field: Path) -> None:
    (field / "readings" / "air.csv").write_text("time,id,x\n2026-03-01T06:12:00Z,1," + "y" * 5000 + "\n")
    run("run", "--data", str(field))
    _, out, _ = run("log", "dead", "air", "--data", str(field))
    assert len(out) < 1000
    assert "bytes)" in out
    _, out, _ = run("log", "dead", "air", "--full", "--data", str(field))
    assert "y" * 5000 in out


def test_the_demand_is_told_in_times_that_people_read(run, field: Path) -> None:
    run("query", "--data", str(field), WINDOWS)
    _, out, _ = run("log", "demand", "air", "--data", str(field))
    started = next(line for line in out.splitlines() if " start " in line)
    time, _, told = started.partition("  start ")
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT[\d:.]+Z", time)
    assert ": x; " in told or told.endswith(": x")
    _, out, _ = run("log", "demand", "air", "--json", "--data", str(field))
    assert json.loads(out.splitlines()[0])["time"] == time


def test_a_source_that_can_never_be_read_ends_the_query_with_an_error(run, field: Path) -> None:
    (field / "readings" / "air.csv").unlink()
    code, _, err = run("query", "--data", str(field), WINDOWS)
    assert code == 1
    assert "there is no file" in err


def test_one_process_at_a_time_runs_the_standing_queries(run, field: Path) -> None:
    schema = field / "schema.sql"
    schema.write_text(schema.read_text() + "CREATE QUERY low AS SELECT id, x FROM air WHERE x < 1;")
    database = connect(field)
    with Station(database, field) as station:
        station.install(database.sql("SELECT id, x FROM air WHERE x > 1.0"), "high", durable=True)
        code, out, err = run("run", "--data", str(field), "--json", "--seconds", "1")
    assert code == 1
    assert "high cannot run: the standing queries of" in err
    assert "low cannot run: the standing queries of" in err
    assert "being written by process" in err
    assert '"query"' not in out


def test_nothing_to_run_is_said_plainly(run, field: Path, tmp_path: Path) -> None:
    code, _, err = run("run", "--data", str(field), "--only", "low")
    assert code == 1
    assert "no standing query low" in err
    code, _, err = run("run")
    assert code == 1
    assert "--data DIR" in err
    code, _, err = run("run", "--data", str(field), "--when-full", "air=panic")
    assert code == 1
    assert "drop oldest, drop newest, sample, block" in err
    code, _, err = run("run", "--data", str(field), "--when-full", "air=drop-oldest")
    assert code == 0
    code, _, err = run("query", "--data", str(field), "--start", "noon", WINDOWS)
    assert code == 1
    assert "not at 'noon'" in err


def test_what_a_standing_query_has_answered(run, field: Path) -> None:
    code, _, err = run("answers", "high", "--data", str(field))
    assert code == 0
    assert "high has answered 0 rows" in err
    assert run("run", "--data", str(field))[0] == 0
    code, out, err = run("answers", "High", "--data", str(field), "--limit", "2")
    assert code == 0, err
    assert out.splitlines() == ["id  x", "--  ----", "1   1.25", "1   1.5"]
    assert "7 rows; --from 7 gives what comes next" in err
    _, out, _ = run("answers", "high", "--data", str(field), "--from", "5", "--json")
    assert [json.loads(line) for line in out.splitlines()] == [{"id": 1, "x": 2.5}, {"id": 1, "x": 2.75}]
    assert run("answers", "high", "--data", str(field), "--from", "7")[1] == ""
    code, _, err = run("answers", "low", "--data", str(field))
    assert code == 1
    assert "no standing query 'low'" in err
    assert "there are: high" in err
    assert run("answers", "high")[0] == 1
