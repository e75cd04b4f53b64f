"""The folder of a Java for its temporary files, which nobody deletes if it is killed: the next start does.

Java unpacks libraries there, and Spark keeps blocks and sockets. A folder belongs to the process that holds the lock of the
file in it.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import secrets
import shutil
import stat
from collections.abc import Iterator
from pathlib import Path

BASE = Path("/tmp")
"""As Java itself has it, whatever TMPDIR says: the path of a socket in it must not be longer than 104 bytes."""
LOCK = "lock"
_HELD: dict[Path, int] = {}
"""The folders of this process, with the open lock files."""


def scratch_folder() -> Path | None:
    """A new, private folder. Those of this process that were made before, and those of processes that have ended, are
    deleted. None: there can be none, and Java uses its own."""
    root = BASE / f"nilometer-spark-{os.getuid()}"
    try:
        root.mkdir(mode=0o700, exist_ok=True)
        found = root.lstat()
        if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid() or found.st_mode & 0o077:
            return None  # somebody else made it
        with _locked(root / LOCK):  # no other process looks while the folder has no lock yet
            for folder in list(_HELD):
                os.close(_HELD.pop(folder))
            for folder in root.iterdir():
                if folder.is_dir() and not _is_held(folder):
                    shutil.rmtree(folder, ignore_errors=True)
            folder = root / secrets.token_hex(4)
            folder.mkdir(mode=0o700)
            _HELD[folder] = _open(folder / LOCK)
            fcntl.flock(_HELD[folder], fcntl.LOCK_EX)
    except OSError:
        return None
    return folder


@contextlib.contextmanager
def _locked(path: Path) -> Iterator[None]:
    lock = _open(path)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
    finally:
        os.close(lock)


def _is_held(folder: Path) -> bool:
    lock = _open(folder / LOCK)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(lock)
    return False


def _open(path: Path) -> int:
    return os.open(path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
