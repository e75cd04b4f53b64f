"""Writes streams as the same micro-batches twice: Parquet files for stock Spark, a stream log for Nilometer.

Every stream is cut into pieces of `rows` rows. A piece is one Parquet file, with enough row groups for all
cores, and some records of the log, none of which crosses a cut. So a source that admits this number of rows
per micro-batch gives Spark the same rows.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from nilometer.catalog.extents import Stream
from nilometer.laboratory.benchmarks.spark.data import DELAY
from nilometer.log import LogDirectory

RECORD = 10_000
"""The most rows of a record of the log: what a busy edge appends at once."""
ROW_GROUPS = 4
FIRST_FILE = 1_767_225_600
"""The modification time of the first file, in seconds: Spark reads them in this order."""


@dataclass(frozen=True)
class MicroBatches:
    """The written micro-batches. `place` is a data directory with `schema.sql` and logs;
    `place/files/<stream>` has the files. `rows` is the number of rows of each stream in a micro-batch,
    `total` the number of all rows."""

    place: Path
    streams: tuple[str, ...]
    rows: int
    total: int
    count: int

    def files(self, stream: str) -> Path:
        """The folder of a stream's files."""
        return self.place / "files" / stream


def schema(frames: Mapping[str, pl.DataFrame], delay: int = DELAY) -> str:
    """The declarations of the streams."""
    lines = []
    for name, frame in frames.items():
        columns = ", ".join(f"{column} FLOAT" for column in frame.columns if column not in ("time", "id"))
        lines.append(f"CREATE STREAM {name} ({columns}) PUSHED DELAY {delay // 1000} MILLISECONDS;")
    return "\n".join(lines) + "\n"


def columns_for_spark(frame: pl.DataFrame) -> str:
    """The schema of the files, as Spark's DDL."""
    kinds = {"time": "TIMESTAMP", "id": "BIGINT"}
    return ", ".join(f"{name} {kinds.get(name, 'DOUBLE')}" for name in frame.columns)


def write(frames: Mapping[str, pl.DataFrame], rows: int, place: Path) -> MicroBatches:
    """Write both forms into an empty folder."""
    import nilometer

    place.mkdir(parents=True, exist_ok=True)
    (place / "schema.sql").write_text(schema(frames))
    catalog = nilometer.connect(place).catalog
    count = 0
    for name, frame in frames.items():
        pieces = list(frame.iter_slices(rows))
        count = max(count, len(pieces))
        _write_log(catalog.stream(name), pieces, place)
        folder = place / "files" / name
        folder.mkdir(parents=True)
        for number, piece in enumerate(pieces):
            write_file(piece, folder / f"{number:06}.parquet", FIRST_FILE + number)
    total = sum(frame.height for frame in frames.values())
    return MicroBatches(place, tuple(frames), rows, total, count)


def write_file(piece: pl.DataFrame, path: Path, modified: int | None = None) -> None:
    """Write one micro-batch for stock Spark. The file appears at once."""
    aside = path.with_name(f"_{path.name}.new")
    piece.with_columns(pl.from_epoch("time", "us").dt.replace_time_zone("UTC")).write_parquet(
        aside, row_group_size=max(1, -(-piece.height // ROW_GROUPS)), compression="snappy"
    )
    if modified is not None:
        os.utime(aside, (modified, modified))
    aside.rename(path)


def _write_log(stream: Stream, pieces: list[pl.DataFrame], place: Path) -> None:
    with LogDirectory(place).log(stream) as log:
        for piece in pieces:
            for record in piece.iter_slices(RECORD):
                log.append(record.select(list(log.columns)))
