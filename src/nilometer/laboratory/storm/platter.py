"""A disk's platter: which bytes and names of a directory survive a power cut.

The files themselves, in memory, are what the page cache shows. The platter knows of each file the bytes that
were synced, and the blocks written since; of each directory, the changes of names since its last sync. A
power cut keeps any of these blocks, in any order, a file size somewhere between, and the names' changes up to
some point, as journalling filesystems do. After a failed fsync the pages count as clean although the platter
does not have them (fsync(2); PostgreSQL's "fsyncgate").
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

BLOCK = 512
"""The bytes that a disk writes at once."""


@dataclass
class Content:
    """The synced bytes of a file. `dirty` blocks wait for a sync; the `lost` ones count as clean after a
    failed sync, but are not on the platter."""

    synced: bytes = b""
    dirty: set[int] = field(default_factory=set)
    lost: set[int] = field(default_factory=set)


@dataclass(frozen=True)
class Change:
    """A name that was made, or taken from a file with these bytes (None: there was no file)."""

    path: Path
    before: bytes | None


class Platter:
    """The platter under a directory. Files that were changed behind its back count as synced."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self._contents: dict[int, Content] = {}
        self._changes: dict[Path, list[Change]] = {}

    # ---- what the disk reports -------------------------------------------------------------------------------------------

    def opened(self, file: int, path: Path, *, made: bool, emptied: bool) -> None:
        """A file was opened; call it before anything is written."""
        number = os.fstat(file).st_ino
        if made:
            self._contents[number] = Content()
            self._changes.setdefault(path.parent, []).append(Change(path, None))
        elif number not in self._contents:
            self._contents[number] = Content(b"" if emptied else _bytes(file))

    def written(self, file: int, offset: int, size: int) -> None:
        """Bytes were written."""
        content = self._contents[os.fstat(file).st_ino]
        blocks = set(range(offset // BLOCK, -(-(offset + size) // BLOCK)))
        content.dirty |= blocks
        content.lost -= blocks

    def synced(self, file: int) -> None:
        """An fsync succeeded."""
        content = self._contents[os.fstat(file).st_ino]
        content.synced = _mixed(content.synced, _bytes(file), content.lost)
        content.dirty.clear()

    def sync_failed(self, file: int) -> None:
        """An fsync failed: nobody will write the dirty blocks any more."""
        content = self._contents[os.fstat(file).st_ino]
        content.lost |= content.dirty
        content.dirty.clear()

    def removes(self, path: Path) -> None:
        """A name is about to vanish, or to be given to another file."""
        if path.exists():
            known = self._contents.get(path.stat().st_ino)
            before = path.read_bytes() if known is None else known.synced
            self._changes.setdefault(path.parent, []).append(Change(path, before))
        else:
            self._changes.setdefault(path.parent, []).append(Change(path, None))

    def directory_synced(self, directory: Path) -> None:
        """The names of a directory are durable."""
        self._changes.pop(directory, None)

    # ---- what becomes of it ----------------------------------------------------------------------------------------------

    # If only the process dies, nothing happens here: the page cache still has everything, and the platter only what
    # was synced. Whoever comes next must not take for durable what he can read.

    def power_cut(self, random: Random) -> list[str]:
        """Everything that was not synced may be gone. Returns what happened to whom. Every directory and every
        file has a generator of its own, by its name: numbers of inodes are different in each run."""
        told = []
        seed = random.random()
        for directory, changes in sorted(self._changes.items()):
            random = Random(f"{seed} {self.name(directory)}")
            kept = random.choice((0, len(changes), random.randint(0, len(changes))))
            for change in reversed(changes[kept:]):
                told.append(f"{self.name(change.path)}: its name as before")
                if change.before is None:
                    change.path.unlink(missing_ok=True)
                elif directory.is_dir():
                    change.path.write_bytes(change.before)
        for number, path in sorted(self._paths().items(), key=lambda each: each[1]):
            content = self._contents.get(number)
            if content is None:
                continue
            random = Random(f"{seed} {self.name(path)}")
            cached = path.read_bytes()
            if cached == content.synced:
                continue
            survived = self._torn(content, cached, random)
            path.write_bytes(survived)
            told.append(
                f"{self.name(path)}: {len(survived)} of {len(cached)} bytes, {len(content.synced)} synced"
            )
        self._contents.clear()
        self._changes.clear()
        return told

    def _torn(self, content: Content, cached: bytes, random: Random) -> bytes:
        """A file after the power cut: some of its dirty blocks, and a size in between."""
        match random.randrange(4):
            case 0:
                return content.synced
            case 1:
                gone = set(content.lost)
            case _:
                share = random.random()
                gone = content.lost | {block for block in sorted(content.dirty) if random.random() < share}
        mixed = _mixed(content.synced, cached, gone)
        least, most = sorted((len(content.synced), len(cached)))
        return mixed[: random.choice((most, random.randint(least, most)))]

    def _paths(self) -> dict[int, Path]:
        found = {}
        for folder, _, names in os.walk(self.directory):
            for name in names:
                path = Path(folder, name)
                if path.suffix != ".lock":  # It holds the number of the process, for people.
                    found[path.stat().st_ino] = path
        return found

    def name(self, path: Path) -> str:
        """The path below the directory."""
        return os.path.relpath(path, self.directory)


def _bytes(file: int) -> bytes:
    """All bytes of an open file; opened for writing only, it is read through /proc."""
    size = os.fstat(file).st_size
    try:
        return os.pread(file, size, 0)
    except OSError:
        return Path(f"/proc/self/fd/{file}").read_bytes()


def _mixed(synced: bytes, cached: bytes, gone: set[int]) -> bytes:
    """The cached bytes, but the `gone` blocks as they were synced, or zeros."""
    if not gone:
        return cached
    found = bytearray(cached)
    for block in gone:
        first, last = block * BLOCK, min((block + 1) * BLOCK, len(found))
        if first < last:
            found[first:last] = synced[first:last].ljust(last - first, b"\0")
    return bytes(found)
