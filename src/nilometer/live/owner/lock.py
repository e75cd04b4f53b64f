"""The lock of the one process that owns a data directory: `.nilometer/owner.lock`.

The lock is a flock, which the kernel releases when its process dies, however it dies. The file says who holds
it: for people, and for clients that look for the owner's socket beside it.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import pwd
import re
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path

from nilometer.log.private import make_directory
from nilometer.log.writer import BusyError, resources
from nilometer.types import format_time

FILE = Path(".nilometer") / "owner.lock"
LONGEST = 4_096
ATTEMPTS, LOOK = 5, 0.02
"""A process that only looks whether there is an owner holds the lock for less than this many seconds."""
NEXT_OWNER = 5.0
"""Seconds that a command which gave way waits for the new owner, before it becomes the owner again."""
COMMAND = 200
"""The number of characters of a command line that are kept."""


@dataclass(frozen=True)
class Holder:
    """Who owns the directory. `embedded`: a command that owns it only as long as it takes, and gives way to
    `serve`. `since` is in microseconds."""

    pid: int
    user: str
    command: str
    since: int
    embedded: bool

    def __str__(self) -> str:
        return f"process {self.pid} of {self.user}, `{self.command}`, since {format_time(self.since)}"


class OwnerLock:
    """Held from construction to `release`. Raises BusyError, which names the holder."""

    def __init__(self, directory: Path, *, embedded: bool = False) -> None:
        place = directory / FILE
        with resources(str(place)):
            make_directory(place.parent)
            self._file = os.open(place, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        if not self._taken():
            os.close(self._file)
            self._file = -1
            holder = holder_of(directory)
            raise BusyError(
                f"'{directory}' is owned by {holder or 'another process'}",
                detail="one process at a time runs the streams and queries of a directory",
                hint="ask that one: query, sql, answers and the other commands find it by themselves",
            )
        self.holder = Holder(os.getpid(), _user(), _command(), time.time_ns() // 1_000, embedded)
        # For people only: a disk too full to hold it must not keep the directory from being opened.
        with contextlib.suppress(OSError):
            os.ftruncate(self._file, 0)
            os.pwrite(self._file, json.dumps(asdict(self.holder)).encode(), 0)

    def _taken(self) -> bool:
        for attempt in range(ATTEMPTS):
            try:
                fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                if attempt + 1 < ATTEMPTS:
                    time.sleep(LOOK)
            else:
                return True
        return False

    def release(self) -> None:
        """Let another process own the directory."""
        if self._file >= 0:
            with contextlib.suppress(OSError):
                os.ftruncate(self._file, 0)
            os.close(self._file)
            self._file = -1


def holder_of(directory: Path) -> Holder | None:
    """The owner of the directory now; None if there is none, or if it has not said yet who it is."""
    try:
        handle = os.open(directory / FILE, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        if not _is_held(handle):
            return None
        return Holder(**json.loads(os.pread(handle, LONGEST, 0)))
    except (ValueError, TypeError):
        return None
    finally:
        os.close(handle)


def is_owned(directory: Path) -> bool:
    """Whether a process owns the directory now."""
    try:
        handle = os.open(directory / FILE, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        return _is_held(handle)
    finally:
        os.close(handle)


def await_owner(directory: Path) -> None:
    """Wait a moment for the process that this one gave way to."""
    until = time.monotonic() + NEXT_OWNER
    while not is_owned(directory) and time.monotonic() < until:
        time.sleep(LOOK)


def _is_held(handle: int) -> bool:
    """Asking takes the lock for a moment, shared with others who ask; who wants it tries again."""
    try:
        fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return True
    fcntl.flock(handle, fcntl.LOCK_UN)
    return False


def _user() -> str:
    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        return str(os.getuid())


def _command() -> str:
    name = os.environ.get("NILOMETER_COMMAND") or Path(sys.argv[0] or "python").name
    text = re.sub(r"(://[^:/@\s]*):[^@/\s]*@", r"\1:***@", " ".join([name, *sys.argv[1:]]))
    return text if len(text) <= COMMAND else text[: COMMAND - 3] + "..."
