"""The durable log of an alert, `.nilometer/alerts/<name>/`: its decisions, the attempts to deliver them, and what people
said about it.

Each file begins with the whole state, so that only the last one is read at a start. Older files are kept for those who
want to know what was sent, up to KEPT of them.

    {"do": "state", ...}        the state at the beginning of the file
    {"do": "decided", ...}      answers up to `position` were judged; `deliveries` are to be sent
    {"do": "attempt", ...}      a delivery was tried
    {"do": "silence" | "acknowledge" | "test", ...}   a person's word
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from nilometer.log import failpoints
from nilometer.log.json_lines import JsonLog, read_records
from nilometer.log.private import make_directory

PLACE = Path(".nilometer") / "alerts"
FILE_BYTES = 4 << 20
KEPT = 16
_FILE = re.compile(r"(\d{8})\.log")


def folder_of_alert(directory: Path, name: str) -> Path:
    """Where an alert's log is."""
    return directory / PLACE / name.lower()


def files_of(folder: Path) -> list[Path]:
    """The files of the log, oldest first."""
    found = folder.iterdir() if folder.is_dir() else ()
    return sorted(path for path in found if _FILE.fullmatch(path.name))


class AlertLog:
    """For the one process that runs the alert. `state` is what `restore` has made of the records."""

    def __init__(self, directory: Path, name: str) -> None:
        self._folder = folder_of_alert(directory, name)
        self._failpoint = failpoints.from_environment("alerts")
        make_directory(self._folder)
        found = files_of(self._folder)
        self._number = int(found[-1].name[:8]) if found else 0
        self._log = self._open()
        self.records = self._log.records

    def _open(self) -> JsonLog:
        return JsonLog(self._folder, f"{self._number:08}.log", self._failpoint)

    def append(self, record: dict[str, Any]) -> None:
        """Make a record durable."""
        self._log.append({"at": time.time_ns() // 1_000} | record)

    @property
    def full(self) -> bool:
        """Whether the next file should begin."""
        return self._log.size >= FILE_BYTES

    def begin_file(self, state: dict[str, Any]) -> None:
        """Begin the next file with the whole state, and delete the oldest."""
        self._number += 1
        self._log = self._open()
        self._log.begin({"do": "state", "at": time.time_ns() // 1_000} | state)
        for path in files_of(self._folder)[:-KEPT]:
            path.unlink(missing_ok=True)


def history(directory: Path, name: str) -> Iterator[dict[str, Any]]:
    """All records that are kept, newest first; for any process."""
    for path in reversed(files_of(folder_of_alert(directory, name))):
        yield from reversed(read_records(path))


def last_file(directory: Path, name: str) -> list[dict[str, Any]]:
    """The records of the newest file; for any process."""
    found = files_of(folder_of_alert(directory, name))
    return read_records(found[-1]) if found else []
