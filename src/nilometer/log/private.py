"""Keeps `.nilometer` to its owner: directories 0700, files 0600. It holds readings, answers and the identity."""

from __future__ import annotations

import os
import stat
from pathlib import Path

NAME = ".nilometer"


def is_private(path: Path) -> bool:
    """Whether the path is in a `.nilometer`."""
    return NAME in path.parts


def file_mode(path: Path) -> int:
    """The mode of a new file.

    >>> oct(file_mode(Path("field/.nilometer/identity"))), oct(file_mode(Path("out/high.jsonl")))
    ('0o600', '0o644')
    """
    return 0o600 if is_private(path) else 0o644


def make_directory(path: Path) -> None:
    """Create a directory with its parents; those in a `.nilometer` are private from the first moment."""
    if not is_private(path):
        path.mkdir(parents=True, exist_ok=True)
        return
    for folder in (*reversed(path.parents), path):
        if not folder.is_dir():
            folder.mkdir(mode=0o700 if is_private(folder) else 0o777, exist_ok=True)


def close_to_others(directory: Path) -> str | None:
    """Take the rights of other users at an existing `.nilometer` away. Returns what was done, for people."""
    place = directory / NAME
    try:
        found = place.stat()
        if not found.st_mode & 0o077:
            return None
        if found.st_uid != os.geteuid():
            return (
                f"{place} is open to other users, and belongs to one: its owner can close it with chmod 700"
            )
        place.chmod(stat.S_IMODE(found.st_mode) & 0o700)
    except FileNotFoundError:
        return None
    except OSError as error:
        return f"{place} is open to other users, and stays so: {error.strerror}"
    return f"{place} was open to other users; it is now closed (0700)"
