"""What the README says of examples/ can be run as it stands there."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner

from docs.test_documents import ROOT, blocks
from nilometer.cli.main import application


def commands() -> list[list[str]]:
    """Those of the README over examples/, but for what needs a mote at hand."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    scripts = [block.replace("\\\n", " ") for block in blocks(readme, "sh")]
    lines = [line for script in scripts for line in script.splitlines() if "examples/" in line]
    found = [shlex.split(line, comments=True)[1:] for line in lines]
    return [arguments for arguments in found if "/dev/ttyUSB0" not in arguments]


@pytest.mark.parametrize(
    "arguments",
    [
        pytest.param(
            words, id=words[0], marks=[pytest.mark.motes, pytest.mark.slow] if words[0] == "compile" else []
        )
        for words in commands()
    ],
)
def test_a_command(arguments: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # what it writes is not ours to keep
    data = arguments.index("--data") + 1
    arguments = [*arguments[:data], str(ROOT / arguments[data]), *arguments[data + 1 :]]
    done = CliRunner().invoke(application, arguments)
    assert done.exit_code == 0, done.output
    assert done.stdout.strip()


def test_there_are_some() -> None:
    assert [words[0] for words in commands()] == ["plan", "simulate", "compile", "simulate"]
