"""What the tests of the log share: small logs, simulated crashes, full disks."""

from __future__ import annotations

import errno
import os
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl

from nilometer.log import Fsync, LogSettings, StreamLog
from nilometer.log.local_files import LocalFiles

COLUMNS = {"time": pl.Int64(), "id": pl.String(), "v": pl.Float64()}


MEMORY = "/dev/shm" if os.path.isdir("/dev/shm") else None
"""Where examples by the hundred keep their files: an fsync of a real disk costs milliseconds, and proves nothing here."""


class CrashError(BaseException):
    """The process dies here: nothing may catch it."""


def frame(first: int, count: int) -> pl.DataFrame:
    """Readings whose values tell their place: `time` is the running number."""
    numbers = np.arange(first, first + count, dtype=np.int64)
    return pl.DataFrame(
        {"time": numbers, "id": [f"s{n % 7}" for n in numbers], "v": numbers / 8}, schema=COLUMNS
    )


def small(**options: object) -> LogSettings:
    """Segments of a few records."""
    return LogSettings(**({"segment_bytes": 4_000} | options))  # type: ignore[arg-type]


def open_log(folder: Path, failpoint: Callable[[str], None] | None = None, **options: object) -> StreamLog:
    """A log whose files pass the failpoint; its clock stands still, so that nothing is flushed unasked."""
    files = LocalFiles(folder, failpoint) if failpoint is not None else LocalFiles(folder)
    return StreamLog(files, COLUMNS, small(**options), clock=lambda: 0.0)


def rows_of(log: StreamLog) -> pl.DataFrame:
    """All rows, by scan."""
    frames = list(log.scan())
    return pl.concat(frames) if frames else pl.DataFrame(schema=COLUMNS)


def scratch() -> tempfile.TemporaryDirectory[str]:
    """A folder for one example."""
    return tempfile.TemporaryDirectory(dir=MEMORY)


class FailAt:
    """Raises when the n-th of all failpoints, or the n-th of one name, is passed; counts what it passes."""

    def __init__(self, error: Callable[[], BaseException], at: int, name: str | None = None) -> None:
        self.error, self.at, self.name = error, at, name
        self.passed: list[str] = []

    def __call__(self, name: str) -> None:
        if self.name in (None, name):
            self.passed.append(name)
            if len(self.passed) == self.at:
                raise self.error()


def no_space() -> OSError:
    """What a full disk says."""
    return OSError(errno.ENOSPC, "No space left on device")


__all__ = [
    "COLUMNS",
    "CrashError",
    "FailAt",
    "Fsync",
    "frame",
    "no_space",
    "open_log",
    "rows_of",
    "scratch",
    "small",
]
