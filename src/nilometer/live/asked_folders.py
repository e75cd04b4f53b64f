"""Folders for the files of a question that is only asked: `.nilometer/asked-*`, gone when the question ends.

The law: a folder belongs to the process that holds its lock. The kernel lets go of the lock when that process dies,
however it dies, so the next owner of the directory knows which folders nobody needs, and deletes them.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import tempfile
from pathlib import Path

PREFIX = "asked-"


class AskedFolder:
    """A folder of its own within `place`, until `cleanup`."""

    def __init__(self, place: Path) -> None:
        while True:
            self.path = Path(tempfile.mkdtemp(prefix=PREFIX, dir=place))
            # An owner that began between these two lines has taken it for one that was left behind.
            with contextlib.suppress(OSError):
                self._lock = os.open(self.path, os.O_RDONLY | os.O_CLOEXEC)
                fcntl.flock(self._lock, fcntl.LOCK_EX)
                if self.path.exists():
                    return
                os.close(self._lock)

    def cleanup(self) -> None:
        """Delete it."""
        if self._lock >= 0:
            shutil.rmtree(self.path, ignore_errors=True)
            os.close(self._lock)
            self._lock = -1

    def __enter__(self) -> Path:
        return self.path

    def __exit__(self, *_: object) -> None:
        self.cleanup()


def clear_asked_folders(place: Path) -> int:
    """Delete those whose processes have died. Returns how many there were."""
    cleared = 0
    for path in place.glob(f"{PREFIX}*"):
        with contextlib.suppress(OSError):
            lock = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_DIRECTORY | os.O_CLOEXEC)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(path, ignore_errors=True)
                cleared += 1
            finally:
                os.close(lock)
    return cleared
