"""Answers elsewhere, as users ask for it: run --to, answers --to and --follow, and from Python."""

from __future__ import annotations

import io
import itertools
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

import nilometer
from nilometer.cli import main as cli
from nilometer.cli.deliveries import report_deliveries, summarize_deliveries
from nilometer.engine import Database
from nilometer.errors import ConfigurationError, ResourceError
from nilometer.live.delivery import Deliveries, follow, open_routes, route
from nilometer.live.station import Station

SCHEMA = """
CREATE STREAM air (x FLOAT) PUSHED FROM 'file://{path}' EXPECT EVERY 1 MINUTE;
CREATE QUERY high AS SELECT time, id, x FROM air WHERE x > 1.0;
CREATE QUERY low AS SELECT id, x FROM air WHERE x <= 1.0;
"""
HIGH = [1.25, 1.5, 1.75, 2.0, 2.25, 2.5, 2.75]
Run = Callable[..., tuple[int, str, str]]


def readings(first: int, last: int) -> str:
    return "".join(f"2026-03-01T06:{minute:02d}:00Z,1,{minute / 4}\n" for minute in range(first, last))


@pytest.fixture
def field(tmp_path: Path) -> Path:
    folder = tmp_path / "field"
    (folder / "readings").mkdir(parents=True)
    path = folder / "readings" / "air.csv"
    path.write_text("time,id,x\n" + readings(0, 12))
    (folder / "schema.sql").write_text(SCHEMA.format(path=path))
    return folder


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    def call(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["nilometer", *arguments])
        monkeypatch.setattr(sys, "stdin", io.StringIO(""))
        with pytest.raises(SystemExit) as ended:
            cli.main()
        out, err = capsys.readouterr()
        return int(ended.value.code or 0), out, err

    return call


def lines(path: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_run_delivers_what_it_answers(run: Run, field: Path, tmp_path: Path) -> None:
    sinks = [
        f"--to=HIGH=parquet:{tmp_path}/high",
        f"--to=high=jsonl:{tmp_path}/high.jsonl",
        f"--to=low=jsonl:{tmp_path}/low",
    ]
    code, _, err = run("run", "--data", str(field), *sinks)
    assert code == 0, err
    assert f"high to jsonl:{tmp_path}/high.jsonl: 7 rows delivered" in err
    assert pl.read_parquet(tmp_path / "high" / "*" / "*.parquet")["x"].to_list() == HIGH
    assert lines(tmp_path / "high.jsonl")[0] == {"time": "2026-03-01T06:05:00Z", "id": 1, "x": 1.25}
    assert len(lines(tmp_path / "low")) == 5
    code, _, err = run("run", "--data", str(field), *sinks)
    assert code == 0
    assert "0 rows delivered" in err
    assert len(lines(tmp_path / "high.jsonl")) == 7


def test_answers_are_delivered_later(run: Run, field: Path, tmp_path: Path) -> None:
    assert run("run", "--data", str(field))[0] == 0
    url = f"jsonl:{tmp_path}/high.jsonl"
    code, out, err = run(
        "answers", "high", "--data", str(field), "--to", url, "--to", f"parquet:{tmp_path}/high"
    )
    assert code == 0, err
    assert out == ""
    assert f"7 rows delivered to {url}" in err
    assert [row["x"] for row in lines(tmp_path / "high.jsonl")] == HIGH
    assert "0 rows delivered" in run("answers", "high", "--data", str(field), "--to", url)[2]
    _, _, err = run("answers", "high", "--data", str(field), "--to", url, "--follow", "--seconds", "0.5")
    assert "0 rows delivered" in err


def test_a_sink_that_is_away_does_not_keep_the_query(run: Run, field: Path, tmp_path: Path) -> None:
    away = "postgresql://me:secret@127.0.0.1:1/x?table=high"
    code, out, err = run(
        "run", "--data", str(field), "--json", f"--to=high={away}", f"--to=high=jsonl:{tmp_path}/high"
    )
    assert code == 1
    assert len(out.splitlines()) == 12
    assert "the database cannot be reached" in err
    assert "what is not delivered is kept, and goes out next time" in err
    assert "secret" not in err
    assert len(lines(tmp_path / "high")) == 7
    code, _, err = run("answers", "high", "--data", str(field), "--to", away)
    assert code == 1
    assert "the database cannot be reached" in err
    assert "secret" not in err
    code, _, err = run("answers", "high", "--data", str(field), "--to", away, "--follow", "--seconds", "1")
    assert code == 1
    assert "it is tried again" in err


def test_trouble_is_said_once_and_when_it_is_over(
    field: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    database = nilometer.connect(field)
    commit(database, field)
    (tmp_path / "out").write_text("in the way")
    deliveries = Deliveries(open_routes(database, [("high", f"jsonl:{tmp_path}/out/high")]))
    (way,) = deliveries.routes
    states: dict[str, str] = {}
    for _ in range(3):
        way.delivery.step(all_of_it=True)
        report_deliveries(deliveries, states)
    said = f"high to jsonl:{tmp_path}/out/high: "
    assert capsys.readouterr().err.count(said) == 1
    assert not summarize_deliveries(deliveries)
    assert "0 rows delivered, 3 failures" in capsys.readouterr().err
    (tmp_path / "out").unlink()
    for _ in range(2):
        way.delivery.step(all_of_it=True)
        report_deliveries(deliveries, states)
    assert capsys.readouterr().err == f"{said}well again\n"
    assert summarize_deliveries(deliveries)
    way.close()


def test_what_cannot_be_is_said_at_once(run: Run, field: Path) -> None:
    for arguments, says in (
        (["run", "--to", "high"], "--to takes NAME=URL"),
        (["run", "--to", "other=jsonl:x"], "the queries that run are high, low"),
        (["run", "--only", "low", "--to", "high=jsonl:x"], "the queries that run are low"),
        (["run", "--to", "high=gopher://host/x"], "is not a sink for answers"),
        (["run", "--to", "high=parquets:x"], "did you mean"),
        (["answers", "other", "--to", "jsonl:x"], "no standing query 'other'"),
        (["answers", "other", "--follow"], "no standing query 'other'"),
        (["answers", "high", "--to", "jsonl:x", "--from", "3"], "leave out --from"),
    ):
        code, _, err = run(*arguments, "--data", str(field))
        assert code == 1
        assert says in err


@pytest.mark.slow
def test_rows_as_another_process_commits_them(field: Path) -> None:
    path = os.pathsep.join([str(Path(nilometer.__file__).parents[1])])
    command = [
        sys.executable,
        "-m",
        "nilometer.cli.main",
        "answers",
        "high",
        "--data",
        str(field),
        "--follow",
        "--json",
    ]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, env=os.environ | {"PYTHONPATH": path}
    ) as process:
        try:
            database = nilometer.connect(field)
            commit(database, field)
            assert process.stdout is not None
            heard = [json.loads(next(process.stdout))["x"] for _ in range(7)]
            append(field, 12, 14)
            commit(database, field)
            heard += [json.loads(next(process.stdout))["x"] for _ in range(2)]
        finally:
            process.terminate()
    assert heard == [*HIGH, 3.0, 3.25]
    assert process.returncode == 0


def append(field: Path, first: int, last: int) -> None:
    with (field / "readings" / "air.csv").open("a") as file:
        file.write(readings(first, last))


def commit(database: Database, field: Path, text: str | None = None) -> None:
    """Run the standing query `high`, or another version of it, until its source ends."""
    with Station(database, field) as station:
        query = database.sql(text or database.catalog.query("high").text)  # type: ignore[union-attr]
        station.install(query, "high", durable=True)
        station.run(lambda: False)


def test_following_in_python(field: Path) -> None:
    database = nilometer.connect(field)
    commit(database, field)
    rows = database.answers("high", follow=True)
    assert [row["x"] for row in itertools.islice(rows, 7)] == HIGH
    append(field, 12, 13)
    commit(database, field)
    assert next(rows)["x"] == 3.0
    append(field, 13, 14)
    # Another version with a column of another type goes on in another log, and so does who follows.
    commit(database, field, "SELECT time, x > 2 AS x FROM air")
    answers = [row for answer in follow(database, "high", wait=lambda: False) for row in answer]
    assert [row["x"] for row in answers] == [*HIGH, 3.0, True]
    for position in range(10):
        given = [row for answer in follow(database, "high", position, wait=lambda: False) for row in answer]
        assert given == answers[position:]
    with pytest.raises(ConfigurationError, match="no standing query"):
        database.answers("other", follow=True)


def test_delivering_in_python(field: Path, tmp_path: Path) -> None:
    database = nilometer.connect(field)
    assert database.deliver("high", to=f"jsonl:{tmp_path}/high") == 0
    commit(database, field)
    assert database.deliver("high", to=f"jsonl:{tmp_path}/high") == 7
    assert database.deliver("high", to=f"jsonl:{tmp_path}/high") == 0
    way = route(database, "high", f"jsonl:{tmp_path}/high")
    with pytest.raises(ResourceError, match="being delivered"):
        database.deliver("high", to=f"jsonl:{tmp_path}/high")
    assert database.deliver("high", to=f"jsonl:{tmp_path}/other") == 7
    way.close()
    with pytest.raises(ConfigurationError, match="is not a sink"):
        open_routes(database, [("high", f"jsonl:{tmp_path}/high"), ("high", "gopher://x/y")])
    assert database.deliver("high", to=f"jsonl:{tmp_path}/high") == 0
    append(field, 12, 14)
    with Deliveries(open_routes(database, [("high", f"jsonl:{tmp_path}/high")])) as deliveries:
        commit(database, field)
    assert deliveries.routes[0].progress.rows == 2
    assert [row["x"] for row in lines(tmp_path / "high")] == [*HIGH, 3.0, 3.25]


@pytest.mark.slow
@pytest.mark.parametrize("failpoint", ["after_fsync:2", "before_rename:2"])
def test_run_killed_on_the_way_to_a_sink(field: Path, tmp_path: Path, failpoint: str) -> None:
    command = [
        sys.executable,
        "-m",
        "nilometer.cli.main",
        "run",
        "--data",
        str(field),
        f"--to=high=jsonl:{tmp_path}/high",
    ]
    environment = os.environ | {"PYTHONPATH": str(Path(nilometer.__file__).parents[1])}
    killed = subprocess.run(
        command, env=environment | {"NILOMETER_FAILPOINT": f"{failpoint}@sink"}, check=False
    )
    assert killed.returncode == -9
    append(field, 12, 13)
    subprocess.run(command, env=environment, check=True)
    assert [row["x"] for row in lines(tmp_path / "high")] == [*HIGH, 3.0]
