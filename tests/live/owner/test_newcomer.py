"""A newcomer's session: `serve` in one terminal; in others ask, create, change, read in FROM, and drop. Nothing needs a
restart, and every command says what it did."""

from __future__ import annotations

import queue
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from live.owner.owners import SCHEMA, write
from nilometer.cli.main import application
from storm.lives import ENVIRONMENT, listen
from storm.publishers import PATIENCE

RUNNER = CliRunner()


class Terminal:
    """`nilometer serve` as its users start it, and what it prints."""

    def __init__(self, folder: Path) -> None:
        command = [sys.executable, "-m", "nilometer.cli.main", "serve", "--data", str(folder)]
        self.process = subprocess.Popen(command, env=ENVIRONMENT, stderr=subprocess.PIPE, text=True)
        self._lines: queue.Queue[str] = queue.Queue()
        self._ear = threading.Thread(target=listen, args=(self.process.stderr, self._lines.put), daemon=True)
        self._ear.start()

    def until(self, text: str) -> str:
        """The next line with that text."""
        while text not in (line := self._lines.get(timeout=PATIENCE)):
            pass
        return line

    def stop(self, how: signal.Signals = signal.SIGTERM) -> int:
        """As systemd would, or worse."""
        self.process.send_signal(how)
        code = self.process.wait(PATIENCE)
        self._ear.join(PATIENCE)
        assert self.process.stderr is not None
        self.process.stderr.close()
        return code


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "in").mkdir()
    (tmp_path / "schema.sql").write_text(SCHEMA.format(folder=tmp_path))
    write(tmp_path, 0, 12)
    return tmp_path


@pytest.fixture
def terminal(folder: Path) -> Iterator[Terminal]:
    found = Terminal(folder)
    yield found
    if found.process.returncode is None:
        found.stop(signal.SIGKILL)


def nilometer(folder: Path, verb: str, *arguments: str) -> Result:
    """A command in another terminal."""
    return RUNNER.invoke(application, [*verb.split(), "--data", str(folder), *arguments])


def told(folder: Path, verb: str, *arguments: str) -> str:
    found = nilometer(folder, verb, *arguments)
    assert found.exit_code == 0, (found.output, found.exception)
    return found.stderr


def rows(folder: Path, *arguments: str) -> list[list[str]]:
    found = nilometer(folder, "query", "--start", "beginning", *arguments)
    assert found.exit_code == 0, (found.output, found.exception)
    assert "run by process" in found.stderr
    return [line.split() for line in found.stdout.splitlines()[2:]]


def test_a_session(folder: Path, terminal: Terminal) -> None:
    terminal.until(f"serving {folder}")
    assert rows(folder, "--limit", "2", "SELECT id, x FROM air") == [["1", "1"], ["2", "2"]]
    create = "CREATE QUERY hot STARTING AT BEGINNING AS SELECT time, id, x FROM air WHERE x > 7"
    assert told(folder, "execute", create) == "hot begins\n"
    terminal.until("hot begins")
    assert [row[1:] for row in rows(folder, "--limit", "1", "SELECT * FROM hot")] == [["2", "8"]]
    changed = told(folder, "execute", "REPLACE QUERY hot AS SELECT time, id, x FROM air WHERE x > 6")
    assert "the new version goes on where the old one stood; it has no state" in changed
    windows = "SELECT id, COUNT(*) AS n FROM air [RANGE 4 MINUTES SLIDE 2 MINUTES] GROUP BY id"
    assert (
        told(folder, "execute", f"CREATE QUERY counts STARTING AT BEGINNING AS {windows}")
        == "counts begins\n"
    )
    kept = told(folder, "execute", f"REPLACE QUERY counts KEEP STATE AS {windows} HAVING COUNT(*) > 1")
    assert "it keeps its state" in kept
    wider = told(folder, "execute", f"REPLACE QUERY counts AS {windows.replace('4', '6')}")
    assert "its state is rebuilt from the logs, so its first window is complete" in wider
    empty = told(folder, "execute", f"REPLACE QUERY counts EMPTY STATE AS {windows}")
    assert "with an empty state" in empty
    write(folder, 12, 12)
    assert rows(folder, "--limit", "3", "SELECT id, x FROM hot")
    told(folder, "execute", "CREATE VIEW warm AS SELECT time, id, x FROM hot WHERE x > 7")
    assert told(folder, "execute", "CREATE QUERY seen AS SELECT time, id FROM warm") == "seen begins\n"
    listed = nilometer(folder, "queries").stdout
    assert len(re.findall(r"^(?:hot|counts|seen) +running", listed, re.MULTILINE)) == 3, listed
    assert re.search(r"^counts +standing +gateway", nilometer(folder, "top", "--once").stdout, re.MULTILINE)
    assert "AGGR_EVAL" in nilometer(folder, "queries analyze", "counts").stdout


def test_what_is_declared_is_changed_dropped_and_refused(folder: Path, terminal: Terminal) -> None:
    terminal.until(f"serving {folder}")
    told(folder, "execute", "CREATE QUERY hot AS SELECT time, id, x FROM air WHERE x > 7")
    told(folder, "execute", "CREATE QUERY seen AS SELECT time, id FROM hot")
    refused = nilometer(folder, "execute", "DROP QUERY hot")
    assert refused.exit_code != 0
    assert "'hot' is read by seen" in str(refused.exception)
    assert (
        told(folder, "execute", "DROP QUERY seen; DROP QUERY hot")
        == "query seen is dropped\nquery hot is dropped\n"
    )
    schema = (folder / "schema.sql").read_text()
    (folder / "schema.sql").write_text(f"{schema}CREATE QUERY cool AS SELECT time, x FROM air WHERE x < 3;\n")
    assert told(folder, "apply", "--dry-run") == "CREATE QUERY cool\n"
    assert told(folder, "apply") == "CREATE QUERY cool\ncool begins\n"
    assert told(folder, "apply").startswith("nothing to do")
    told(folder, "sql", "CREATE QUERY asked AS SELECT time, x FROM air WHERE x < 1")
    assert "--keep leaves them as they are" in str(getattr(nilometer(folder, "apply").exception, "hint", ""))
    assert told(folder, "apply", "--keep") == "KEEP QUERY asked\n"
    assert told(folder, "execute", "DROP QUERY asked") == "query asked is dropped\n"
    (folder / "schema.sql").write_text(f"{schema}CREATE QUERY other AS SELECT time, x FROM nix;\n")
    wrong = nilometer(folder, "apply", "--yes")  # refused as a whole: cool is still there
    assert "nix" in str(wrong.exception)
    told(folder, "execute", "CREATE SENSOR 7 OF air; DROP SENSOR 7 OF air")
    told(folder, "execute", f"CREATE STREAM wind (x FLOAT) PUSHED FROM 'directory://{folder}/in?follow=1'")
    assert rows(folder, "--limit", "1", "SELECT id FROM wind") == [["1"]]
    told(folder, "execute", "DROP STREAM wind; PAUSE QUERY cool")
    listed = nilometer(folder, "queries").stdout
    assert re.search(r"^cool +paused", listed, re.MULTILINE), listed
    second = nilometer(folder, "serve")
    assert re.search(r"is owned by process \d+ of \w+, `.*serve.*`, since 2", str(second.exception))
    assert terminal.stop() == 0
