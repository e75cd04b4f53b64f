"""Old answers are deleted, by age and by size: never what a sink has not got or the query needs, unless it is said and counted."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest
from typer.testing import CliRunner

from nilometer.cli.main import application
from nilometer.engine import Database, connect
from nilometer.live.answer_retention import OWN, trim_answers
from nilometer.live.delivery import deliver, open_routes
from nilometer.live.kept_answers import kept_answers
from nilometer.live.shared_retention import size_in
from nilometer.live.standing import result_files, result_log
from nilometer.live.starts import BEGINNING
from nilometer.live.station import Station
from nilometer.log.results.result_log import Commit
from nilometer.log.results.shared_results import SharedResults
from nilometer.log.segment import segment_ids
from nilometer.types import DAY, MINUTE

START = 1_767_225_600_000_000
LATER = START + 10_000 * DAY
SQL = "SELECT id, x, LAG(x) AS before FROM air"


@pytest.fixture(autouse=True)
def _small_segments(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nilometer.live.standing.SEGMENT_BYTES", 2_000)
    monkeypatch.setattr("nilometer.log.results.shared_log.SEGMENT_BYTES", 2_000)


def field(folder: Path, sql: str = SQL) -> Database:
    (folder / "in").mkdir(exist_ok=True)
    (folder / "schema.sql").write_text(
        f"CREATE STREAM air (x INT) PUSHED FROM 'directory://{folder}/in?batch=1' KEY (id, time);"
        f"CREATE QUERY q STARTING AT BEGINNING AS {sql};"
    )
    return connect(folder)


def run(database: Database, folder: Path, files: int, first: int = 0) -> None:
    """A commit for about every file."""
    for number in range(first, first + files):
        rows = [f"{START + number * MINUTE},{sensor},{number}" for sensor in (1, 2)]
        (folder / "in" / f"{number:04d}.csv").write_text("\n".join(["time,id,x", *rows]) + "\n")
    with Station(database, folder) as station:
        station.install(database.query("q"), "q", durable=True, start=BEGINNING)
        station.run(lambda: False)


def rows_of(database: Database) -> list[tuple[object, ...]]:
    return [row for answer in kept_answers(database, "q") for row in answer.rows]


def test_old_answers_go_and_the_query_goes_on(tmp_path: Path) -> None:
    database = field(tmp_path)
    run(database, tmp_path, 8)
    before = rows_of(database)
    assert len(before) == 14
    assert trim_answers(database, "q", before=START).segments == 0, "none is so old"
    done = trim_answers(database, "q", before=LATER)
    assert done.segments > 1
    assert done.rows > 2
    assert rows_of(database) == before[done.rows :]
    found = kept_answers(database, "q")
    assert (found.trimmed, found.end) == (done.rows, 14)
    run(database, tmp_path, 3, first=8)
    assert rows_of(database)[: len(before) - done.rows] == before[done.rows :]
    assert kept_answers(database, "q").end == 20
    # Without its checkpoint it reads again from where it began, of which the trimmed log says nothing but in its notes.
    shutil.rmtree(tmp_path / ".nilometer" / "state")
    trim_answers(database, "q", before=LATER)
    run(database, tmp_path, 1, first=11)
    assert [row for row in rows_of(database) if row[1] == 11] == []
    run(database, tmp_path, 1, first=12)
    assert sorted(row for row in rows_of(database) if row[1] == 11) == [(1, 11, 10), (2, 11, 10)]


def test_by_size(tmp_path: Path) -> None:
    database = field(tmp_path)
    run(database, tmp_path, 8)
    (log,) = result_files(tmp_path, "q")
    assert isinstance(log, SharedResults)
    files = log.files
    sizes = [files.size(segment.name) for segment in segment_ids(files)]
    assert trim_answers(database, "q", keep=sum(sizes)).segments == 0
    done = trim_answers(database, "q", keep=size_in(log) - 1)
    assert done.segments == 1
    assert done.size in sizes
    trim_answers(database, "q", keep=0)
    assert len(segment_ids(files)) < len(sizes), "those stay that say where the query is"


def test_what_a_sink_has_not_got_stays_unless_forced(tmp_path: Path) -> None:
    database = field(tmp_path)
    run(database, tmp_path, 3)
    target = tmp_path / "out.jsonl"
    deliver(database, "q", f"jsonl:{target}")
    run(database, tmp_path, 6, first=3)
    done = trim_answers(database, "q", before=LATER)
    assert str(done.held_by).startswith("sink-jsonl-")
    assert deliver(database, "q", f"jsonl:{target}").trimmed == 0
    assert [json.loads(line)["x"] for line in target.read_text().splitlines()] == [
        row[1] for row in _all(tmp_path, done.rows, database)
    ]
    run(database, tmp_path, 4, first=9)
    forced = trim_answers(database, "q", before=LATER, force=True)
    assert forced.rows > 0
    (way,) = open_routes(database, [("q", f"jsonl:{target}")])
    way.delivery.step(all_of_it=True)
    lost = way.progress.trimmed
    way.close()
    assert lost > 0
    assert len(target.read_text().splitlines()) + lost == kept_answers(database, "q").end


def _all(folder: Path, trimmed: int, database: Database) -> list[tuple[object, ...]]:
    """Also those that were trimmed: each reading but the last of each sensor, in order."""
    kept = rows_of(database)
    first = [(1 + at % 2, at // 2, None) for at in range(trimmed)]
    assert result_log(folder, "q").rows == trimmed + len(kept)
    return [*first, *kept]


def test_a_sink_that_has_not_come_to_the_next_log_is_waited_for(tmp_path: Path) -> None:
    database = field(tmp_path)
    run(database, tmp_path, 2)
    deliver(database, "q", f"jsonl:{tmp_path}/out.jsonl")
    # Another type: another log, of which the sink has nothing.
    database = field(tmp_path, SQL.replace("SELECT id, x", "SELECT id, x * 1.5 AS x"))
    run(database, tmp_path, 8, first=2)
    assert len(result_files(tmp_path, "q")) == 2
    done = trim_answers(database, "q", before=LATER)
    assert str(done.held_by).startswith("sink-jsonl-")
    deliver(database, "q", f"jsonl:{tmp_path}/out.jsonl")
    done = trim_answers(database, "q", before=LATER)
    assert done.held_by is None
    assert done.rows > 0


def test_commits_of_an_older_program_are_needed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    database = field(tmp_path)
    note = Commit.note
    with monkeypatch.context() as patch:
        patch.setattr(Commit, "note", lambda self: {k: v for k, v in note(self).items() if k != "began"})
        patch.setattr("nilometer.live.station.keeps_own_log", lambda _: True)
        run(database, tmp_path, 6)
    done = trim_answers(database, "q", before=LATER, force=True)
    assert (done.segments, done.held_by) == (0, OWN)


def test_the_command(tmp_path: Path) -> None:
    database = field(tmp_path)
    run(database, tmp_path, 6)
    runner = CliRunner()

    def ask(*options: str) -> tuple[int, str, str]:
        done = runner.invoke(application, ["queries", "trim", "q", "--data", str(tmp_path), *options])
        return done.exit_code, done.stdout, done.stderr or str(done.exception)

    code, _, said = ask()
    assert code != 0
    assert "nothing says which answers" in said
    code, _, said = ask("--keep", "much")
    assert code != 0
    assert "no size" in said
    (log,) = result_files(tmp_path, "q")
    assert isinstance(log, SharedResults)
    for segment in segment_ids(log.files):
        os.utime(log.files.directory / segment.name, (1, 1))
    code, printed, _ = ask("--older-than", "7d", "--json")
    assert code == 0
    assert json.loads(printed)["rows"] == kept_answers(database, "q").trimmed > 0
    done = runner.invoke(application, ["answers", "q", "--data", str(tmp_path)])
    assert "older rows were trimmed" in done.stderr
