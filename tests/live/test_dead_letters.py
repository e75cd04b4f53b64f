"""A poison reading stops nobody: `9223372036854775807` goes to the dead letters of `n * 2` and SUM(n), and the queries go
on, also after a crash."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from nilometer.cli.main import application
from nilometer.live import dead_letters as module
from nilometer.live.dead_letters import FILE, dead_letters, write_lines
from nilometer.live.query_list import RunState
from nilometer.live.starts import BEGINNING
from nilometer.live.upkeep import replay
from nilometer.types import INT_MAXIMUM
from poison import FIRST, SECOND_PART, feed, field, judge, rows_of, run


@pytest.mark.promise("poison-everywhere")
@pytest.mark.parametrize("crash", [False, True])
def test_poison_readings_stop_nobody(tmp_path: Path, crash: bool) -> None:
    feed(tmp_path, "a", FIRST)
    database = field(tmp_path)
    said = run(database, tmp_path, crash=crash)
    assert said["twice"] == "integer overflow in s.n * 2"
    assert said["total"] == "integer overflow in SUM(s.n)"
    feed(tmp_path, "b", SECOND_PART)
    run(database, tmp_path, crash=crash)
    if crash:
        run(database, tmp_path)
    judge(database, tmp_path)
    replay(database, "twice", BEGINNING)
    run(database, tmp_path)
    judge(database, tmp_path)


@pytest.mark.promise("poison-everywhere")
def test_on_error_stop(tmp_path: Path) -> None:
    feed(tmp_path, "a", FIRST)
    database = field(tmp_path, "ON ERROR STOP")
    run(database, tmp_path)
    states = {one.name: (one.state, one.dead) for one in database.queries()}
    assert states["twice"] == (RunState.FAILED, 0)
    assert states["total"] == (RunState.STOPPED, 1)
    assert rows_of(database, "twice") == []
    feed(tmp_path, "b", SECOND_PART)
    database = field(tmp_path, "ON ERROR SKIP")  # the query goes on where it stood, and skips
    run(database, tmp_path)
    judge(database, tmp_path)


def test_the_commands_show_them(tmp_path: Path) -> None:
    feed(tmp_path, "a", FIRST)
    database = field(tmp_path)
    run(database, tmp_path)
    cli = CliRunner()
    shown = cli.invoke(application, ["queries", "dead", "twice", "--data", str(tmp_path)])
    assert "integer overflow in s.n * 2" in shown.stdout
    assert str(INT_MAXIMUM) in shown.stdout
    assert "twice has set 1 row aside" in shown.stderr
    shown = cli.invoke(application, ["queries", "dead", "twice", "--data", str(tmp_path), "--json"])
    assert json.loads(shown.stdout)["row"]["s.n"] == INT_MAXIMUM
    shown = cli.invoke(application, ["queries", "--data", str(tmp_path)])
    assert "dead" in shown.stdout.splitlines()[0]
    assert "twice has set 1 row aside: queries dead twice" in shown.stderr
    shown = cli.invoke(application, ["streams", "--ledger", "--json", "--data", str(tmp_path)])
    (twice,) = (line for line in map(json.loads, shown.stdout.splitlines()) if line.get("query") == "twice")
    assert (twice["read"], twice["delivered"], twice["failed"], twice["balanced"]) == (4, 3, 1, True)


def test_letters_are_bounded_and_not_doubled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_BYTES", 4_000)
    line = {"reason": "no value", "row": {"@position": 0}, "count": 1}
    write_lines(tmp_path, "q", [line])
    write_lines(tmp_path, "q", [line, {**line, "row": {"@position": 1}}])
    assert [one["position"] for one in dead_letters(tmp_path, "q")] == [0, 1]
    path = tmp_path / ".nilometer" / "queries" / "q" / FILE
    path.write_text(path.read_text() + '{"reason": "half')  # a kill within a write
    write_lines(tmp_path, "q", [{**line, "row": {"@position": 2}}])
    assert [one["position"] for one in dead_letters(tmp_path, "q")] == [0, 1, 2]
    for number in range(3, 300):
        write_lines(tmp_path, "q", [{**line, "row": {"@position": number}}])
        assert path.stat().st_size <= 4_000
    assert dead_letters(tmp_path, "q")[-1]["position"] == 299
    assert path.stat().st_mode & 0o777 == 0o600
