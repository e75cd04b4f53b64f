"""Requests of any process to the process that runs a standing query:
`.nilometer/queries/<name>/control.json`.

The laws: the file is replaced atomically and durably. The process that runs the query carries the request out
(roster.py), or else the next process that runs it. A commit number is never used twice under one query name,
so a sink can tell by the numbers which commits it has (log/results/numbers.py).
"""

from __future__ import annotations

import json
import os
import re
import shutil
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from nilometer.errors import DataError
from nilometer.live.checkpoint_places import delete_checkpoint
from nilometer.live.starts import BEGINNING, NOW, Start
from nilometer.log.local_files import LocalFiles
from nilometer.log.private import make_directory
from nilometer.log.writer import resources

FILE = "control.json"
PLACE = Path(".nilometer") / "queries"
FLOORS = Path(".nilometer") / "floors"
"""For each query some of whose answers in the commit log were trimmed, the position of the first that is left."""
REPLACED = "replaced"
MADE_OF = ("state", "spark")
"""The folders of a query's state, which the logs can rebuild."""


@dataclass(frozen=True)
class Control:
    """`start` says where a query without answers begins, and overrides its declaration. `aside`: its answers
    are moved into the folder of that number; the move may still be incomplete.
    """

    paused: bool = False
    start: Start | None = None
    aside: int | None = None


def folder_of(directory: Path, name: str) -> Path:
    """The folder of a standing query."""
    return directory / PLACE / name.lower()


def has_folder(directory: Path, name: str) -> bool:
    """Whether anything was ever asked of the query, or written for it alone. Most queries have no folder."""
    return os.path.isdir(os.path.join(directory, PLACE, name.lower()))


def changed_at(directory: Path, name: str) -> tuple[int, int]:
    """Which request was made last, to see whether the file is worth reading; (0, 0): none. Two requests may have the
    same time, but not the same file: each one replaces it."""
    try:
        found = (folder_of(directory, name) / FILE).stat()
        return found.st_mtime_ns, found.st_ino
    except OSError:
        return 0, 0


def control_of(directory: Path, name: str) -> Control:
    """The current request to the query."""
    files = LocalFiles(folder_of(directory, name))
    try:
        return _control(json.loads(bytes(files.read(FILE))))
    except FileNotFoundError:
        return Control()
    except (ValueError, TypeError, KeyError):
        raise DataError(
            f"the request to query '{name}' cannot be read",
            detail=str(files.directory / FILE),
            hint="delete the file; then, if you still want to, pause or replay the query again",
        ) from None


def ask(directory: Path, name: str, control: Control) -> None:
    """Replace the request to the query."""
    files = LocalFiles(folder_of(directory, name))
    said = {"paused": control.paused, "start": control.start, "aside": control.aside}
    with resources(files.place):
        files.replace(FILE, json.dumps(said).encode())


def settle(directory: Path, name: str) -> None:
    """Move all answers of a query that is to begin again aside. An interrupted move is completed. The caller
    holds the query's lock.
    """
    control = control_of(directory, name)
    if control.aside is None:
        return
    folder = folder_of(directory, name)
    target = folder / REPLACED / str(control.aside)
    with resources(str(folder)):
        make_directory(target)
        for path in sorted(folder.iterdir()):
            if re.fullmatch(r"results(-\d+)?", path.name):
                path.rename(target / path.name)
        LocalFiles(target).replace("replaced.json", json.dumps({"query": name}).encode())
        delete_checkpoint(folder / "spark" / "installation.json")
        for part in MADE_OF:
            shutil.rmtree(folder / part, ignore_errors=True)
    ask(directory, name, replace(control, aside=None))


def next_aside(directory: Path, name: str) -> int:
    """The number of the next folder for answers that are moved aside."""
    place = folder_of(directory, name) / REPLACED
    found = [int(path.name) for path in place.iterdir() if path.name.isdigit()] if place.is_dir() else []
    return max(found, default=0) + 1


def floor_of(directory: Path, name: str) -> int:
    """The position of the first answer in the commit log that retention has left to the query."""
    try:
        return int(bytes(LocalFiles(directory / FLOORS).read(name.lower())))
    except (FileNotFoundError, ValueError):
        return 0


def keep_floor(directory: Path, name: str, position: int) -> None:
    """The query's answers before this position are gone from the commit log; 0: none are."""
    files = LocalFiles(directory / FLOORS)
    with resources(files.place):
        if position:
            files.replace(name.lower(), str(position).encode())
        else:
            files.delete(name.lower())


def _control(said: Any) -> Control:
    start = said.get("start")
    if start is not None and start not in (NOW, BEGINNING) and not isinstance(start, int):
        raise ValueError(start)
    return Control(bool(said["paused"]), start, said.get("aside"))
