"""Fixtures of the tests from outside. They run in older trees, too, so they need nothing of today's."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable

import pytest

from nilometer.cli import main as cli
from promises.outside import Run, Seen


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """The command line, in this process: its exit code, output and messages."""

    def call(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["nilometer", *arguments])
        monkeypatch.setattr(sys, "stdin", io.StringIO(""))
        code = 0
        try:
            cli.main()
        except SystemExit as ended:
            code = int(ended.code or 0)
        out, err = capsys.readouterr()
        return code, out, err

    return call


@pytest.fixture
def seen(record_property: Callable[[str, object], None]) -> Seen:
    """Notes a figure for the table of docs/reliability.md."""
    return lambda figure: record_property("seen", figure)
