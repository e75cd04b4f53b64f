"""A disk (log/disk.py) for one life of a process: it fails as told, and kills the process at a step as told.

`record` is given every call with its arguments, so that two runs of a story can be compared. The law: a dead process changes nothing any more. Its files are closed, and so its locks are free.
"""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from random import Random
from zlib import crc32

from nilometer.laboratory.storm.platter import Platter
from nilometer.log.disk import SYSTEM


class Killed(BaseException):
    """The process was killed. No handler of Exceptions catches it, as nothing catches SIGKILL."""


@dataclass
class Weather:
    """How the disk fails now: the chance that a call fails, whether it is full, and the number of calls until
    the process is killed (None: it lives)."""

    write_error: float = 0.0
    sync_error: float = 0.0
    read_error: float = 0.0
    short_write: float = 0.0
    full: bool = False
    kill_in: int | None = None

    def calm(self) -> None:
        """Nothing fails any more."""
        self.__dict__.update(vars(Weather()))


class FaultyDisk:
    """The disk as one process sees it."""

    def __init__(
        self,
        platter: Platter,
        weather: Weather,
        random: Random,
        record: Callable[[bytes], None] | None = None,
    ) -> None:
        self._platter = platter
        self._weather = weather
        self._random = random
        self._record = record
        self._open: dict[int, str] = {}
        self._dead = False
        self.calls = 0
        self.failed: dict[str, int] = {}
        """How often each kind of fault was injected."""

    # ---- the calls -------------------------------------------------------------------------------------------------------

    def open(self, path: Path, flags: int, mode: int = 0o644) -> int:
        """A real file descriptor, which `die` closes."""
        name = self._platter.name(path)
        self._step("open", name)
        made = bool(flags & os.O_CREAT) and not path.exists()
        if made:
            self._room()
        emptied = bool(flags & os.O_TRUNC)
        if emptied:
            # A file that is written from the beginning is read back when it is synced.
            flags = flags & ~os.O_WRONLY | os.O_RDWR
        file = SYSTEM.open(path, flags & ~os.O_TRUNC, mode)
        self._open[file] = name
        self._platter.opened(file, path, made=made, emptied=emptied)
        if emptied:
            SYSTEM.truncate(file, 0)
        return file

    def close(self, file: int) -> None:
        """Close a file; a dead process has none."""
        if file in self._open:
            del self._open[file]
            SYSTEM.close(file)

    def write(self, file: int, data: bytes | memoryview, offset: int) -> int:
        """Write all, part, or nothing."""
        last = self._step("write", self._open.get(file, ""), f"{offset} {crc32(data)}", tears=True)
        if last:
            self._put(file, data[: self._random.randint(0, len(data))], offset)
            self.die()
        if self._weather.full:
            part = self._random.randint(0, len(data)) if self._random.random() < 0.5 else 0
            if part:
                return self._put(file, data[:part], offset)
            self._fail("full disk", errno.ENOSPC)
        if self._random.random() < self._weather.write_error:
            self._fail("write error", errno.EIO)
        if len(data) > 1 and self._random.random() < self._weather.short_write:
            self._count("short write")
            return self._put(file, data[: self._random.randint(1, len(data) - 1)], offset)
        return self._put(file, data, offset)

    def sync(self, file: int) -> None:
        """Sync, or lose the dirty blocks."""
        self._step("sync", self._open.get(file, ""))
        if self._random.random() < self._weather.sync_error:
            self._platter.sync_failed(file)
            self._fail("sync error", errno.EIO)
        self._platter.synced(file)

    def truncate(self, file: int, size: int) -> None:
        """Cut the file."""
        self._step("truncate", self._open.get(file, ""), str(size))
        before = os.fstat(file).st_size
        SYSTEM.truncate(file, size)
        if size > before:
            self._platter.written(file, before, size - before)

    def rename(self, path: Path, target: Path) -> None:
        """Rename."""
        self._step("rename", self._platter.name(path), self._platter.name(target))
        self._platter.removes(target)
        SYSTEM.rename(path, target)

    def unlink(self, path: Path) -> None:
        """Delete."""
        self._step("unlink", self._platter.name(path))
        if path.exists():
            self._platter.removes(path)
            SYSTEM.unlink(path)

    def sync_directory(self, directory: Path) -> None:
        """Make names durable."""
        self._step("sync", self._platter.name(directory))
        if self._random.random() < self._weather.sync_error:
            self._fail("sync error", errno.EIO)
        self._platter.directory_synced(directory)

    def reading(self, path: Path) -> None:
        """Fail now and then; missing files are for the caller to find."""
        self._step("read", self._platter.name(path))
        if self._random.random() < self._weather.read_error and path.exists():
            self._fail("read error", errno.EIO)

    # ---- life and death --------------------------------------------------------------------------------------------------

    def die(self) -> None:
        """The process is dead from here on."""
        self.bury()
        raise Killed

    def bury(self) -> None:
        """Close what the process had open; it can do nothing any more."""
        self._dead = True
        for file in self._open:
            with contextlib.suppress(OSError):
                SYSTEM.close(file)
        self._open.clear()

    @property
    def descriptors(self) -> int:
        """The number of open files."""
        return len(self._open)

    def _step(self, call: str, name: str, how: str = "", *, tears: bool = False) -> bool:
        """Count a call. Returns whether the process dies during it; a call that cannot be torn kills at once."""
        if self._dead:
            raise Killed
        if self._record is not None:
            self._record(f"{call} {name} {how}\n".encode())
        self.calls += 1
        if self._weather.kill_in is None:
            return False
        self._weather.kill_in -= 1
        if self._weather.kill_in > 0:
            return False
        if not tears:
            self.die()
        return True

    def _put(self, file: int, data: bytes | memoryview, offset: int) -> int:
        written = SYSTEM.write(file, data, offset)
        self._platter.written(file, offset, written)
        return written

    def _room(self) -> None:
        if self._weather.full and self._random.random() < 0.5:
            self._fail("full disk", errno.ENOSPC)

    def _count(self, what: str) -> None:
        self.failed[what] = self.failed.get(what, 0) + 1

    def _fail(self, what: str, number: int) -> None:
        self._count(what)
        raise OSError(number, os.strerror(number))
