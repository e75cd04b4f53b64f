"""The number of a query's next commit, where the commits before it are gone: `.nilometer/numbers/<name>`.

A commit number is never used twice under one name. When a query is dropped or begins again, the number after its
last commit is written here. Commits with a smaller number do not count any more, wherever they still stand.
"""

from __future__ import annotations

import os
from pathlib import Path

from nilometer.log.local_files import LocalFiles
from nilometer.log.resources import resources

NUMBERS = Path(".nilometer") / "numbers"


def first_number(directory: Path, name: str) -> int:
    """The number of the first commit of a query that has no commits."""
    if not os.path.exists(os.path.join(directory, NUMBERS, name.lower())):
        return 0
    try:
        return int(bytes(LocalFiles(directory / NUMBERS).read(name.lower())))
    except (FileNotFoundError, ValueError):
        return 0


def keep_number(directory: Path, name: str, number: int) -> None:
    """Give the next commit this number, although the commits before it are gone."""
    files = LocalFiles(directory / NUMBERS)
    with resources(files.place):
        files.replace(name.lower(), str(number).encode())
