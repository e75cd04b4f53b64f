"""Reads a stored extent, and finds the columns of one that was declared without any.

`url` is a file, a directory or a pattern (CSV, JSON lines, Parquet; a path or `file://`), `sqlite:///file` or
`postgresql://…`. The law: a table is read whole and as declared. A value that is not of its column's type is
an error, because no ledger counts a table's rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from urllib.parse import unquote

import polars as pl

from nilometer.catalog.address import scheme_of
from nilometer.catalog.extents import Table
from nilometer.catalog.form import PLAIN, Form, Format
from nilometer.errors import DataError
from nilometer.ingest.readers.databases import is_database, read_database
from nilometer.ingest.readers.file_form import FileForm
from nilometer.ingest.readers.file_set import find_files
from nilometer.ingest.readers.files import read_raw
from nilometer.ingest.readers.reading import RawFile, match_columns, read_rows
from nilometer.ingest.readers.values import fits, has_thousands
from nilometer.redaction import redacted
from nilometer.types import BOOLEAN, FLOAT, INT, POINT, STRING, TIME, Column, Type


def read_table(table: Table, base: str | Path | None = None) -> pl.DataFrame:
    """The rows of a stored extent, in its declared columns. Relative paths start from `base`."""
    form = FileForm(declared=table.form)
    wanted = form.columns_in_file(table.columns)
    names = tuple(column.name for column in table.columns)
    parts = []
    for label, raw in _read(table.url, table.table or table.name, wanted, base, table.form, names):
        shaped = form.shaped(raw, table.columns)
        what = f"the table '{table.name}'" + (f" ({label})" if label else "")
        missing = [
            column.name
            for column in table.columns
            if column.name not in match_columns([column], shaped.columns.columns)
        ]
        if missing:
            raise DataError(
                f"{what} has no column '{missing[0]}'",
                detail=f"columns found: {', '.join(shaped.names or shaped.columns.columns) or 'none'}",
                hint="correct the columns of CREATE TABLE, or leave them out: they are then taken from the data",
            )
        reading = read_rows(shaped, table.columns, what, format=table.form.format)
        if reading.garbled:
            raise DataError(
                f"{reading.garbled} of {reading.received} rows of {what} are not as declared",
                detail="; ".join(map(str, reading.dead_letters[:3])),
                hint="correct the data, or the types in CREATE TABLE",
            )
        parts.append(reading.rows.rechunk())
    return pl.concat(parts)


def describe_table(
    url: str, table_name: str, base: str | Path | None = None, form: Form = PLAIN
) -> tuple[Column, ...]:
    """The columns of the data. A text column gets the narrowest type that all its values fit."""
    columns = unified_columns((raw for _, raw in _read(url, table_name, None, base, form)), form)
    if not columns:
        raise DataError(
            f"the table '{table_name}' has no columns",
            detail=redacted(url),
            hint="name the columns in CREATE TABLE",
        )
    return columns


def described_columns(raw: RawFile, form: Form = PLAIN) -> tuple[Column, ...]:
    """The columns of a file, without those that no type of the language can hold."""
    described = ((column.name, _type(column, form.format)) for column in raw.columns)
    return tuple(Column(name, type_) for name, type_ in described if type_ is not None)


def unified_columns(raws: Iterable[RawFile], form: Form = PLAIN) -> tuple[Column, ...]:
    """The columns of several files, each with a type that the values of all of them fit. A column without any
    value says nothing about its type."""
    found: dict[str, Type | None] = {}
    empty: dict[str, Type] = {}
    for raw in raws:
        for column in described_columns(raw, form):
            if raw.columns[column.name].null_count() == raw.columns.height:
                empty.setdefault(column.name, column.type)
                found.setdefault(column.name, None)
            else:
                before = found.get(column.name)
                found[column.name] = column.type if before is None else _wider(before, column.type)
    return tuple(Column(name, empty[name] if type_ is None else type_) for name, type_ in found.items())


def _wider(one: Type, other: Type) -> Type:
    if one == other:
        return one
    return FLOAT if {one, other} == {INT, FLOAT} else STRING


def _read(
    url: str,
    name: str,
    declared: tuple[Column, ...] | None,
    base: str | Path | None,
    form: Form,
    names: tuple[str, ...] = (),
) -> Iterator[tuple[str, RawFile]]:
    """The database's table, or each file, with its label if there are several."""
    if is_database(url):
        prefix = "sqlite:///"
        if base is not None and url.startswith(prefix):
            url = prefix + str(Path(base) / url[len(prefix) :])
        yield "", read_database(url, name, declared)
        return
    if "://" in url and not url.startswith("file://"):
        raise DataError(
            f"a table cannot be read from '{scheme_of(url)}://'",
            hint="use a CSV, JSON-lines or Parquet file, sqlite:///file or postgresql://user@host/database",
        )
    path = Path(unquote(url.removeprefix("file://")) if url.startswith("file://") else url)
    files = find_files(Path(base) / path if base is not None else path)
    for each in files.paths:
        yield files.label(each) if len(files.paths) > 1 else "", read_raw(each, declared, form, names)


def _type(column: pl.Series, format: Format | None = None) -> Type | None:
    """The type of a column; None if no type of the language can hold its values."""
    match column.dtype:
        case pl.Boolean:
            return BOOLEAN
        case pl.Datetime() | pl.Date:
            return TIME
        case pl.Struct() | pl.List() | pl.Array():
            return POINT if fits(column, POINT) else None
        case pl.Binary | pl.Object:
            return None
        case pl.Duration():
            return FLOAT
        case pl.Null:
            return STRING
        case kind if kind.is_integer():
            return INT
        case kind if kind.is_numeric():
            return FLOAT
    if column.null_count() == len(column):
        return STRING
    types: tuple[Type, ...] = (INT, FLOAT, BOOLEAN, TIME, POINT, STRING)
    if column.dtype == pl.String and has_thousands(column):
        types = (INT, FLOAT, STRING)
    if format is not None and format.time_format is not None:
        types = (TIME, *types)
    return next(type_ for type_ in types if fits(column, type_, format))
