"""Parquet -> raw columns in the types the file has."""

from __future__ import annotations

import io

import polars as pl

from nilometer.edge.readers.reading import RawFile, match_columns, row_numbers
from nilometer.errors import DataError
from nilometer.types import Column


def read_parquet(data: bytes, declared: tuple[Column, ...] | None = None) -> RawFile:
    """The file's columns; only those that `declared` names, if given."""
    try:
        names = list(pl.read_parquet_schema(io.BytesIO(data)))
        wanted = names if declared is None else list(match_columns(declared, names).values())
        columns = pl.read_parquet(io.BytesIO(data), columns=wanted)
    except (pl.exceptions.PolarsError, OSError) as error:
        raise DataError("a Parquet file that cannot be read", detail=str(error).split("\n")[0]) from None
    return RawFile(columns, row_numbers, names=tuple(names))
