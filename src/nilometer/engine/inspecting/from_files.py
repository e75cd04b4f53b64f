"""A file, a directory or a pattern -> the sample of an inspection."""

from __future__ import annotations

import io
from pathlib import Path

import polars as pl

from nilometer.engine.inferred import stream_name
from nilometer.engine.inspecting.dialect import Dialect, dialect_of_bytes
from nilometer.engine.inspecting.from_json import json_sample
from nilometer.engine.inspecting.sample import Sample
from nilometer.errors import DataError
from nilometer.ingest.readers import FileSet, find_files, read_raw
from nilometer.ingest.readers.files import contents, format_of
from nilometer.ingest.readers.lines import in_utf8
from nilometer.ingest.readers.values import with_points

HEAD = 1 << 16
"""The bytes in which the form of a CSV file is looked for."""


def sample_of_files(source: str) -> Sample:
    """All rows of the files. JSON lines are looked at as messages, so that nested values are found."""
    files = find_files(source)
    name = stream_name(files.stem)
    home = files.source.parent
    format_ = format_of(files.paths[0])
    if format_ == "json":
        lines = [line for path in files.paths for line in contents(path).splitlines() if line.strip()]
        return json_sample(lines, name, files.name, home=home)
    if format_ == "csv":
        dialect = dialect_of_bytes(contents(files.paths[0])[:HEAD])
        if dialect.options():
            return _dialect_sample(files, name, dialect)
    frames, remarks = [], []
    for path in files.paths:
        raw = read_raw(path)
        if raw.broken_count:
            remarks.append(f"{raw.broken_count} rows of {files.label(path)} are not rows of the format")
        frames.append(raw.columns)
    return Sample(name, files.name, _together(frames), home=home, remarks=tuple(remarks))


def _dialect_sample(files: FileSet, name: str, dialect: Dialect) -> Sample:
    frames = []
    for path in files.paths:
        try:
            frame = pl.read_csv(
                io.BytesIO(in_utf8(contents(path), dialect.encoding)),
                separator=dialect.delimiter,
                has_header=dialect.header,
                skip_rows=dialect.skip,
                infer_schema=False,
                truncate_ragged_lines=True,
                encoding="utf8-lossy",
            )
        except pl.exceptions.PolarsError as error:
            raise DataError(
                f"'{path.name}' cannot be read as CSV", detail=str(error).split("\n")[0]
            ) from None
        if not dialect.header:
            frame.columns = [f"column_{place}" for place in range(1, frame.width + 1)]
        if dialect.decimal is not None:
            frame = frame.with_columns(with_points(column, dialect.decimal) for column in frame)
        if dialect.nulls:
            missing = pl.all().str.strip_chars().is_in(dialect.nulls)
            frame = frame.with_columns(pl.when(~missing).then(pl.all()))
        frames.append(frame)
    columns = _together(frames)
    return Sample(name, files.name, columns, options=dialect.options(), home=files.source.parent)


def _together(frames: list[pl.DataFrame]) -> pl.DataFrame:
    if len({tuple(frame.schema.items()) for frame in frames}) > 1:
        frames = [frame.select(pl.all().cast(pl.String, strict=False)) for frame in frames]
    return pl.concat(frames, how="diagonal")


def is_address(source: str) -> bool:
    """Whether a source is an address and not a path."""
    return "://" in source and not Path(source).exists()
