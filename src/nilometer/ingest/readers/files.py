"""Reads a data file into the typed rows of a declared stream. The ending of the file's name tells the format.

The law: rows come in file order. Columns are found by name, whatever its case; other columns are ignored. A
declared column that the file does not have is NULL (and a note says so), but a reading without its time is
garbled.
"""

from __future__ import annotations

import gzip
import io
import zlib
from collections.abc import Iterator
from dataclasses import replace
from difflib import get_close_matches
from pathlib import Path

import numpy as np
import polars as pl
import pyarrow as pa

from nilometer.catalog.extents import Stream
from nilometer.catalog.form import PLAIN, Form
from nilometer.errors import DataError
from nilometer.ingest.readers.csv_file import read_csv
from nilometer.ingest.readers.file_form import FileForm
from nilometer.ingest.readers.file_set import partition_of
from nilometer.ingest.readers.guesses import guessed_time
from nilometer.ingest.readers.json_lines_file import read_json_lines
from nilometer.ingest.readers.parquet_file import needed_columns, read_parquet, whole_number_ids
from nilometer.ingest.readers.reading import RawFile, Reading, match_columns, read_rows, row_numbers
from nilometer.ingest.readers.values import read_values
from nilometer.memory import budget
from nilometer.operators.frames import dtype
from nilometer.types import INT, STRING, TIME, Column, Kind, Type, format_bytes

FORMATS: dict[str, str] = {
    ".csv": "csv",
    ".tsv": "csv",
    ".jsonl": "json",
    ".ndjson": "json",
    ".json": "json",
    ".parquet": "parquet",
}
"""The endings of the formats that can be read, each also with one of COMPRESSIONS after it."""

COMPRESSIONS: dict[str, str] = {".gz": "gzip", ".zst": "zstd"}
"""The endings of compressed files, and the names of the methods."""

NAMED = 12
"""How many of a file's columns a note names."""

PIECE = 1 << 20
"""How many bytes are decompressed at once."""

TEXT = 1 << 24
"""How many bytes of a long CSV file are text in memory at once."""

_SHEET = "save the sheet as CSV"
_TEXT = "if it holds rows of text, name it .csv: the delimiter is found; or declare the stream with FORMAT"
_OTHER_FORMATS = {
    ".geojson": "a GeoJSON file has sensors, not readings: COPY SENSORS OF stream FROM 'it' (id FROM name)",
    ".xlsx": _SHEET,
    ".xls": _SHEET,
    ".ods": _SHEET,
    ".txt": _TEXT,
    ".dat": _TEXT,
}
"""What to do with files of other formats."""
ENDINGS = tuple(format_ + packed for format_ in FORMATS for packed in ("", *COMPRESSIONS))
"""All endings of the files that can be read."""


def read(
    path: str | Path,
    stream: Stream,
    wanted: frozenset[str] | None = None,
    form: FileForm | None = None,
    label: str | None = None,
) -> Reading:
    """The stream's tuples in a file, and an account of the rows that could not be read. `label` names the
    file in notes and errors.

    Some formats can skip the columns that are not `wanted` (lower-case names). They are skipped only where
    that cannot change which rows are garbled.
    """
    path, form = Path(path), replace(form or FileForm(), declared=stream.form)
    label = label or path.name
    columns = stream.columns
    if wanted is not None and _is_plain_parquet(path):
        asked = frozenset(form.in_file(name).lower() for name in wanted)
        needed = needed_columns(path, form.columns_in_file(columns), asked)
        there = {column.name for column in needed}
        columns = tuple(column for column in columns if form.in_file(column.name) in there)
    names = tuple(column.name for column in columns)
    values = tuple(name for name in names if name.lower() not in ("time", "id"))
    guess = None
    sound = _read_in_pieces(path, stream, form, columns)
    if sound is not None:
        raw, shaped, reading = sound
    else:
        raw = read_raw(path, form.columns_in_file(columns), stream.form, names, values)
        if not raw.names and not raw.columns.height and not raw.broken_count:
            empty = pl.DataFrame({column.name: pl.Series([], dtype=dtype(column.type)) for column in columns})
            return Reading(empty, notes=(f"{label} is empty",))
        shaped = form.shaped(raw, columns)
        if not match_columns([Column("time", TIME)], shaped.columns.columns) and not raw.mapped:
            taken = frozenset(match_columns(form.columns_in_file(columns), raw.names).values())
            guess = guessed_time(read_raw(path, None, stream.form), taken)
        if guess is not None:
            form = replace(form, renamed={**form.renamed, guess: "time"})
            raw = read_raw(path, form.columns_in_file(columns), stream.form, names, values)
            shaped = form.shaped(raw, columns)
        reading = read_rows(
            shaped,
            columns,
            f"'{label}'",
            required="time",
            time_unit=stream.time_unit,
            format=stream.form.format,
        )
    if file_kind(path, stream.form) == "csv":
        reading = _with_trimmed_ids(reading)
        reading = replace(reading, rows=reading.rows.rechunk())
    asked_for = [column for column in columns if wanted is None or column.name.lower() in wanted]
    taking = (f"{label} has no column 'time': taking '{guess}'",) if guess is not None else ()
    notes = (*taking, *_missing(label, asked_for, shaped, reading, raw.names, stream.form), *reading.notes)
    if file_kind(path, stream.form) == "json":
        notes += _sometimes_missing(label, asked_for, reading.rows)
    matched = match_columns(columns, shaped.names).values()
    unknown = () if shaped.mapped else tuple(name for name in shaped.names if name not in matched)
    return replace(reading, notes=notes, unknown=unknown)


def _read_in_pieces(
    path: Path, stream: Stream, form: FileForm, columns: tuple[Column, ...]
) -> tuple[RawFile, RawFile, Reading] | None:
    """The rows of a long CSV file, of which only a piece is in memory as text: the first piece as it is and as shaped,
    and all rows. None if the file must be read whole: it is short or compressed, has quotes, a FORMAT, a row that
    cannot be read, or anything to remark, or one of its values can tell how others are read."""
    plain = stream.form.format is None and stream.form.sole_time is None and format_of(path) == "csv"
    if not plain or path.suffix.lower() in COMPRESSIONS or not path.is_file() or path.stat().st_size <= TEXT:
        return None
    if any(column.type.kind in (Kind.POINT, Kind.VECTOR) for column in columns):
        return None
    wanted = form.columns_in_file(columns)
    first: tuple[RawFile, RawFile] | None = None
    found: dict[str, list[pl.Series]] = {column.name: [] for column in columns}
    for text in _pieces(path):
        if b'"' in text or text.startswith((b"\xff\xfe", b"\xfe\xff")):
            return None
        try:
            raw = _with_partition(read_csv(text, wanted, stream.form), path)
            shaped = form.shaped(raw, columns)
            time = match_columns([Column("time", TIME)], shaped.columns.columns).get("time")
            if time is None or raw.broken_count or raw.spoiled is not None:
                return None
            early = shaped.columns[time].head(8)
            if stream.time_unit is None and early.cast(pl.Float64, strict=False).is_not_null().any():
                return None
            reading = read_rows(shaped, columns, "", required="time", time_unit=stream.time_unit)
        except DataError:
            return None
        if reading.garbled or reading.notes:
            return None
        for column in reading.rows:
            found[column.name].append(column)
        if first is not None and raw.names != first[0].names:
            return None
        if first is None:
            bare = replace(raw, columns=raw.columns.clear(), names=raw.names or tuple(raw.columns.columns))
            first = bare, replace(shaped, columns=shaped.columns.clear())
    if first is None:
        return None
    rows = pl.DataFrame([pl.concat(found.pop(column.name), rechunk=True) for column in columns])
    return *first, Reading(rows)


def _pieces(path: Path) -> Iterator[bytes]:
    """The lines of a file, some at a time, each time after the first line that is not blank."""
    with path.open("rb") as file:
        header = b"\n"
        while header and not header.strip():
            header = file.readline()
        while text := file.read(TEXT):
            yield header + text + file.readline()


def _with_trimmed_ids(reading: Reading) -> Reading:
    """Blanks around an id are the file's, not the sensor's."""
    texts = [name for name, kind in reading.rows.schema.items() if name.lower() == "id" and kind == pl.String]
    return (
        replace(reading, rows=reading.rows.with_columns(pl.col(texts).str.strip_chars()))
        if texts
        else reading
    )


def _missing(
    label: str, declared: list[Column], raw: RawFile, reading: Reading, found: tuple[str, ...], form: Form
) -> tuple[str, ...]:
    """A note for each declared column that the file does not have."""
    names = raw.names or tuple(raw.columns.columns)
    matched = match_columns(declared, names)
    there = list(found or names)
    if len(there) > NAMED:
        there = [*there[:NAMED], f"and {len(there) - NAMED} more"]
    notes = []
    for column in declared:
        # In JSON lines a key may first occur after the surveyed lines.
        if column.name in matched or reading.rows[column.name].null_count() < reading.rows.height:
            continue
        free = {name.lower(): name for name in names if name not in matched.values()}
        near = get_close_matches(column.name.lower(), free, n=1)
        notes.append(
            f"{label} has no column '{form.origin(column.name) or column.name}' (found {', '.join(there)}): it is NULL"
            + (f"; did you mean '{free[near[0]]}'?" if near else _without_sensors(column, label))
        )
    return tuple(notes)


def _without_sensors(column: Column, label: str) -> str:
    """What a file without ids means, and how to name them."""
    if column.name.lower() != "id":
        return ""
    return f", so no reading belongs to a sensor; `nilometer inspect {label}` proposes a column for it"


def _sometimes_missing(label: str, declared: list[Column], rows: pl.DataFrame) -> tuple[str, ...]:
    """A note on the columns for which some messages, but not all, have no value."""
    counts = {
        column.name: rows[column.name].null_count()
        for column in declared
        if column.name.lower() not in ("time", "id")
    }
    found = [f"{name} in {count}" for name, count in counts.items() if 0 < count < rows.height]
    return (f"{label}: of {rows.height} readings, no value for {', '.join(found)}",) if found else ()


def read_file(path: str | Path, stream: Stream) -> pl.DataFrame:
    """The stream's tuples in a file, in file order, without the garbled rows (see `read`)."""
    return read(path, stream).rows


def read_frame(frame: pl.DataFrame, stream: Stream, *, small: bool = False) -> Reading:
    """Check and convert a user's frame as if it were a file. `small`: see `read_rows`."""
    raw = RawFile(frame, lambda rows: rows + 1)
    return read_rows(
        raw, stream.columns, "the frame", required="time", time_unit=stream.time_unit, small=small
    )


def sniff_id_type(path: str | Path) -> Type | None:
    """INT if all ids of the file are whole numbers, else STRING; None if it has no column `id`."""
    return sniff_ids(path)[0]


def sniff_ids(path: str | Path, stream: Stream | None = None) -> tuple[Type | None, str | None]:
    """INT if all ids of the file are whole numbers, else STRING; None if it has no column `id`.

    If most ids are whole numbers and some are not, the second value names the first exception: `'x9' in line
    4`.
    """
    form = FileForm(declared=PLAIN if stream is None else stream.form)
    there = form.in_file("id")
    told = whole_number_ids(Path(path), there) if _is_plain_parquet(Path(path)) else None
    if told is not None:
        return (INT if told else STRING), None
    columns = (Column("id", INT),) if stream is None else stream.columns
    names = tuple(column.name for column in columns)
    raw = form.shaped(read_raw(path, form.columns_in_file(columns), form.declared, names), columns)
    name = next((name for name in raw.columns.columns if name.lower() == "id"), None)
    if name is None:
        return None, None
    ids = raw.columns[name]
    if has_leading_zeros(ids):  # 01 and 1 are two sensors
        return STRING, None
    garbled = read_values(ids, INT).garbled
    if garbled is None:
        return INT, None
    if garbled.sum() * 2 >= len(ids) - ids.null_count():
        return STRING, None
    row = garbled.arg_true().head(1).to_numpy().astype(np.int64)
    return STRING, f"'{str(ids[int(row[0])])[:40]}' in line {raw.lines(row)[0]}"


def has_leading_zeros(ids: pl.Series) -> bool:
    """Whether some are digits with a zero before them, so that they are names and no numbers."""
    return ids.dtype == pl.String and bool(ids.str.contains(r"^\s*0\d").any())


def is_data_file(path: str | Path) -> bool:
    """Whether the name ends in one of the formats that can be read."""
    return _ending(Path(path)) in FORMATS


def file_kind(path: Path, form: Form) -> str | None:
    """csv, json or parquet, by the file's name or else by its declared FORMAT."""
    return FORMATS.get(_ending(path), None if form.format is None else form.format.kind.lower())


def read_raw(
    path: str | Path,
    declared: tuple[Column, ...] | None = None,
    form: Form = PLAIN,
    names: tuple[str, ...] = (),
    values: tuple[str, ...] = (),
) -> RawFile:
    """The file's columns before any type is checked. A format may leave out those that `declared` does not
    name. `names` are the columns that the declared ones become. A JSON line without any of the `values` is set
    aside."""
    path = Path(path)
    ending = _ending(path)
    kind = file_kind(path, form)
    if kind is None:
        raise DataError(
            f"the format of '{path.name}' is not supported",
            hint=_OTHER_FORMATS.get(
                ending,
                f"the name must end in one of {', '.join(FORMATS)}, optionally followed by .gz or .zst",
            ),
        )
    plain = _is_plain_parquet(path)
    if path.is_file() and not path.stat().st_size:
        return RawFile(pl.DataFrame(), row_numbers)
    data = b"" if plain else contents(path)
    try:
        if plain:
            raw = read_parquet(path, declared)
        elif kind == "csv":
            raw = read_csv(data, declared, form)
        elif kind == "json":
            wanted = None if declared is None else tuple(c.name for c in declared)
            raw = read_json_lines(data, wanted, form, names, values)
        else:
            raw = read_parquet(data, declared)
        return _with_partition(raw, path)
    except DataError as error:
        error.detail = f"{path.name}: {error.detail}" if error.detail else path.name
        raise


def _with_partition(raw: RawFile, path: Path) -> RawFile:
    """The file's rows with the columns that its folders give (Hive's partitions), unless it has them
    itself."""
    given = {name.lower() for name in (*raw.names, *raw.columns.columns)}
    added = {name: value for name, value in partition_of(path).items() if name.lower() not in given}
    if not added:
        return raw
    columns = raw.columns.with_columns(
        pl.Series(name, [value], dtype=pl.String).new_from_index(0, raw.columns.height)
        for name, value in added.items()
    )
    names = raw.names or tuple(raw.columns.columns)
    return replace(raw, columns=columns, names=(*names, *added))


def _is_plain_parquet(path: Path) -> bool:
    """Whether Polars can read single columns directly from the file."""
    return path.name.lower().endswith(".parquet") and path.is_file()


def _ending(path: Path) -> str:
    name = path.name.lower()
    for packed in COMPRESSIONS:
        name = name.removesuffix(packed)
    return Path(name).suffix


def format_of(path: str | Path) -> str | None:
    """The format that the name's ending tells: csv, json or parquet."""
    return FORMATS.get(_ending(Path(path)))


def head(path: Path, most: int = 1 << 16) -> bytes:
    """The first bytes of a file, without compression; none if it cannot be read."""
    try:
        if path.suffix.lower() == ".gz":
            with gzip.open(path) as packed:
                return packed.read(most)
        if path.suffix.lower() == ".zst":
            with pa.CompressedInputStream(pa.OSFile(str(path)), "zstd") as packed:
                return bytes(packed.read(most))
        with path.open("rb") as plain:
            return plain.read(most)
    except (OSError, EOFError, zlib.error):
        return b""


def contents(path: Path) -> bytes:
    """The bytes of a file, without compression."""
    try:
        data = path.read_bytes()
    except IsADirectoryError:
        raise DataError(f"'{path}' is a directory, not a data file") from None
    except FileNotFoundError:
        raise DataError(f"there is no file '{path}'", hint=_neighbours(path)) from None
    except OSError as error:
        raise DataError(f"'{path}' cannot be read", detail=error.strerror) from None
    method = COMPRESSIONS.get(path.suffix.lower())
    if method is None:
        return data
    try:
        return _unpacked(data, method, path.name)
    except (OSError, EOFError, zlib.error) as error:
        raise DataError(f"'{path.name}' is not a whole {method} file", detail=str(error)) from None


def _unpacked(data: bytes, method: str, name: str) -> bytes:
    """The bytes without compression, piece by piece: a small file may hold very much."""
    most, found = budget().files, io.BytesIO()
    packed = (
        gzip.GzipFile(fileobj=io.BytesIO(data))
        if method == "gzip"
        else pa.CompressedInputStream(pa.BufferReader(data), method)
    )
    with packed:
        while piece := packed.read(PIECE):
            found.write(piece)
            if found.tell() > most:
                raise DataError(
                    f"'{name}' holds more than {format_bytes(most)} without its compression",
                    detail=f"it has {format_bytes(len(data))} with it",
                    hint="split the file, decompress it, or allow more memory: --memory 8GB",
                )
    # This does not copy them.
    return found.getvalue()


def _neighbours(path: Path) -> str:
    if not path.parent.is_dir():
        return f"the directory '{path.parent}' does not exist either"
    names = sorted(child.name for child in path.parent.iterdir() if is_data_file(child))
    return f"data files there: {', '.join(names[:8]) or 'none'}"
