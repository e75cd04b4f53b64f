"""A durable log of small JSON records: a checksum and a record in each line.

One process appends, others may read meanwhile. A last line that a crash has torn was never acknowledged, and is cut
off; damage before it is an error.
"""

from __future__ import annotations

import json
import os
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from nilometer.errors import DataError
from nilometer.log.failpoints import Failpoint, nothing
from nilometer.log.local_files import LocalFiles
from nilometer.log.writer import resources


def line_of(record: dict[str, Any]) -> bytes:
    """The record as a line."""
    body = json.dumps(record, ensure_ascii=False, separators=(",", ":")).encode()
    return b"%08x %s\n" % (zlib.crc32(body), body)


def records_in(data: bytes, place: str) -> Iterator[tuple[dict[str, Any], int]]:
    """The records, each with the number of bytes up to its end."""
    at = 0
    for line in data.splitlines(keepends=True):
        checksum, _, body = line.partition(b" ")
        at += len(line)
        if not line.endswith(b"\n") or b"%08x" % zlib.crc32(body[:-1]) != checksum:
            if at == len(data):
                return  # torn by a crash
            raise DataError(f"{place} is damaged", detail=f"before byte {at}", hint="take it from a backup")
        yield json.loads(body), at


def read_records(path: Path) -> list[dict[str, Any]]:
    """The records of a file; none if there is no file."""
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return []
    return [record for record, _ in records_in(data, str(path))]


class JsonLog:
    """One file, for one writer."""

    def __init__(self, directory: Path, name: str, failpoint: Failpoint = nothing) -> None:
        self._files = LocalFiles(directory, failpoint)
        self._failpoint = failpoint
        self.path = directory / name
        self.name = name
        self.size = 0
        self.records: list[dict[str, Any]] = []
        """Those that were there when it was opened."""
        if self.path.exists():
            for record, at in records_in(self.path.read_bytes(), str(self.path)):
                self.records.append(record)
                self.size = at

    def append(self, *records: dict[str, Any]) -> None:
        """Make records durable, all of them or, after a crash, the first of them."""
        data = b"".join(map(line_of, records))
        with resources(self._files.place):
            if not self.path.exists():
                self._files.replace(self.name, b"")
            handle = os.open(self.path, os.O_WRONLY | os.O_CLOEXEC)
            try:
                os.ftruncate(handle, self.size)
                self._failpoint("before_write")
                written = 0
                while written < len(data):
                    written += os.pwrite(handle, data[written:], self.size + written)
                self._failpoint("before_fsync")
                os.fsync(handle)
                self._failpoint("after_fsync")
            finally:
                os.close(handle)
        self.size += len(data)

    def begin(self, *records: dict[str, Any]) -> None:
        """Begin the file anew, atomically."""
        data = b"".join(map(line_of, records))
        with resources(self._files.place):
            self._files.replace(self.name, data)
        self.size = len(data)
