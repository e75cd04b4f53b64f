"""A separate process that appends readings at a rate, to a stream's log or as files, and records the time of
each append.

A reading's time is the moment when it is made. Every tenth of a second the readings of the previous tenth are
appended. Afterwards `appended.json` in the directory has a pair for each append: the greatest time in it, and
when it was durable (both in microseconds since 1970).
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl

from nilometer.engine import connect
from nilometer.laboratory.benchmarks.spark.micro_batches import write_file
from nilometer.log import Fsync, LogDirectory, LogSettings
from nilometer.types import SECOND

STEP = SECOND // 10
APPENDED = "appended.json"


def write_live(directory: Path, form: str, rate: int, seconds: float, sensors: int) -> None:
    """Append until the time is over."""
    append = _log_of(directory) if form == "log" else _files_of(directory)
    random = np.random.default_rng(7)
    appended: list[tuple[int, int]] = []
    count = max(1, rate * STEP // SECOND)
    made = 0
    begun = time.time_ns() // 1000
    due = begun + STEP
    while due <= begun + seconds * SECOND:
        now = time.time_ns() // 1000
        if now < due:
            time.sleep((due - now) / SECOND)
        # The tenth of a second before `due`, its last reading just before it.
        times = due - STEP + (np.arange(count) + 1) * STEP // (count + 1)
        frame = pl.DataFrame(
            {
                "time": times,
                "id": (made + np.arange(count)) % sensors,
                "v": random.integers(-6400, 6400, count) / 64,
                "w": random.random(count),
            }
        )
        append(frame)
        appended.append((int(times[-1]), time.time_ns() // 1000))
        made += count
        due += STEP
    (directory / APPENDED).write_text(json.dumps(appended))


def _log_of(directory: Path) -> Callable[[pl.DataFrame], None]:
    stream = connect(directory).catalog.stream("readings")
    log = LogDirectory(directory, LogSettings(fsync=Fsync.ALWAYS)).log(stream)

    def append(frame: pl.DataFrame) -> None:
        log.append(frame.select(list(log.columns)))

    return append


def _files_of(directory: Path) -> Callable[[pl.DataFrame], None]:
    folder = directory / "files" / "readings"
    folder.mkdir(parents=True, exist_ok=True)

    def append(frame: pl.DataFrame) -> None:
        write_file(frame, folder / f"{time.time_ns()}.parquet")

    return append


def in_a_process(directory: Path, form: str, rate: int, seconds: float, sensors: int) -> None:
    """Do the same in a separate process, and wait for its end."""
    arguments = (str(directory), form, rate, seconds, sensors)
    code = f"from pathlib import Path; from {__name__} import write_live; write_live(Path({arguments[0]!r}), *{arguments[1:]!r})"
    subprocess.run([sys.executable, "-c", code], check=True, stdout=sys.stderr)
