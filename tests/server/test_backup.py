"""A data directory is copied while it is written to; the restored one is whole, goes on, and answers as a replay does."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from typer.testing import CliRunner

import nilometer
from nilometer.cli.main import application
from nilometer.errors import ConfigurationError, DataError
from nilometer.live.backup import MARK, back_up, read_mark, restore
from server.serving import AIR, Caller, minute, served

SCHEMA = (
    AIR
    + """CREATE QUERY everything STARTING AT BEGINNING AS SELECT time, id, pm25 FROM air;
CREATE QUERY hourly STARTING AT BEGINNING AS SELECT id, COUNT(*) AS n, SUM(pm25) AS s
  FROM air [RANGE 1 HOUR SLIDE 1 HOUR] GROUP BY id;
CREATE ALERT smoky WHEN (SELECT time, id, pm25 FROM air WHERE pm25 > 48) THEN 'mailto:nobody@example.org';
"""
)


def run(*words: str) -> str:
    found = CliRunner().invoke(application, list(words))
    assert found.exit_code == 0, (found.output, found.exception)
    return found.stdout


def test_backed_up_while_it_is_written_to(tmp_path: Path) -> None:
    source = tmp_path / "field"
    sent = 0
    with served(source, SCHEMA) as server:
        stop = threading.Event()

        def write() -> None:
            nonlocal sent
            caller = Caller(server.port)
            while not stop.is_set():
                caller.send("air", [minute(sent + n) for n in range(20)])
                sent += 20
            caller.close()

        writer = threading.Thread(target=write, daemon=True)
        writer.start()
        copies = []
        for number in range(3):
            copies.append(tmp_path / f"copy{number}")
            told = json.loads(run("backup", str(source), str(copies[-1]), "--json"))
            assert told["files"] > 5
        stop.set()
        writer.join(30)
    for number, copy in enumerate(copies):
        target = tmp_path / f"restored{number}"
        run("restore", str(copy), str(target))  # verifies all logs
        assert (target / ".nilometer").stat().st_mode & 0o777 == 0o700
    readings = nilometer.connect(target).sql("SELECT time, id, pm25 FROM air").run(on="reference").rows
    assert 0 < len(readings) <= sent
    # It goes on: the answers are those of a replay of all readings, old and new, none lost and none doubled.
    with served(target) as server:
        caller = Caller(server.port)
        caller.send("air", [minute(sent + 600), minute(sent + 601)])
        for _ in range(2_000):
            found = caller.get("/api/v1/queries/everything")["rows"]
            if found >= len(readings) + 2:
                break
            caller.get("/readyz")
        caller.close()
    database = nilometer.connect(target)
    answers = [tuple(row.values()) for row in database.answers("everything")]
    whole = database.sql("SELECT time, id, pm25 FROM air").run(on="reference")
    assert answers == [tuple(row.values()) for row in whole]
    kept = [tuple(row.values()) for row in database.answers("hourly")]
    text = database.catalog.query("hourly").text  # type: ignore[union-attr]
    wanted = [tuple(row.values()) for row in database.sql(text).run(on="reference")]
    assert kept == wanted[: len(kept)]
    assert kept


def test_the_data_directory_is_named_as_for_other_verbs_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    field, elsewhere = tmp_path / "field", str(tmp_path / "elsewhere")
    field.mkdir()
    (field / "schema.sql").write_text(AIR)
    for number, words in enumerate(([str(field)], ["--data", str(field)], [])):
        monkeypatch.setenv("NILOMETER_DATA", elsewhere if words else str(field))
        copy, back = str(tmp_path / f"copy{number}"), tmp_path / f"back{number}"
        run("backup", *words, copy)
        run("restore", copy, *(["--data"] if number == 1 else []), str(back))
        assert (back / "schema.sql").read_text() == AIR
    monkeypatch.delenv("NILOMETER_DATA")
    for wrong in (["x"], ["x", "y", "z"], ["x", "y", "--data", "z"]):
        refused = CliRunner().invoke(application, ["backup", *wrong])
        assert refused.exit_code != 0
        assert isinstance(refused.exception, ConfigurationError), refused.output


def test_a_backup_that_was_killed_is_not_restored(tmp_path: Path) -> None:
    source, copy = tmp_path / "field", tmp_path / "copy"
    with served(source, SCHEMA) as server:
        caller = Caller(server.port)
        caller.send("air", [minute(n) for n in range(10)])
        caller.close()
    done = subprocess.run(
        [sys.executable, "-m", "nilometer.cli.main", "backup", str(source), str(copy)],
        env=os.environ | {"NILOMETER_FAILPOINT": "before_file:9@backup"},
        check=False,
        capture_output=True,
    )
    assert done.returncode == -9
    assert any(copy.rglob("*"))
    with pytest.raises(DataError, match="no complete backup"):
        restore(copy, tmp_path / "restored")
    assert not (tmp_path / "restored").exists()
    with pytest.raises(ConfigurationError, match="is not empty"):
        back_up(source, copy, lambda call: call())


def test_damage_in_a_backup_is_noticed(tmp_path: Path) -> None:
    source, copy = tmp_path / "field", tmp_path / "copy"
    (source / "sub").mkdir(parents=True)
    (source / "schema.sql").write_text(AIR)
    (source / "sub" / "x.csv").write_text("time,id\n")
    back_up(source, copy, lambda call: call())
    assert read_mark(copy)["files"].keys() == {"schema.sql", "sub/x.csv"}
    assert restore(copy, tmp_path / "one") == 2
    assert (tmp_path / "one" / "sub" / "x.csv").read_text() == "time,id\n"
    (copy / "sub" / "x.csv").write_text("time,ix\n")
    with pytest.raises(DataError, match=r"'sub/x\.csv' is not as it was backed up"):
        restore(copy, tmp_path / "two")
    mark = json.loads((copy / MARK).read_text())
    mark["files"]["../evil"] = [0, ""]
    (copy / MARK).write_text(json.dumps(mark))
    with pytest.raises(DataError, match="outside"):
        restore(copy, tmp_path / "three")
    with pytest.raises(ConfigurationError, match="not empty"):
        restore(copy, source)
    with pytest.raises(ConfigurationError, match="inside"):
        back_up(source, source / "copy", lambda call: call())


def test_what_changes_between_the_phases_is_copied_again(tmp_path: Path) -> None:
    source, copy = tmp_path / "field", tmp_path / "copy"
    source.mkdir()
    for name, text in (("grows", "a"), ("cut", "long text"), ("replaced", "old"), ("goes", "x")):
        (source / name).write_text(text)

    def still(call: object) -> None:
        with open(source / "grows", "a") as file:
            file.write("b" * 100_000)
        (source / "cut").write_text("short, then longer than before")
        (source / "new").write_text("n")
        (source / "aside").write_text("new")
        os.replace(source / "aside", source / "replaced")
        (source / "goes").unlink()
        call()  # type: ignore[operator]

    back_up(source, copy, still)
    restore(copy, tmp_path / "restored")
    for name in ("grows", "cut", "replaced", "new"):
        assert (tmp_path / "restored" / name).read_text() == (source / name).read_text()
    assert not (tmp_path / "restored" / "goes").exists()
