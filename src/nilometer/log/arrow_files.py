"""A folder of any pyarrow filesystem as `Files`. Objects are written whole, so an open segment is written as
small parts.

A file is its object and the parts after it, `<name>.part-<byte offset>`, one per `sync`. MERGED parts of a size become
one, so a segment that is open for a day has few. `seal` writes object and parts as one object. The law: a part
counts only if it begins where the bytes before it end, so a crash between two steps of a merge or a seal makes
nothing appear twice. There is no flock: the lock is an object that names host and process, and is taken over
when that process is dead. Two hosts that race for the lock in the same moment are not kept apart, which no
pyarrow filesystem can do; the lock of the data directory is.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
from typing import Any

import pyarrow as pa
from pyarrow import fs

from nilometer.log.failpoints import Failpoint, nothing
from nilometer.log.object_store import store_errors

ASIDE = ".aside"
LOCK = "writer.lock"
PART = ".part-"
MERGED = 16
"""So many parts of a size are merged. A reading is written again once for each power of it."""
WHOLE_OBJECTS = ("s3", "gcs", "abfs")
"""Filesystems on which an object appears when it is complete. On others, it is written aside and moved."""


class ArrowFiles:
    """The files under a folder of a pyarrow filesystem."""

    def __init__(self, filesystem: Any, folder: str, failpoint: Failpoint = nothing) -> None:
        self._filesystem = filesystem
        self._folder = folder.rstrip("/")
        self._failpoint = failpoint
        base = filesystem
        while isinstance(base, fs.SubTreeFileSystem):
            base = base.base_fs
        self._direct = base.type_name in WHOLE_OBJECTS
        self.place = f"{base.type_name}:{self._folder}"

    def names(self, folder: str = "") -> list[str]:
        """The files of a folder, sorted, without parts and without files written aside."""
        return [name for name in self._objects(folder) if PART not in name and not name.endswith(ASIDE)]

    def size(self, name: str) -> int:
        """The bytes of a file: those of its object and of its parts."""
        end = self._size(name)
        for start, size in self._parts(name):
            end += size if start == end else 0
        return end

    def parts(self, name: str) -> list[tuple[int, int]]:
        """Where each part of a file begins, and its size; of those that count."""
        end, found = self._size(name), []
        for start, size in self._parts(name):
            if start == end:
                found.append((start, size))
                end += size
        return found

    def read(self, name: str, start: int = 0, size: int = -1) -> Any:
        """The bytes from `start` on; objects and parts that lie outside of what is asked for are not read."""
        while True:
            # A part that is gone was merged into one before it, after it was listed.
            with contextlib.suppress(_PartGoneError):
                return self._read(name, start, size)

    def _read(self, name: str, start: int, size: int) -> Any:
        end = self._size(name)
        if start == 0 <= size <= end:
            with store_errors(self.place), self._filesystem.open_input_file(self._path(name)) as file:
                return file.read_buffer(size)
        pieces = [self._bytes(name, start)] if start < end else []
        for begin, length in self._parts(name):
            if 0 <= size <= begin - start:
                break
            if begin == end:
                end += length
                if end > start:
                    first = max(0, start - begin)
                    try:
                        pieces.append(self._bytes(_part(name, begin), first, length - first))
                    except FileNotFoundError:
                        raise _PartGoneError from None
        joined = b"".join(pieces)
        return pa.py_buffer(joined if size < 0 else joined[:size])

    def map(self, name: str) -> Any:
        """The bytes of a sealed file. A crash between the steps of sealing leaves some of them in parts."""
        if self._parts(name):
            return self.read(name)
        with store_errors(self.place), self._filesystem.open_input_file(self._path(name)) as file:
            return file.read_buffer()

    def replace(self, name: str, data: bytes) -> None:
        """Write the whole object."""
        path = self._path(name)
        self._failpoint("before_aside")
        aside = path if self._direct else path + ASIDE
        with store_errors(self.place):
            if not self._direct:
                self._filesystem.create_dir(path.rpartition("/")[0], recursive=True)
            with self._filesystem.open_output_stream(aside) as stream:
                stream.write(data)
        self._failpoint("after_aside")
        if not self._direct:
            self._failpoint("before_rename")
            with store_errors(self.place):
                self._filesystem.move(aside, path)
            self._failpoint("after_rename")

    def append_to(self, name: str, keep: int, settled: int | None = None) -> ArrowAppender:
        """Append in parts. Existing parts beyond `keep` are deleted. Every part is durable at once."""
        del settled
        if keep != self.size(name):
            self.replace(name, bytes(self.read(name))[:keep])
            for start, _ in self._parts(name):
                self.delete(_part(name, start))
        return ArrowAppender(self, name, keep, self._failpoint)

    def seal(self, name: str) -> None:
        """Write object and parts as one object."""
        parts = self._parts(name)
        if parts:
            self.replace(name, bytes(self.read(name)))
            for start, _ in parts:
                self.delete(_part(name, start))

    def delete(self, name: str) -> None:
        """Delete the file with its parts."""
        self._failpoint("before_delete")
        doomed = [name] if PART in name else [name, *(_part(name, start) for start, _ in self._parts(name))]
        for each in doomed:
            with contextlib.suppress(FileNotFoundError), store_errors(self.place):
                self._filesystem.delete_file(self._path(each))
        self._failpoint("after_delete")

    def lock(self) -> ObjectLock:
        """Become the one writer."""
        return ObjectLock(self)

    # ---- objects -----------------------------------------------------------------------------------------------------

    def _path(self, name: str) -> str:
        return f"{self._folder}/{name}"

    def _bytes(self, name: str, start: int = 0, size: int = -1) -> bytes:
        with store_errors(self.place), self._filesystem.open_input_file(self._path(name)) as file:
            file.seek(start)
            return bytes(file.read() if size < 0 else file.read(size))

    def _size(self, name: str) -> int:
        with store_errors(self.place):
            info = self._filesystem.get_file_info(self._path(name))
        if info.type != fs.FileType.File:
            raise FileNotFoundError(self._path(name))
        return int(info.size)

    def _objects(self, folder: str = "") -> dict[str, int]:
        where = self._path(folder).rstrip("/")
        with store_errors(self.place):
            found = self._filesystem.get_file_info(fs.FileSelector(where, allow_not_found=True))
        return {
            i.base_name: i.size for i in sorted(found, key=lambda i: i.path) if i.type == fs.FileType.File
        }

    def _parts(self, name: str) -> list[tuple[int, int]]:
        """Where each part begins, and its size."""
        folder, _, base = name.rpartition("/")
        begins = base + PART
        objects = self._objects(folder).items()
        return sorted(
            (int(n.removeprefix(begins)), size)
            for n, size in objects
            if n.startswith(begins) and not n.endswith(ASIDE)
        )


class ArrowAppender:
    """Holds the written bytes until `sync`, which writes them as one part."""

    def __init__(self, files: ArrowFiles, name: str, size: int, failpoint: Failpoint) -> None:
        self._files = files
        self._name = name
        self._failpoint = failpoint
        self._held = bytearray()
        self._parts = [(start, size, 0) for start, size in files.parts(name)]
        """Where each part begins, its size, and how often it was merged."""
        self.synced = size

    @property
    def size(self) -> int:
        """Bytes written."""
        return self.synced + len(self._held)

    def write(self, data: memoryview) -> None:
        """Append to the bytes in memory."""
        self._failpoint("before_write")
        self._held += data
        self._failpoint("after_write")

    def sync(self) -> None:
        """Write the held bytes as a part."""
        self._failpoint("before_fsync")
        if self._held:
            self._files.replace(_part(self._name, self.synced), bytes(self._held))
            self._parts.append((self.synced, len(self._held), 0))
            self.synced += len(self._held)
            self._held.clear()
            # The bytes are durable already: a merge that fails is for the next time.
            with contextlib.suppress(OSError):
                while self._merge():
                    pass
        self._failpoint("after_fsync")

    def _merge(self) -> bool:
        """Write the last parts as one, if there are MERGED of them that were merged as often."""
        last = self._parts[-MERGED:]
        start, _, times = last[0]
        if len(last) < MERGED or any(each[2] != times for each in last):
            return False
        whole = bytes(self._files.read(self._name, start, self.synced - start))
        self._files.replace(_part(self._name, start), whole)
        self._parts[-MERGED:] = [(start, len(whole), times + 1)]
        for begin, _, _ in last[1:]:
            self._files.delete(_part(self._name, begin))
        return True

    def cut(self, size: int) -> None:
        """Drop held bytes beyond `size`. A part already written cannot be taken back, and callers never ask
        for that.
        """
        del self._held[max(0, size - self.synced) :]

    def close(self) -> None:
        """Nothing to do: no file is open."""
        self._held.clear()


class _PartGoneError(Exception):
    """A part that was listed is not there any more."""


class ObjectLock:
    """A lock object with the holder's host and process id."""

    def __init__(self, files: ArrowFiles) -> None:
        self._files = files
        here = {"host": socket.gethostname(), "process": os.getpid()}
        if LOCK in files.names():
            holder = json.loads(bytes(files.read(LOCK)))
            if holder["host"] != here["host"] or _alive(holder["process"]):
                raise BlockingIOError(f"process {holder['process']} of {holder['host']}")
        files.replace(LOCK, json.dumps(here).encode())

    def release(self) -> None:
        """Let another writer in."""
        self._files.delete(LOCK)


def _part(name: str, start: int) -> str:
    return f"{name}{PART}{start:020d}"


def _alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return True
