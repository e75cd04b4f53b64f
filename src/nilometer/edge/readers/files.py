"""A data file -> the typed rows of a declared stream, by the ending of the file's name.

The law: rows come in file order; columns are found by name whatever its case, others are ignored; a declared column that
is not there is NULL, but a reading without its time is garbled.
"""

from __future__ import annotations

import gzip
import zlib
from pathlib import Path

import polars as pl

from nilometer.catalog.extents import Stream
from nilometer.edge.readers.csv_file import read_csv
from nilometer.edge.readers.json_lines_file import read_json_lines
from nilometer.edge.readers.parquet_file import needed_columns, read_parquet, whole_number_ids
from nilometer.edge.readers.reading import RawFile, Reading, read_rows
from nilometer.edge.readers.values import id_type_of
from nilometer.errors import DataError
from nilometer.types import INT, STRING, Column, Type

FORMATS: dict[str, str] = {
    ".csv": "csv",
    ".jsonl": "json",
    ".ndjson": "json",
    ".json": "json",
    ".parquet": "parquet",
}
"""The endings that are read, each also with `.gz` behind it."""


def read(path: str | Path, stream: Stream, wanted: frozenset[str] | None = None) -> Reading:
    """The stream's tuples that a file holds, and an account of what could not be read. A format that can leaves out the
    columns that are not `wanted` (lower-case names), where that cannot change which rows are garbled."""
    columns = stream.columns
    if wanted is not None and _is_plain_parquet(Path(path)):
        columns = needed_columns(Path(path), columns, wanted)
    raw = read_raw(path, columns)
    return read_rows(raw, columns, f"'{Path(path).name}'", required="time", time_unit=stream.time_unit)


def read_file(path: str | Path, stream: Stream) -> pl.DataFrame:
    """The stream's tuples that a file holds, in file order; garbled rows are left out (see `read`)."""
    return read(path, stream).rows


def read_frame(frame: pl.DataFrame, stream: Stream) -> Reading:
    """A frame of the user's own, checked and converted as if it were a file."""
    raw = RawFile(frame, lambda rows: rows + 1)
    return read_rows(raw, stream.columns, "the frame", required="time", time_unit=stream.time_unit)


def sniff_id_type(path: str | Path) -> Type | None:
    """INT if all ids of the file are whole numbers, else STRING; None if it has no column `id`."""
    told = whole_number_ids(Path(path)) if _is_plain_parquet(Path(path)) else None
    if told is not None:
        return INT if told else STRING
    raw = read_raw(path, (Column("id", INT),))
    name = next((name for name in raw.columns.columns if name.lower() == "id"), None)
    return None if name is None else id_type_of(raw.columns[name])


def is_data_file(path: str | Path) -> bool:
    """Whether the name ends in one of the formats that are read."""
    return _ending(Path(path)) in FORMATS


def read_raw(path: str | Path, declared: tuple[Column, ...] | None = None) -> RawFile:
    """The file's columns before any type is checked; a format may leave out those that `declared` does not name."""
    path = Path(path)
    ending = _ending(path)
    if ending not in FORMATS:
        raise DataError(
            f"'{path.name}' is of no format that is read",
            hint=f"the name must end in one of {', '.join(FORMATS)}, or one of these and .gz",
        )
    plain = _is_plain_parquet(path)
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
    """Whether Polars can read the columns it wants from the file itself."""
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
