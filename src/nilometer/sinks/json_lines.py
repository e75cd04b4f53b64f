"""Writes commits to a file of JSON lines: `jsonl:FILE`, exactly once.

Beside it is `FILE.delivered`, replaced atomically: the query, its last commit, and how many bytes of the file
belong to it. Lines are appended and made durable first. Bytes beyond that number were left by a crash, and
are cut off. If the file is gone (rotated away), a new one begins after the same commit. Every line is a row
as `nilometer answers --json` prints it; a version with other columns has other fields.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from nilometer.catalog.address import Address
from nilometer.errors import ConfigurationError, DataError
from nilometer.log.failpoints import Failpoint
from nilometer.log.local_files import LocalAppender, LocalFiles
from nilometer.sinks.sink import Answered, Origin, Sink, check_origin, reached
from nilometer.sinks.values import json_lines, rows_of

BESIDE = ".delivered"


@dataclass(frozen=True)
class Delivered:
    """The contents of the file."""

    origin: str
    commit: int | None = None
    bytes: int = 0


class JsonLinesSink(Sink):
    """A sink that writes one file."""

    def __init__(self, address: Address, origin: Origin, failpoint: Failpoint | None = None) -> None:
        super().__init__(address, origin, failpoint)
        self._path = Path(address.path).absolute()
        self._files = LocalFiles(self._path.parent, self.failpoint)
        self._appender: LocalAppender | None = None
        self._delivered = Delivered(str(origin))

    @property
    def name(self) -> str:
        return f"jsonl:{self._path}"

    def open(self) -> None:
        with reached(self.name):
            found = self._found()
            self._delivered = found or Delivered(str(self.origin))
            check_origin(self._delivered.origin, self.origin, self.name)
            self.last = self._delivered.commit
            size = self._size()
            if found is None and size:
                raise ConfigurationError(
                    f"there is a file {self._path} already, which is not ours",
                    hint="give another name, or move the file away",
                )
            if size:
                self._appender = self._files.append_to(self._path.name, self._delivered.bytes)
                self._opened = self._path.stat()
            else:
                self._begin()

    def write(self, commits: Sequence[Answered]) -> None:
        lines = [
            line
            for commit in commits
            for line in json_lines(rows_of(commit.rows, commit.schema), commit.schema)
        ]
        data = "".join(line + "\n" for line in lines).encode()
        with reached(self.name):
            if not self._size() or not os.path.samestat(self._path.stat(), self._opened):
                self._begin()
            appender, size = self._appender, self._delivered.bytes
            assert appender is not None, "it is open"
            if data:
                appender.write(memoryview(data))
                appender.sync()
            self._mark(Delivered(str(self.origin), commits[-1].number, size + len(data)))
        self.last = commits[-1].number

    def close(self) -> None:
        if self._appender is not None:
            self._appender.close()
            self._appender = None

    def _begin(self) -> None:
        """Begin a new file. Its mark is written first, so that a crash leaves no file shorter than its mark
        says.
        """
        self.close()
        self._mark(Delivered(str(self.origin), self._delivered.commit))
        self._files.replace(self._path.name, b"")
        self._appender = self._files.append_to(self._path.name, 0)
        self._opened = self._path.stat()

    def _size(self) -> int:
        """The length of the file; 0 if it is gone or was emptied, as rotation does."""
        size = self._path.stat().st_size if self._path.exists() else 0
        if 0 < size < self._delivered.bytes:
            raise DataError(
                f"{self._path} is shorter than what was delivered",
                detail=f"{size} bytes of {self._delivered.bytes}",
                hint="move it away: what comes next goes into a new file",
            )
        return size

    def _mark(self, delivered: Delivered) -> None:
        self._files.replace(self._path.name + BESIDE, json.dumps(asdict(delivered)).encode())
        self._delivered = delivered

    def _found(self) -> Delivered | None:
        try:
            return Delivered(**json.loads(bytes(self._files.read(self._path.name + BESIDE))))
        except FileNotFoundError:
            return None
