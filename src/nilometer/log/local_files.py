"""A local directory as `Files`: pwrite, fsync, rename, memory maps, flock.

The writer's lock is a flock, which the kernel releases when its process dies, however it dies. So a stale
lock file is taken over without asking. A file that may still be cut is read by copy, since a memory map of it
could fault. All changes go through the directory's disk (disk.py).
"""

from __future__ import annotations

import contextlib
import fcntl
import mmap
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

import pyarrow as pa

from nilometer.errors import ResourceError
from nilometer.log.disk import Disk, disk_of
from nilometer.log.failpoints import Failpoint, nothing
from nilometer.log.private import file_mode, make_directory

ASIDE = ".aside"
LOCK = "writer.lock"


class UnreadableError(ResourceError, OSError):
    """The disk failed to read a file that is there. Whoever reads it may try again."""


class LocalFiles:
    """The files under a directory."""

    def __init__(self, directory: Path | str, failpoint: Failpoint = nothing) -> None:
        self.directory = Path(directory)
        self.place = str(directory)
        self._failpoint = failpoint
        self._disk = disk_of(self.directory)

    def names(self, folder: str = "") -> list[str]:
        """The files of a folder, sorted, without files that a crash left written aside."""
        try:
            with os.scandir(self.directory / folder) as found:
                return sorted(e.name for e in found if e.is_file() and not e.name.endswith(ASIDE))
        except FileNotFoundError:
            return []

    def size(self, name: str) -> int:
        """The bytes of a file."""
        return (self.directory / name).stat().st_size

    def read(self, name: str, start: int = 0, size: int = -1) -> Any:
        """A copy of the bytes from `start` on."""
        with self._reading(name) as file:
            file.seek(start)
            return pa.py_buffer(file.read(size))

    def map(self, name: str) -> Any:
        """A memory map, which stays valid when the file is deleted."""
        with self._reading(name) as file:
            if not os.fstat(file.fileno()).st_size:
                return pa.py_buffer(b"")
            return pa.py_buffer(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))

    def replace(self, name: str, data: bytes) -> None:
        """Write aside, fsync, rename, and fsync the directory."""
        path = self.directory / name
        aside = path.with_name(path.name + ASIDE)
        self._make(path.parent)
        self._failpoint("before_aside")
        try:
            file = self._disk.open(aside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, file_mode(aside))
            try:
                written = self._disk.write(file, data[: len(data) // 2], 0)
                self._failpoint("during_aside")
                while written < len(data):
                    written += self._disk.write(file, data[written:], written)
                self._disk.sync(file)
            finally:
                self._disk.close(file)
        except OSError:
            with contextlib.suppress(OSError):
                self._disk.unlink(aside)
            raise
        self._failpoint("after_aside")
        self._failpoint("before_rename")
        self._disk.rename(aside, path)
        self._failpoint("after_rename")
        self._disk.sync_directory(path.parent)
        self._failpoint("after_directory_fsync")

    def append_to(self, name: str, keep: int, settled: int | None = None) -> LocalAppender:
        """Append to a file. A longer file is cut first, and the rest is made durable, with the names in its directory:
        a file that was deleted beside it must not come back after a power cut. If only the first `settled` bytes are
        known to be durable, the others are written again: a dead process may have met a failed fsync, after which
        the kernel takes pages for clean that are not on the disk."""
        path = self.directory / name
        appender = LocalAppender(path, self._failpoint, self._disk)
        try:
            if appender.size != keep:
                appender.cut(keep)
            if settled is not None:
                appender.distrust(settled)
            appender.sync()
            self._disk.sync_directory(path.parent)
        except BaseException:
            appender.close()
            raise
        return appender

    def seal(self, name: str) -> None:
        """Nothing to do: the file is complete already."""

    def delete(self, name: str) -> None:
        """Delete a file, durably."""
        self._failpoint("before_delete")
        path = self.directory / name
        if path.exists():
            self._disk.unlink(path)
            self._disk.sync_directory(path.parent)
        self._failpoint("after_delete")

    def lock(self) -> FileLock:
        """Become the one writer."""
        self._make(self.directory)
        return FileLock(self.directory / LOCK, self._disk)

    def holder(self) -> str | None:
        """The process that is the writer now. Asking is harmless, but a process that takes the lock at that
        moment may have to try again.
        """
        try:
            handle = os.open(self.directory / LOCK, os.O_RDONLY | os.O_CLOEXEC)
        except FileNotFoundError:
            return None
        try:
            fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except OSError:
            found = os.read(handle, 32).decode(errors="replace").strip()
            return f"process {found}" if found else "another process"
        finally:
            os.close(handle)
        return None

    @contextlib.contextmanager
    def _reading(self, name: str) -> Iterator[BinaryIO]:
        path = self.directory / name
        try:
            self._disk.reading(path)
            with path.open("rb") as file:
                yield file
        except FileNotFoundError:
            raise
        except OSError as error:
            raise UnreadableError(
                f"'{path}' cannot be read", detail=error.strerror, hint="check the disk, then try again"
            ) from error

    def _make(self, directory: Path) -> None:
        """Create the directory durably: if it vanished in a power cut, so would its files."""
        if directory.is_dir():
            return
        missing = [directory, *(parent for parent in directory.parents if not parent.is_dir())]
        make_directory(directory)
        for made in missing:
            self._disk.sync_directory(made.parent)


class LocalAppender:
    """Writes at its own offset, never at "the end", so that a torn write is simply overwritten."""

    def __init__(self, path: Path, failpoint: Failpoint, disk: Disk) -> None:
        self._failpoint = failpoint
        self._disk = disk
        self._file = disk.open(path, os.O_RDWR)
        self.size = os.fstat(self._file).st_size
        self.synced = 0
        self._suspect = False

    def write(self, data: memoryview) -> None:
        """Append; a failed write is cut off again."""
        self._failpoint("before_write")
        try:
            if self._failpoint is nothing:
                written = self._disk.write(self._file, data, self.size)
            else:
                written = self._disk.write(self._file, data[: len(data) // 2], self.size)
                self._failpoint("during_write")
            while written < len(data):
                written += self._disk.write(self._file, data[written:], self.size + written)
        except OSError:
            # If even this fails, part of a record is left, which no reader takes for a record.
            with contextlib.suppress(OSError):
                self._disk.truncate(self._file, self.size)
            raise
        self.size += len(data)
        self._failpoint("after_write")

    def sync(self) -> None:
        """Call fsync. After a failed fsync the kernel takes the pages for clean, although they may not be on
        the disk. So they are written again before the next attempt (fsync(2); PostgreSQL's "fsyncgate").
        """
        self._failpoint("before_fsync")
        try:
            if self._suspect:
                again = os.pread(self._file, self.size - self.synced, self.synced)
                written = 0
                while written < len(again):
                    written += self._disk.write(self._file, again[written:], self.synced + written)
            self._disk.sync(self._file)
        except OSError:
            self._suspect = True
            raise
        self._suspect = False
        self.synced = self.size
        self._failpoint("after_fsync")

    def distrust(self, settled: int) -> None:
        """Write the bytes after the first `settled` again at the next sync."""
        self.synced, self._suspect = min(settled, self.size), True

    def cut(self, size: int) -> None:
        """Take back the bytes written beyond `size`."""
        self._failpoint("before_cut")
        self._disk.truncate(self._file, size)
        self.size = size
        self.synced = min(self.synced, size)
        self._failpoint("after_cut")

    def close(self) -> None:
        """Close the file."""
        if self._file >= 0:
            self._disk.close(self._file)
            self._file = -1


class FileLock:
    """A flock. The file contains the holder's process id, for messages to processes that are refused."""

    def __init__(self, path: Path, disk: Disk) -> None:
        self._disk = disk
        self._file = disk.open(path, os.O_RDWR | os.O_CREAT, file_mode(path))
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            holder = os.read(self._file, 32).decode(errors="replace").strip()
            disk.close(self._file)
            raise BlockingIOError(f"process {holder}" if holder else "another process") from None
        # The id is for people only: a disk too full to hold it must not keep the log from being opened.
        with contextlib.suppress(OSError):
            os.ftruncate(self._file, 0)
            os.pwrite(self._file, f"{os.getpid()}\n".encode(), 0)

    def release(self) -> None:
        """Let another process write."""
        if self._file >= 0:
            self._disk.close(self._file)
            self._file = -1
