"""Reads a stored extent, and finds the columns of one that was declared without any.

`url` is a file (CSV, JSON lines, Parquet; a path or `file://`), `sqlite:///file` or `postgresql://…`. The
law: a table is read whole and as declared. A value that is not of its column's type is an error, because no
ledger counts a table's rows.
"""

from __future__ import annotations

from pathlib import Path
from urllib.parse import unquote

import polars as pl

from nilometer.catalog.extents import Table
from nilometer.errors import DataError
from nilometer.ingest.readers.databases import is_database, read_database
from nilometer.ingest.readers.files import read_raw
from nilometer.ingest.readers.reading import RawFile, match_columns, read_rows
from nilometer.ingest.readers.values import fits
from nilometer.types import BOOLEAN, FLOAT, INT, POINT, STRING, TIME, Column, Type


def read_table(table: Table, base: str | Path | None = None) -> pl.DataFrame:
    """The rows of a stored extent, in its declared columns. Relative paths start from `base`."""
    raw = _read(table.url, table.table or table.name, table.columns, base)
    missing = [
        column.name
        for column in table.columns
        if column.name not in match_columns([column], raw.columns.columns)
    ]
    if missing:
        raise DataError(
            f"the table '{table.name}' has no column '{missing[0]}'",
            detail=f"columns found: {', '.join(raw.names or raw.columns.columns) or 'none'}",
            hint="correct the columns of CREATE TABLE, or leave them out: they are then taken from the data",
        )
    reading = read_rows(raw, table.columns, f"the table '{table.name}'")
    if reading.garbled:
        raise DataError(
            f"{reading.garbled} of {reading.received} rows of the table '{table.name}' are not as declared",
            detail="; ".join(map(str, reading.dead_letters[:3])),
            hint="correct the data, or the types in CREATE TABLE",
        )
    return reading.rows


def describe_table(url: str, table_name: str, base: str | Path | None = None) -> tuple[Column, ...]:
    """The columns of the data. A text column gets the narrowest type that all its values fit."""
    raw = _read(url, table_name, None, base)
    if not raw.columns.width:
        raise DataError(
            f"the table '{table_name}' has no columns", detail=url, hint="name the columns in CREATE TABLE"
        )
    return described_columns(raw)


def described_columns(raw: RawFile) -> tuple[Column, ...]:
    """The columns of a file, without those that no type of the language can hold."""
    described = ((column.name, _type(column)) for column in raw.columns)
    return tuple(Column(name, type_) for name, type_ in described if type_ is not None)


def _read(url: str, name: str, declared: tuple[Column, ...] | None, base: str | Path | None) -> RawFile:
    if is_database(url):
        prefix = "sqlite:///"
        if base is not None and url.startswith(prefix):
            url = prefix + str(Path(base) / url[len(prefix) :])
        return read_database(url, name, declared)
    if "://" in url and not url.startswith("file://"):
        raise DataError(
            f"a table cannot be read from '{url.split('://')[0]}://'",
            hint="use a CSV, JSON-lines or Parquet file, sqlite:///file or postgresql://user@host/database",
        )
    path = Path(unquote(url.removeprefix("file://")) if url.startswith("file://") else url)
    return read_raw(Path(base) / path if base is not None else path, declared)


def _type(column: pl.Series) -> Type | None:
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
        case pl.Null:
            return STRING
        case kind if kind.is_integer():
            return INT
        case kind if kind.is_numeric():
            return FLOAT
    if column.null_count() == len(column):
        return STRING
    return next(type_ for type_ in (INT, FLOAT, BOOLEAN, TIME, POINT, STRING) if fits(column, type_))
