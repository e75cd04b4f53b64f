"""The shell: statements over several lines, commands, errors that do not end it, and a real terminal."""

from __future__ import annotations

import io
import os
import pty
import re
import select
import subprocess
import sys
from pathlib import Path

import pytest

from nilometer.cli import main as cli

SCHEMA = "CREATE STREAM river (depth INT UNIT 'cm') SENSED EVERY 15 MINUTES;\n"
READINGS = (
    "time,id,depth\n2026-03-01T06:00:00Z,5,112\n2026-03-01T06:00:00Z,7,98\n2026-03-01T06:15:00Z,5,131\n"
)


@pytest.fixture
def field(tmp_path: Path) -> str:
    (tmp_path / "schema.sql").write_text(SCHEMA)
    (tmp_path / "river.csv").write_text(READINGS)
    return str(tmp_path)


@pytest.fixture
def shell(field: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    def call(text: str, *arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["nilometer", "sql", "--data", field, *arguments])
        monkeypatch.setattr(sys, "stdin", io.StringIO(text))
        with pytest.raises(SystemExit) as ended:
            cli.main()
        out, err = capsys.readouterr()
        return int(ended.value.code or 0), out, err

    return call


def test_a_statement_may_take_several_lines(shell) -> None:
    code, out, _ = shell("SELECT id, depth -- the deep; ones\nFROM river\nWHERE depth > 100\n;\n")
    assert code == 0
    assert out.splitlines() == ["id  depth", "--  -----", "5   112", "5   131"]


def test_an_error_does_not_end_the_session(shell) -> None:
    code, out, err = shell("SELECT deep FROM river;\nSELECT MAX(depth) AS m FROM river [NOW];\n")
    assert code == 1
    assert "deep" in err
    assert "131" in out


def test_declarations_hold_for_the_session(shell) -> None:
    code, out, err = shell("CREATE STREAM lake (level FLOAT) PUSHED;\n\\d\n\\d lake\n")
    assert code == 0
    assert "stream lake is there" in err
    assert "lake   pushed" in out
    assert "level   FLOAT" in out


def test_commands_set_the_host_the_limit_and_the_timing(shell) -> None:
    text = "\\on reference\n\\limit 1\n\\timing\nSELECT id FROM river;\n\\limit none\n\\on moon\n\\d sea\n\\nothing\n"
    code, out, err = shell(text)
    assert code == 1
    assert out.splitlines() == ["id", "--", "5"]
    assert "queries run on reference" in err
    assert "3 rows, 1 shown" in err
    assert "timing is on" in err
    assert "'none' is no number of rows" in err
    assert "'moon'" in err
    assert "no stream or table 'sea'" in err
    assert "no command \\nothing" in err


def test_a_file_of_statements_is_run(shell, tmp_path: Path) -> None:
    script = tmp_path / "look.sql"
    script.write_text("SHOW STREAMS; SELECT id FROM river WHERE depth < 100;")
    code, out, _ = shell(f"\\i {script}\n\\q\nSELECT nothing;\n")
    assert code == 0
    assert out.splitlines()[-1] == "7"


def test_a_list_of_nothing_says_so(shell) -> None:
    code, out, err = shell("SHOW TABLES;\n")
    assert (code, out) == (0, "")
    assert "nothing to show; SHOW STREAMS lists the streams" in err


def test_what_is_not_ended_is_not_run(shell) -> None:
    code, out, err = shell("SELECT id FROM river\n")
    assert (code, out) == (1, "")
    assert "no ';'" in err


def test_one_command_runs_and_exits(shell) -> None:
    code, out, _ = shell("", "--command", "SELECT id, depth FROM river WHERE depth = 98", "--json")
    assert (code, out) == (0, '{"id": 7, "depth": 98}\n')


def test_at_a_terminal_tab_completes_and_the_history_is_kept(field: str, tmp_path: Path) -> None:
    history = tmp_path / "history"
    leader, follower = pty.openpty()
    environment = os.environ | {"NILOMETER_HISTORY": str(history), "TERM": "dumb", "NILOMETER_COMMAND": ""}
    command = [sys.executable, "-m", "nilometer.cli.main", "sql", "--data", field]
    process = subprocess.Popen(command, stdin=follower, stdout=follower, stderr=follower, env=environment)
    os.close(follower)
    try:
        _read_until(leader, "nilometer> ")
        os.write(leader, b"SELECT dep\t FROM riv\t WHERE depth = 98;\n")
        # Ctrl-D means the end only at a prompt.
        shown = _read_until(leader, "1 row", "nilometer> ")
        assert "SELECT depth" in shown
        assert "98" in shown
        os.write(leader, b"\x04")
        assert process.wait(60) == 0
    finally:
        process.kill()
        process.wait()
        os.close(leader)
    assert "FROM river" in history.read_text()


def _read_until(terminal: int, *texts: str) -> str:
    """What the terminal shows until these texts have come, one after the other."""
    shown = ""
    wanted = re.compile(".*".join(map(re.escape, texts)), re.DOTALL)
    while not wanted.search(shown):
        ready, _, _ = select.select([terminal], [], [], 120)
        assert ready, f"nothing more came after {shown!r}"
        shown += os.read(terminal, 4096).decode()
    return shown
