"""Copies a data directory while it runs, and puts a copy back.

    phase 1   all files, while the database goes on                       (long)
    phase 2   between two rounds of the station's loop: what has changed  (short)
    backup.json, last: every file with its size and digest

The law: nothing moves in phase 2, so the copy is a state that the directory really had, and every offset that a query
has committed is in the copy of its stream's log. A copy without backup.json is not complete, and is not restored. A
restored directory appears under its name only when it is whole and durable.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
import stat
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any

from nilometer.errors import ConfigurationError, DataError, ResourceError
from nilometer.live.owner.lock import FILE as OWNER_LOCK
from nilometer.log import failpoints
from nilometer.log.local_files import ASIDE, LOCK
from nilometer.settings_file import logs_setting

MARK = "backup.json"
CHUNK = 1 << 20
TAIL = 1 << 16
"""A file that has only grown is recognized by this many bytes at the end of what was copied."""
_LEFT_OUT = {LOCK, OWNER_LOCK.name, "socket", MARK}


@dataclass(frozen=True)
class Seen:
    """A file when it was copied."""

    inode: int
    size: int
    changed: int


@dataclass
class Copy:
    """A copy in the making, from `source` to `target`."""

    source: Path
    target: Path
    seen: dict[str, Seen] = field(default_factory=dict)
    digests: dict[str, str] = field(default_factory=dict)
    paused: float = 0.0
    """Seconds for which the database stood still."""

    @staticmethod
    def begin(source: Path, target: Path) -> Copy:
        """Make the target, which must be new or empty, and be elsewhere."""
        if target.resolve().is_relative_to(source.resolve()):
            raise ConfigurationError(
                "a backup cannot be inside of the directory that it is of", hint="give another place"
            )
        if logs_setting(source) is not None:
            raise ConfigurationError(
                f"the logs of {source} are not in it, and a backup has to have both",
                detail=f"nilometer.toml says logs = '{logs_setting(source)}'",
                hint="stop its owner, then copy the store with its own tools, and the directory",
            )
        with _resources(target):
            target.mkdir(parents=True, exist_ok=True)
            os.chmod(target, 0o700)
            if any(target.iterdir()):
                raise ConfigurationError(
                    f"'{target}' is not empty", hint="give each backup a place of its own"
                )
        return Copy(source, target)

    def update(self) -> None:
        """Copy what is new or has changed, and delete what is gone."""
        pass_by = failpoints.from_environment("backup")
        with _resources(self.target):
            found = set()
            for name in files_of(self.source):
                pass_by("before_file")
                with contextlib.suppress(FileNotFoundError):  # deleted since it was listed
                    self._copy(name)
                    found.add(name)
            for name in self.seen.keys() - found:
                (self.target / name).unlink(missing_ok=True)
                del self.seen[name]

    def _copy(self, name: str) -> None:
        source, target = self.source / name, self.target / name
        with open(source, "rb") as file:
            now = os.fstat(file.fileno())
            seen, before = Seen(now.st_ino, now.st_size, now.st_mtime_ns), self.seen.get(name)
            if before == seen:
                return
            target.parent.mkdir(parents=True, exist_ok=True)
            grown = before is not None and before.inode == seen.inode and before.size <= seen.size
            if not (grown and before is not None and _append(file, target, before.size, seen.size)):
                _write(file, target, seen.size)
            os.chmod(target, stat.S_IMODE(now.st_mode))
        self.seen[name] = seen

    def finish(self) -> dict[str, Any]:
        """Make everything durable, and say that the copy is whole."""
        with _resources(self.target):
            for name in sorted(self.seen):
                self.digests[name] = _settled(self.target / name)
            for folder in sorted({(self.target / name).parent for name in self.seen} | {self.target}):
                _sync_folder(folder)
            mark = {
                "release": version("nilometer"),
                "when": time.time_ns() // 1_000,
                "files": {name: [self.seen[name].size, self.digests[name]] for name in sorted(self.seen)},
            }
            aside = self.target / f"{MARK}{ASIDE}"
            aside.write_text(json.dumps(mark, indent=1), encoding="utf-8")
            _settled(aside)
            os.replace(aside, self.target / MARK)
            _sync_folder(self.target)
        return {
            "files": len(self.seen),
            "bytes": sum(one.size for one in self.seen.values()),
            "paused_milliseconds": round(self.paused * 1_000, 1),
        }


def back_up(source: Path, target: Path, still: Callable[[Callable[[], None]], None]) -> dict[str, Any]:
    """Copy a directory. `still` makes a call while nothing in the directory moves."""
    copy = Copy.begin(source, target)
    copy.update()

    def last() -> None:
        began = time.monotonic()
        copy.update()
        copy.paused = time.monotonic() - began

    still(last)
    return copy.finish()


def files_of(directory: Path) -> Iterator[str]:
    """The files of a data directory, without locks, sockets and what was left written aside."""
    for folder, folders, names in os.walk(directory):
        folders.sort()
        for name in sorted(names):
            path = Path(folder) / name
            if name in _LEFT_OUT or name.endswith(ASIDE) or not path.is_file():
                continue
            yield str(path.relative_to(directory))


def restore(backup: Path, directory: Path, *, new_identity: bool = False) -> int:
    """Put a backup back. Returns the number of its files. Every byte is compared with what was backed up."""
    files = read_mark(backup)["files"]
    if directory.exists() and (not directory.is_dir() or any(directory.iterdir())):
        raise ConfigurationError(
            f"'{directory}' is not empty", hint="move it away first, or give another place"
        )
    for name in files:
        _inside(directory, name)
    directory = directory.absolute()
    part = directory.with_name(f"{directory.name}.restoring")
    with _resources(part):
        shutil.rmtree(part, ignore_errors=True)
        part.mkdir(parents=True)
        for name, (size, digest) in files.items():
            target = _inside(part, name)
            target.parent.mkdir(parents=True, exist_ok=True)
            try:
                with open(backup / name, "rb") as file:
                    _write(file, target, size)
                    os.chmod(target, stat.S_IMODE(os.fstat(file.fileno()).st_mode))
            except FileNotFoundError:
                raise DataError(f"the backup lacks '{name}'", hint="take another backup") from None
            if target.stat().st_size != size or _settled(target) != digest:
                raise DataError(f"'{name}' is not as it was backed up", hint="take another backup")
        if new_identity:
            (part / ".nilometer" / "identity").unlink(missing_ok=True)
        kept = part / ".nilometer"
        for folder in [kept, *(path for path in kept.rglob("*") if path.is_dir())] if kept.is_dir() else []:
            os.chmod(folder, 0o700)
        for folder in sorted({(part / name).parent for name in files} | {part}):
            _sync_folder(folder)
        if directory.exists():
            directory.rmdir()
        os.replace(part, directory)
        _sync_folder(directory.parent)
    return len(files)


def read_mark(backup: Path) -> dict[str, Any]:
    """What a complete backup says about itself."""
    try:
        found = json.loads((backup / MARK).read_text(encoding="utf-8"))
        return {"files": dict(found["files"]), "when": int(found["when"]), "release": str(found["release"])}
    except FileNotFoundError:
        raise DataError(
            f"'{backup}' is no complete backup",
            detail=f"it has no {MARK}, which is written last",
            hint="take another one: nilometer backup DIR TARGET",
        ) from None
    except (ValueError, KeyError, TypeError):
        raise DataError(f"'{backup / MARK}' is damaged", hint="take another backup") from None


def _inside(part: Path, name: str) -> Path:
    path = Path(name)
    if path.is_absolute() or ".." in path.parts:
        raise DataError(f"the backup names '{name}', which is outside of it")
    return part / path


def _append(file: Any, target: Path, before: int, size: int) -> bool:
    """Copy what a file has grown by; False if it has not only grown."""
    with open(target, "r+b") as copy:
        start = max(0, before - TAIL)
        file.seek(start)
        copy.seek(start)
        if copy.read(before - start) != file.read(before - start):
            return False
        copy.truncate(before)
        _pump(file, copy, size - before)
    return True


def _write(file: Any, target: Path, size: int) -> None:
    file.seek(0)
    with open(target, "wb") as copy:
        os.chmod(target, 0o600)
        _pump(file, copy, size)


def _pump(file: Any, copy: Any, left: int) -> None:
    while left > 0:
        data = file.read(min(CHUNK, left))
        if not data:
            return  # cut meanwhile: phase 2 sees that it has changed
        copy.write(data)
        left -= len(data)


def _settled(path: Path) -> str:
    """Make a file durable; its digest."""
    with open(path, "rb") as file:
        os.fsync(file.fileno())
        return hashlib.file_digest(file, lambda: hashlib.blake2b(digest_size=16)).hexdigest()


def _sync_folder(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


@contextlib.contextmanager
def _resources(place: Path) -> Iterator[None]:
    try:
        yield
    except (ConfigurationError, DataError):
        raise
    except FileNotFoundError:
        raise
    except OSError as error:
        raise ResourceError(
            f"cannot write '{error.filename or place}'",
            detail=error.strerror,
            hint="check the rights, and the space that is left",
        ) from None
