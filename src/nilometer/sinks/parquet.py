"""Writes commits to Parquet files: `parquet:DIR`, exactly once.

    DIR/version=<version>/000000000012-000000000019.parquet     the rows of commits 12 to 19
    DIR/_delivered/mark.json                                    whose answers they are, the last commit, its
    file

A file is written in `_delivered` (which Spark and Arrow ignore), made durable, named in the mark, and moved
to its place. So a file in its place is always complete. The mark decides what is delivered: a crash after it
leaves only the move to be made. Files may therefore be taken away as soon as they are in place. Without the
mark, the names of the files say which commits there are. Commits are gathered for `every` (10 s), up to
`rows` per file. Each version of the query has its own folder, and so its own columns. TIME is a timestamp in
UTC, POINT a struct of x and y.
"""

from __future__ import annotations

import io
import json
import os
import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import polars as pl

from nilometer.catalog.address import Address
from nilometer.log.failpoints import Failpoint
from nilometer.log.local_files import LocalFiles
from nilometer.sinks.sink import Answered, Origin, Sink, check_origin, reached, rows_in
from nilometer.sinks.values import outward
from nilometer.types import SECOND

BESIDE = "_delivered"
MARK = "mark.json"
ORIGIN = "nilometer.origin"
_NAME = re.compile(r"(\d+)-(\d+)\.parquet")


@dataclass(frozen=True)
class Mark:
    """The contents of the directory; `file` is the file of the last commit with rows."""

    origin: str
    commit: int
    file: str


class ParquetSink(Sink):
    """A sink that writes into one directory."""

    every = 10 * SECOND
    group_rows = 1_000_000

    def __init__(self, address: Address, origin: Origin, failpoint: Failpoint | None = None) -> None:
        super().__init__(address, origin, failpoint)
        self._directory = Path(address.path).absolute()
        self._beside = LocalFiles(self._directory / BESIDE, self.failpoint)
        self._file = ""

    @property
    def name(self) -> str:
        return f"parquet:{self._directory}"

    def open(self) -> None:
        with reached(self.name):
            mark = self._found()
            if mark is not None:
                check_origin(mark.origin, self.origin, self.name)
            self.last = None if mark is None else mark.commit
            self._file = "" if mark is None else mark.file
            self._move()
            for left in self._beside.directory.glob("*.parquet*"):
                left.unlink()

    def write(self, commits: Sequence[Answered]) -> None:
        first, last = commits[0], commits[-1]
        rows = rows_in(commits)
        with reached(self.name):
            if rows.height:
                data = io.BytesIO()
                outward(rows, last.schema).write_parquet(data, metadata={ORIGIN: str(self.origin)})
                name = f"{first.number:012d}-{last.number:012d}.parquet"
                self._beside.replace(name, data.getvalue())
                self._file = f"version={last.version}/{name}"
            mark = Mark(str(self.origin), last.number, self._file)
            self._beside.replace(MARK, json.dumps(asdict(mark)).encode())
            self._move()
        self.last = last.number

    def _move(self) -> None:
        """Move the file that the mark names to its place, unless it is there, or was there and has been taken
        away.
        """
        target = self._directory / self._file
        ready = self._beside.directory / target.name
        if not self._file or not ready.exists():
            return
        target.parent.mkdir(exist_ok=True)
        self.failpoint("before_rename")
        ready.replace(target)
        self.failpoint("after_rename")
        for directory in (target.parent, self._directory):
            handle = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
            try:
                os.fsync(handle)
            finally:
                os.close(handle)

    def _found(self) -> Mark | None:
        try:
            return Mark(**json.loads(bytes(self._beside.read(MARK))))
        except FileNotFoundError:
            pass
        there = {path.name: path for path in self._directory.glob("version=*/*.parquet")}
        numbered = {int(match[2]): there[match[0]] for match in map(_NAME.fullmatch, there) if match}
        if not numbered:
            return None
        newest = numbered[max(numbered)]
        origin = pl.read_parquet_metadata(newest).get(ORIGIN, "somebody else")
        return Mark(origin, max(numbered), str(newest.relative_to(self._directory)))
