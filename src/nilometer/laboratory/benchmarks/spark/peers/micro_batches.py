"""Reads folders of Parquet files, one file per micro-batch, as streaming DataFrames with a watermark.

Files are read in the order of their modification times, one per trigger.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession


@dataclass(frozen=True)
class Folder:
    """A stream's micro-batches. `columns` is their schema as DDL (with `time TIMESTAMP`), `delay` how far out
    of order they are, in microseconds. `files` is the number of files in a micro-batch; None means all that
    are there."""

    path: Path
    columns: str
    delay: int
    files: int | None = 1


def streams(session: SparkSession, folders: Mapping[str, Folder]) -> dict[str, DataFrame]:
    """The streaming DataFrames, by the streams' names."""
    return {name: _stream(session, folder) for name, folder in folders.items()}


def _stream(session: SparkSession, folder: Folder) -> DataFrame:
    reader = session.readStream.schema(folder.columns)
    if folder.files is not None:
        reader = reader.option("maxFilesPerTrigger", folder.files)
    return reader.parquet(str(folder.path)).withWatermark("time", f"{folder.delay} microseconds")
