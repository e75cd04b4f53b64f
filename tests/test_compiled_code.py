"""Numba always finds a directory for what it compiles, and it is this user's alone."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from nilometer.compiled_code import PLACE, keep_compiled_code


@pytest.fixture
def locked(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A package and a home that cannot be written; root may write everywhere, so the answer is made."""
    monkeypatch.setattr("nilometer.compiled_code._writable", lambda place: place == tmp_path)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    return tmp_path


def test_a_place_that_can_be_written_is_left_to_numba(tmp_path: Path) -> None:
    environment: dict[str, str] = {"XDG_CACHE_HOME": str(tmp_path)}
    keep_compiled_code(environment, tmp_path / "not" / "there")
    assert PLACE not in environment


def test_what_the_user_says_counts(locked: Path) -> None:
    environment = {PLACE: "/srv/code"}
    keep_compiled_code(environment, locked / "package")
    assert environment == {PLACE: "/srv/code"}


def test_without_a_place_there_is_one_of_the_user_s_own(locked: Path) -> None:
    first: dict[str, str] = {}
    second: dict[str, str] = {}
    keep_compiled_code(first, locked / "package")
    keep_compiled_code(second, locked / "package")
    assert first == second == {PLACE: str(locked / f"nilometer-numba-{os.getuid()}")}
    assert Path(first[PLACE]).stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize("trap", ["open", "link"])
def test_a_directory_that_others_could_fill_is_not_used(locked: Path, trap: str) -> None:
    known = locked / f"nilometer-numba-{os.getuid()}"
    if trap == "open":
        known.mkdir()
        known.chmod(0o777)
    else:
        (locked / "theirs").mkdir()
        known.symlink_to(locked / "theirs")
    environment: dict[str, str] = {}
    keep_compiled_code(environment, locked / "package")
    made = Path(environment[PLACE])
    assert made not in (known, locked / "theirs")
    assert made.stat().st_mode & 0o777 == 0o700
