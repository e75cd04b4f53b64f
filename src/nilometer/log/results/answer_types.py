"""A query's schema <-> its description in the result log, so that the answers can be read without the query.

A log keeps dtypes, in which a TIME and a DURATION are integers like an INT. A commit's note names the columns
that hold them, and no others.

>>> from nilometer.operators.frames import dtypes
>>> schema = Schema(
...     (Column("seen", TIME), Column("depth", INT), Column("path", list_of(struct_of(Column("at", TIME)))))
... )
>>> types_of(schema)
{'seen': 'TIME', 'path': [{'at': 'TIME'}]}
>>> schema_of(dtypes(schema), types_of(schema)) == schema
True
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars as pl

from nilometer.operators.frames import dtype
from nilometer.types import (
    BOOLEAN,
    DURATION,
    FLOAT,
    INT,
    POINT,
    STRING,
    TIME,
    Column,
    Kind,
    Schema,
    Type,
    list_of,
    struct_of,
    vector_of,
)

Types = Mapping[str, Any]
"""For some columns: "TIME", "DURATION", a list of one for a LIST, an object for a STRUCT."""


def types_of(schema: Schema) -> dict[str, Any]:
    """The types that the schema's dtypes do not tell."""
    told = ((column.name, _told(column.type)) for column in schema)
    return {name: found for name, found in told if found is not None}


def schema_of(columns: Mapping[str, pl.DataType], types: Types) -> Schema:
    """The schema of a log's columns."""
    return Schema(tuple(Column(name, type_of(found, types.get(name))) for name, found in columns.items()))


def type_of(found: pl.DataType, told: Any = None) -> Type:
    """The type of a dtype and its description; the inverse of `frames.dtype`."""
    if isinstance(found, pl.List):
        return list_of(type_of(_instance(found.inner), told[0] if told else None))
    if isinstance(found, pl.Array):
        return vector_of(type_of(_instance(found.inner)), found.size)
    if found == dtype(POINT):
        return POINT
    if isinstance(found, pl.Struct):
        inner = told or {}
        return struct_of(
            *(
                Column(field.name, type_of(_instance(field.dtype), inner.get(field.name)))
                for field in found.fields
            )
        )
    if found == pl.Int64 and told in (Kind.TIME, Kind.DURATION):
        return TIME if told == Kind.TIME else DURATION
    return next(plain for plain in (INT, FLOAT, BOOLEAN, STRING) if dtype(plain) == found)


def _told(type_: Type) -> Any:
    if type_.element is not None:
        inner = _told(type_.element)
        return None if inner is None else [inner]
    if type_.kind is Kind.STRUCT:
        return types_of(Schema(type_.fields)) or None
    return str(type_.kind) if type_.kind in (Kind.TIME, Kind.DURATION) else None


def _instance(found: Any) -> pl.DataType:
    """Polars may name a dtype by its class."""
    return pl.Series(dtype=found).dtype
