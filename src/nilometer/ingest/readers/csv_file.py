"""Reads CSV as raw text columns. The first line names the columns; `,` `;` or a tab separates; quotes as in
RFC 4180. A declared FORMAT may say otherwise. Without a header the fields are the declared columns in their order;
if a column is declared FROM `column_2`, they are named by their places instead.

The law: a line with too many or too few fields is set aside and the rest are read; an unquoted empty field is
NULL. A quoted field may span lines. But if an unclosed quote has swallowed readings, every line is read by
itself, and only the lines with an open quote are set aside.

>>> read_csv(b"time,depth\\n1,20\\n2,\\n").columns.rows()
[('1', '20'), ('2', None)]
"""

from __future__ import annotations

import csv
import io
import re
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import polars as pl
import pyarrow as pa
import pyarrow.csv as arrow_csv

from nilometer.catalog.form import PLAIN, Form, Format
from nilometer.errors import DataError
from nilometer.ingest.readers.lines import in_utf8, nonblank_lines, repaired, split_lines, spoiled_rows
from nilometer.ingest.readers.reading import DEAD_LETTERS, DeadLetter, RawFile, match_columns
from nilometer.ingest.readers.values import fits
from nilometer.types import FLOAT, TIME, Column, Kind


def read_csv(data: bytes, declared: tuple[Column, ...] | None = None, form: Form = PLAIN) -> RawFile:
    """The columns of a CSV file, as text; only those that `declared` names, if given."""
    format = form.format if form.format is not None and form.format.kind == "CSV" else Format("CSV")
    text, damaged = repaired(in_utf8(data, format.encoding))
    # Skipped lines stay as blank ones, so that the numbers of the others are right.
    text = _skipped(text, format.skip)
    body = text.lstrip(b"\r\n " + (b"" if format.delimiter == "\t" else b"\t"))
    if not body:
        return RawFile(pl.DataFrame(), lambda rows: rows + 2)
    separator, fields = _header(body, format)
    header = 0 if format.header is False else 1
    names = fields if header else _names(fields, declared)
    wanted = names if declared is None else list(match_columns(declared, names).values()) or names[:1]
    clock = _clock(form, names)
    if clock is not None and clock[1] not in wanted:
        wanted = [*wanted, clock[1]]
    way = _Way(separator, format.quote, tuple(names), tuple(wanted), header)
    broken: list[tuple[int, str]] = []
    columns = _parse(body, way, broken, threads=True)
    numbers, opened = None, np.array([], dtype=np.int64)
    quotes = format.quote in (None, '"') and b'"' in body
    if quotes and (body.count(b'"') % 2 or _swallowed(columns, declared, broken)):
        body, numbers, opened = _closed_lines(text, separator)
        broken.clear()
        columns = _parse(body, way, broken, threads=True)
    if broken:
        broken.clear()
        # The parser knows the number of a record only if it runs in a single thread.
        columns = _parse(body, way, broken, threads=False)
    if clock is not None and clock[0] in columns.columns:
        date, time_of_day = clock
        joined = pl.concat_str(pl.col(date), pl.col(time_of_day), separator=" ")
        columns = columns.with_columns(joined.alias(date))
    records = columns.height + len(broken) + header
    aside = np.array([number - 1 for number, _ in broken], dtype=np.int64)

    def record_lines(places: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        # Records are the lines that are not blank. If a quoted field spans several lines, only the numbers of
        # records are known.
        found = nonblank_lines(text) if numbers is None else numbers
        return found[places] if found.size == records else places + 1

    def lines(rows: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        return record_lines(np.setdiff1d(np.arange(header, records), aside)[rows])

    letters = [DeadLetter(line, "a quote that is not closed") for line in opened[:DEAD_LETTERS].tolist()]
    if broken:
        first = record_lines(aside[:DEAD_LETTERS]).tolist()
        letters += [
            DeadLetter(line, reason.split("\n")[0]) for line, (_, reason) in zip(first, broken, strict=False)
        ]
        letters.sort(key=lambda letter: letter.line)
    spoiled = spoiled_rows(columns) if damaged else None
    garbled = len(broken) + opened.size
    return RawFile(columns, lines, tuple(letters[:DEAD_LETTERS]), garbled, spoiled, tuple(names))


def _clock(form: Form, names: list[str]) -> tuple[str, str] | None:
    """The fields of the date and of the time of day, if the FORMAT says CLOCK and the file has both."""
    if form.format is None or form.format.clock is None:
        return None
    date = form.origin("time") or form.sole_time or "time"
    found = match_columns([Column(name, TIME) for name in (date, form.format.clock)], names)
    return (found[date], found[form.format.clock]) if len(found) == 2 else None


def _swallowed(
    columns: pl.DataFrame, declared: tuple[Column, ...] | None, broken: list[tuple[int, str]]
) -> bool:
    """Whether a line end is where none can be: in a row of too many fields, or in a value that is not text
    (as declared, or judged by the column's other values)."""
    if any("\n" in reason for _, reason in broken):
        return True
    if declared is None:
        names = columns.columns
    else:
        plain = [column for column in declared if column.type.kind is not Kind.STRING]
        names = list(match_columns(plain, columns.columns).values())
    for name in names:
        if not columns[name].str.contains("\n", literal=True).any():
            continue
        spans = columns[name].str.strip_chars().str.contains("\n", literal=True)
        others = columns[name].filter(~spans.fill_null(True))
        numbers = others.len() > 0 and (fits(others, FLOAT) or fits(others, TIME))
        if spans.any() and (declared is not None or numbers):
            return True
    return False


def _closed_lines(text: bytes, separator: str) -> tuple[bytes, npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """The lines on which every quote is closed, their numbers, and the numbers of the others."""
    lines = split_lines(text)
    field = rf'(?:"(?:[^"]|"")*"(?:[^"{separator}][^{separator}]*)?|[^"{separator}][^{separator}]*|)'
    closed = lines.str.contains(rf"^{field}(?:{pl.escape_regex(separator)}{field})*$")
    filled = lines.str.strip_chars() != ""
    kept = (filled & closed).arg_true().to_numpy().astype(np.int64)
    opened = (filled & ~closed).arg_true().to_numpy().astype(np.int64)
    header = filled.arg_true()[:1].to_numpy().astype(np.int64)
    kept, opened = np.union1d(header, kept), np.setdiff1d(opened, header)
    return "\n".join(lines.gather(kept)).encode(), kept + 1, opened + 1


def _skipped(text: bytes, count: int) -> bytes:
    place = 0
    for _ in range(count):
        end = text.find(b"\n", place)
        if end < 0:
            return b""
        place = end + 1
    return b"\n" * count + text[place:]


def _header(text: bytes, format: Format) -> tuple[str, list[str]]:
    """The separator, and the fields of the first line. A repeated name gets a number, so that the first one
    wins."""
    end = text.find(b"\n")
    header = text[: end if end >= 0 else len(text)].decode().strip("\r")
    marks = (";", "\t", ",") if format.decimal == "," else (",", ";", "\t")
    separator = format.delimiter or max(marks, key=header.count)
    plain = format.quote == ""
    rows = csv.reader(
        [header],
        delimiter=separator,
        quoting=csv.QUOTE_NONE if plain else csv.QUOTE_MINIMAL,
        quotechar=None if plain else format.quote or '"',
    )
    names: list[str] = []
    for place, field in enumerate(next(rows), start=1):
        name = field.strip() or f"column_{place}"
        names.append(name if name not in names else f"{name}#{place}")
    return separator, names


def _names(fields: list[str], declared: tuple[Column, ...] | None) -> list[str]:
    """The names of the fields of a file without a header."""
    by_place = [f"column_{place}" for place in range(1, len(fields) + 1)]
    if declared is None or any(re.fullmatch(r"column_\d+", column.name) for column in declared):
        return by_place
    names = [column.name for column in declared]
    if len(names) == len(fields) + 1:
        names = [name for name in names if name.lower() != "id"]
    if len(names) != len(fields):
        raise DataError(
            f"a file without a header, with {len(fields)} fields in a line where {len(names)} columns are declared",
            detail=f"the columns are {', '.join(column.name for column in declared)}",
            hint="declare a column for each field, in their order; or say which field it is: time FROM column_1",
        )
    return names


PIECE = 1 << 20
"""The bytes of text beyond which it is cut into columns piece by piece."""


@dataclass(frozen=True)
class _Way:
    """How the text is cut into columns. `header`: how many lines name them."""

    separator: str
    quote: str | None
    names: tuple[str, ...]
    wanted: tuple[str, ...]
    header: int


def _parse(text: bytes, way: _Way, broken: list[tuple[int, str]], *, threads: bool) -> pl.DataFrame:
    quote = '"' if way.quote is None else way.quote

    def set_aside(row: arrow_csv.InvalidRow) -> str:
        reason = f"{row.actual_columns} fields where {row.expected_columns} are named"
        broken.append((row.number or 0, reason + ("\n" if "\n" in row.text.strip() else "")))
        return "skip"

    read_options = arrow_csv.ReadOptions(
        use_threads=threads, column_names=list(way.names), skip_rows_after_names=way.header
    )
    parse_options = arrow_csv.ParseOptions(
        delimiter=way.separator,
        quote_char=quote or False,
        newlines_in_values=bool(quote) and quote.encode() in text,
        invalid_row_handler=set_aside,
    )
    convert_options = arrow_csv.ConvertOptions(
        include_columns=list(way.wanted),
        column_types={name: pa.large_string() for name in way.wanted},
        strings_can_be_null=True,
        null_values=[""],
        quoted_strings_can_be_null=False,
    )
    if len(text) <= PIECE or not threads:
        table = arrow_csv.read_csv(io.BytesIO(text), read_options, parse_options, convert_options)
        return pl.DataFrame(pl.from_arrow(table))
    # Piece by piece: as one table, the texts would be in memory twice.
    with arrow_csv.open_csv(io.BytesIO(text), read_options, parse_options, convert_options) as reader:
        pieces = [pl.DataFrame(pl.from_arrow(batch)) for batch in reader]
        return pl.concat(pieces or [pl.DataFrame(pl.from_arrow(reader.schema.empty_table()))])
