"""Reads Parquet as raw columns in the types of the file."""

from __future__ import annotations

import io
from pathlib import Path

import polars as pl

from nilometer.errors import DataError
from nilometer.ingest.readers.reading import RawFile, match_columns, row_numbers
from nilometer.types import Column, Kind


def read_parquet(source: bytes | Path, declared: tuple[Column, ...] | None = None) -> RawFile:
    """The file's columns; only those that `declared` names, if given."""
    try:
        names = list(pl.read_parquet_schema(_opened(source)))
        wanted = names if declared is None else list(match_columns(declared, names).values())
        columns = pl.read_parquet(_opened(source), columns=wanted)
    except (pl.exceptions.PolarsError, OSError) as error:
        raise DataError("a Parquet file that cannot be read", detail=str(error).split("\n")[0]) from None
    return RawFile(columns, row_numbers, names=tuple(names))


NEVER_GARBLED = {Kind.INT: pl.Int64, Kind.FLOAT: pl.Float64, Kind.STRING: pl.String, Kind.BOOLEAN: pl.Boolean}
"""For each declared type, the file's type in which every value is sound or NULL."""


def needed_columns(path: Path, declared: tuple[Column, ...], wanted: frozenset[str]) -> tuple[Column, ...]:
    """The declared columns that a query must read: those it wants (lower-case names), and those that may hold
    garbled values, because a garbled row is in no query's answer."""
    try:
        found = pl.read_parquet_schema(path)
    except (pl.exceptions.PolarsError, OSError):
        return declared
    matched = match_columns(declared, found)
    return tuple(
        column
        for column in declared
        if column.name.lower() in wanted
        or (column.name in matched and found[matched[column.name]] != NEVER_GARBLED.get(column.type.kind))
    )


def whole_number_ids(path: Path, column: str = "id") -> bool | None:
    """Whether the ids of a file are whole numbers, by its schema; None if only the values can tell."""
    try:
        found = pl.read_parquet_schema(path)
    except (pl.exceptions.PolarsError, OSError):
        return None
    kind = next((dtype for name, dtype in found.items() if name.lower() == column.lower()), None)
    if kind is None:
        return None
    return True if kind.is_integer() else False if kind == pl.String else None


def _opened(source: bytes | Path) -> Path | io.BytesIO:
    return source if isinstance(source, Path) else io.BytesIO(source)
