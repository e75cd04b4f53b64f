"""The temporary files of a Java that was killed are deleted by the next start, those of one that runs are not."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from nilometer.spark import scratch

HOLDER = """
import sys
from pathlib import Path
from nilometer.spark import scratch
scratch.BASE = Path(sys.argv[1])
print(scratch.scratch_folder(), flush=True)
sys.stdin.read()
"""


@pytest.fixture(autouse=True)
def base(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(scratch, "BASE", tmp_path)
    monkeypatch.setattr(scratch, "_HELD", {})
    return tmp_path


def made() -> Path:
    folder = scratch.scratch_folder()
    assert folder is not None
    return folder


def test_a_process_keeps_one_folder() -> None:
    first = made()
    (first / "library.so").write_bytes(b"x")
    second = made()
    assert second.is_dir()
    assert not first.exists()
    assert second.stat().st_mode & 0o077 == 0


def test_only_folders_of_dead_processes_go(base: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(base)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as other:
        assert other.stdout is not None
        theirs = Path(other.stdout.readline().strip())
        made()
        assert theirs.is_dir()
        other.kill()
    made()
    assert not theirs.exists()


def test_a_folder_that_others_can_enter_is_not_used(base: Path) -> None:
    made().parent.chmod(0o755)
    assert scratch.scratch_folder() is None
