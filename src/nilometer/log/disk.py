"""The system calls by which `LocalFiles` changes a directory, so that a simulation can put a faulty disk under it.

`disk_of` gives the disk of a directory: the operating system's, unless another one is mounted there or above.
Only a simulation (laboratory/storm) mounts one. The laws of a disk are POSIX's: written bytes are durable
after fsync of the file, names after fsync of the directory.

>>> disk_of(Path("anywhere")) is SYSTEM
True
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Protocol


class Disk(Protocol):
    """Errors are OSErrors."""

    def open(self, path: Path, flags: int, mode: int = 0o644) -> int:
        """A file descriptor."""

    def close(self, file: int) -> None:
        """Close a file."""

    def write(self, file: int, data: bytes | memoryview, offset: int) -> int:
        """Write at an offset. Returns how many bytes were written."""

    def sync(self, file: int) -> None:
        """Make the file's bytes durable."""

    def truncate(self, file: int, size: int) -> None:
        """Cut the file, or make it longer."""

    def rename(self, path: Path, target: Path) -> None:
        """Rename a file; one of the target's name is replaced."""

    def unlink(self, path: Path) -> None:
        """Delete a file; no error if there is none."""

    def sync_directory(self, directory: Path) -> None:
        """Make the names in a directory durable."""

    def reading(self, path: Path) -> None:
        """Called before a file is read."""


class SystemDisk:
    """The operating system's calls."""

    def open(self, path: Path, flags: int, mode: int = 0o644) -> int:
        """A file descriptor, which no child process gets."""
        return os.open(path, flags | os.O_CLOEXEC, mode)

    def close(self, file: int) -> None:
        """Close a file."""
        os.close(file)

    def write(self, file: int, data: bytes | memoryview, offset: int) -> int:
        """Call pwrite."""
        return os.pwrite(file, data, offset)

    def sync(self, file: int) -> None:
        """Call fsync."""
        os.fsync(file)

    def truncate(self, file: int, size: int) -> None:
        """Call ftruncate."""
        os.ftruncate(file, size)

    def rename(self, path: Path, target: Path) -> None:
        """Call rename."""
        path.replace(target)

    def unlink(self, path: Path) -> None:
        """Call unlink."""
        path.unlink(missing_ok=True)

    def sync_directory(self, directory: Path) -> None:
        """Open the directory and call fsync."""
        handle = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)

    def reading(self, path: Path) -> None:
        """Nothing to do."""


SYSTEM = SystemDisk()
_mounted: dict[Path, Disk] = {}


def disk_of(directory: Path) -> Disk:
    """The disk of a directory."""
    if not _mounted:
        return SYSTEM
    return next((_mounted[place] for place in (directory, *directory.parents) if place in _mounted), SYSTEM)


@contextlib.contextmanager
def mounted(directory: Path, disk: Disk) -> Iterator[None]:
    """Put another disk under a directory. Who opened files before keeps the disk that was there then."""
    before = _mounted.get(directory)
    _mounted[directory] = disk
    try:
        yield
    finally:
        if before is None:
            del _mounted[directory]
        else:
            _mounted[directory] = before
