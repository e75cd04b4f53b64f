"""Reads a data file into the typed rows of a declared stream. The ending of the file's name tells the format.

The law: rows come in file order. Columns are found by name, whatever its case; other columns are ignored. A
declared column that the file does not have is NULL (and a note says so), but a reading without its time is
garbled.
"""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from pathlib import Path

import numpy as np
import polars as pl

from nilometer.catalog.extents import Stream
from nilometer.errors import DataError
from nilometer.ingest.readers.csv_file import read_csv
from nilometer.ingest.readers.json_lines_file import read_json_lines
from nilometer.ingest.readers.parquet_file import needed_columns, read_parquet, whole_number_ids
from nilometer.ingest.readers.reading import RawFile, Reading, match_columns, read_rows, row_numbers
from nilometer.ingest.readers.values import read_values
from nilometer.operators.frames import dtype
from nilometer.types import INT, STRING, Column, Type

FORMATS: dict[str, str] = {
    ".csv": "csv",
    ".jsonl": "json",
    ".ndjson": "json",
    ".json": "json",
    ".parquet": "parquet",
}
"""The endings of the formats that can be read, each also with `.gz` after it."""


@dataclass(frozen=True)
class FileForm:
    """The differences between a file and its stream: columns with other names (file's -> stream's), and times
    in nanoseconds."""

    renamed: Mapping[str, str] = field(default_factory=dict)
    nanoseconds: bool = False

    def in_file(self, name: str) -> str:
        """The file's name for a column of the stream."""
        return next((there for there, here in self.renamed.items() if here.lower() == name.lower()), name)

    def columns_in_file(self, columns: tuple[Column, ...]) -> tuple[Column, ...]:
        """The stream's columns, named as in the file."""
        return tuple(Column(self.in_file(c.name), c.type, c.unit) for c in columns)

    def shaped(self, raw: RawFile) -> RawFile:
        """The file's columns, named as in the stream, with times in microseconds."""
        columns = raw.columns.rename(dict(self.renamed), strict=False)
        if self.nanoseconds and "time" in columns.columns:
            columns = columns.with_columns(read_values(columns["time"], INT).values // 1_000)
        return replace(raw, columns=columns, names=tuple(self.renamed.get(n, n) for n in raw.names))


def read(
    path: str | Path,
    stream: Stream,
    wanted: frozenset[str] | None = None,
    form: FileForm | None = None,
) -> Reading:
    """The stream's tuples in a file, and an account of the rows that could not be read.

    Some formats can skip the columns that are not `wanted` (lower-case names). They are skipped only where
    that cannot change which rows are garbled.
    """
    path, form = Path(path), form or FileForm()
    columns = stream.columns
    if wanted is not None and _is_plain_parquet(path):
        asked = frozenset(form.in_file(name).lower() for name in wanted)
        needed = needed_columns(path, form.columns_in_file(columns), asked)
        names = {column.name for column in needed}
        columns = tuple(column for column in columns if form.in_file(column.name) in names)
    raw = read_raw(path, form.columns_in_file(columns))
    if not raw.names and not raw.columns.height and not raw.broken_count:
        empty = pl.DataFrame({column.name: pl.Series([], dtype=dtype(column.type)) for column in columns})
        return Reading(empty, notes=(f"{path.name} is empty",))
    shaped = form.shaped(raw)
    reading = read_rows(shaped, columns, f"'{path.name}'", required="time", time_unit=stream.time_unit)
    asked_for = [column for column in columns if wanted is None or column.name.lower() in wanted]
    return replace(reading, notes=_missing(path, asked_for, shaped, reading, raw.names))


def _missing(
    path: Path, declared: list[Column], raw: RawFile, reading: Reading, found: tuple[str, ...]
) -> tuple[str, ...]:
    """A note for each declared column that the file does not have."""
    names = raw.names or tuple(raw.columns.columns)
    matched = match_columns(declared, names)
    notes = []
    for column in declared:
        # In JSON lines a key may first occur after the surveyed lines.
        if column.name in matched or reading.rows[column.name].null_count() < reading.rows.height:
            continue
        free = {name.lower(): name for name in names if name not in matched.values()}
        near = get_close_matches(column.name.lower(), free, n=1)
        notes.append(
            f"{path.name} has no column '{column.name}' (found {', '.join(found or names)}): it is NULL"
            + (f"; did you mean '{free[near[0]]}'?" if near else "")
        )
    return tuple(notes)


def read_file(path: str | Path, stream: Stream) -> pl.DataFrame:
    """The stream's tuples in a file, in file order, without the garbled rows (see `read`)."""
    return read(path, stream).rows


def read_frame(frame: pl.DataFrame, stream: Stream) -> Reading:
    """Check and convert a user's frame as if it were a file."""
    raw = RawFile(frame, lambda rows: rows + 1)
    return read_rows(raw, stream.columns, "the frame", required="time", time_unit=stream.time_unit)


def sniff_id_type(path: str | Path) -> Type | None:
    """INT if all ids of the file are whole numbers, else STRING; None if it has no column `id`."""
    return sniff_ids(path)[0]


def sniff_ids(path: str | Path) -> tuple[Type | None, str | None]:
    """INT if all ids of the file are whole numbers, else STRING; None if it has no column `id`.

    If most ids are whole numbers and some are not, the second value names the first exception: `'x9' in line
    4`.
    """
    told = whole_number_ids(Path(path)) if _is_plain_parquet(Path(path)) else None
    if told is not None:
        return (INT if told else STRING), None
    raw = read_raw(path, (Column("id", INT),))
    name = next((name for name in raw.columns.columns if name.lower() == "id"), None)
    if name is None:
        return None, None
    ids = raw.columns[name]
    garbled = read_values(ids, INT).garbled
    if garbled is None:
        return INT, None
    if garbled.sum() * 2 >= len(ids) - ids.null_count():
        return STRING, None
    row = garbled.arg_true().head(1).to_numpy().astype(np.int64)
    return STRING, f"'{str(ids[int(row[0])])[:40]}' in line {raw.lines(row)[0]}"


def is_data_file(path: str | Path) -> bool:
    """Whether the name ends in one of the formats that can be read."""
    return _ending(Path(path)) in FORMATS


def read_raw(path: str | Path, declared: tuple[Column, ...] | None = None) -> RawFile:
    """The file's columns before any type is checked. A format may leave out those that `declared` does not
    name."""
    path = Path(path)
    ending = _ending(path)
    if ending not in FORMATS:
        raise DataError(
            f"the format of '{path.name}' is not supported",
            hint=f"the name must end in one of {', '.join(FORMATS)}, optionally followed by .gz",
        )
    plain = _is_plain_parquet(path)
    if path.is_file() and not path.stat().st_size:
        return RawFile(pl.DataFrame(), row_numbers)
    data = b"" if plain else _contents(path)
    try:
        if plain:
            return read_parquet(path, declared)
        match FORMATS[ending]:
            case "csv":
                return read_csv(data, declared)
            case "json":
                return read_json_lines(data, None if declared is None else tuple(c.name for c in declared))
            case _:
                return read_parquet(data, declared)
    except DataError as error:
        error.detail = f"{path.name}: {error.detail}" if error.detail else path.name
        raise


def _is_plain_parquet(path: Path) -> bool:
    """Whether Polars can read single columns directly from the file."""
    return path.name.lower().endswith(".parquet") and path.is_file()


def _ending(path: Path) -> str:
    name = path.name.lower().removesuffix(".gz")
    return Path(name).suffix


def _contents(path: Path) -> bytes:
    try:
        data = path.read_bytes()
    except IsADirectoryError:
        raise DataError(f"'{path}' is a directory, not a data file") from None
    except FileNotFoundError:
        raise DataError(f"there is no file '{path}'", hint=_neighbours(path)) from None
    except OSError as error:
        raise DataError(f"'{path}' cannot be read", detail=error.strerror) from None
    if not path.name.lower().endswith(".gz"):
        return data
    try:
        return gzip.decompress(data)
    except (OSError, EOFError, zlib.error) as error:
        raise DataError(f"'{path.name}' is not a whole gzip file", detail=str(error)) from None


def _neighbours(path: Path) -> str:
    if not path.parent.is_dir():
        return f"the directory '{path.parent}' does not exist either"
    names = sorted(child.name for child in path.parent.iterdir() if is_data_file(child))
    return f"data files there: {', '.join(names[:8]) or 'none'}"
