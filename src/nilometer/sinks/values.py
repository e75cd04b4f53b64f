"""Answers in the types of other systems: JSON values, and frames with real timestamps.

In frames, TIME and DURATION are whole microseconds and POINT is a pair. JSON has ISO-8601 text instead (and
NULL for NaN); Arrow has its own timestamps and durations. The CLI prints the same JSON (live/answers.py).
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from nilometer.types import NESTED, Kind, Schema, Type, format_duration, format_time

if TYPE_CHECKING:
    import polars as pl

_CHANGING = {Kind.TIME, Kind.DURATION, Kind.POINT, *NESTED}


def rows_of(frame: pl.DataFrame, schema: Schema) -> list[tuple[Any, ...]]:
    """A frame's rows as plain tuples; POINT as (x, y)."""
    points = [c.name for c in schema if c.type.kind is Kind.POINT]
    rows = frame.select(schema.names).rows()
    if not points:
        return rows
    at = [schema.names.index(name) for name in points]
    return [
        tuple((v["x"], v["y"]) if i in at and v is not None else v for i, v in enumerate(row)) for row in rows
    ]


def converted(
    rows: Sequence[tuple[Any, ...]], schema: Schema, convert: Callable[[Any, Type], Any], changing: set[Kind]
) -> list[Sequence[Any]]:
    """The columns in another form. Each distinct value is converted once, because ticks, ids and states
    repeat.
    """
    if not rows:
        return [[] for _ in schema]
    columns: list[Sequence[Any]] = []
    for column, values in zip(schema, zip(*rows, strict=True), strict=True):
        kind = column.type.kind
        if kind not in changing:
            columns.append(values)
        elif kind in NESTED:
            columns.append([convert(value, column.type) for value in values])
        else:
            known = {value: convert(value, column.type) for value in set(values)}
            columns.append([known[value] for value in values])
    return columns


def json_rows(rows: Sequence[tuple[Any, ...]], schema: Schema) -> Iterator[dict[str, Any]]:
    """Rows as JSON objects; TIME as ISO-8601."""
    columns = converted(rows, schema, to_json, _CHANGING)
    for place, column in enumerate(schema):
        if column.type.kind is Kind.FLOAT:
            columns[place] = _finite(columns[place])
    names = schema.names
    for row in zip(*columns, strict=True):
        yield dict(zip(names, row, strict=True))


def json_lines(rows: Sequence[tuple[Any, ...]], schema: Schema) -> Iterator[str]:
    """One line of JSON per row."""
    return map(json.JSONEncoder(ensure_ascii=False, allow_nan=False).encode, json_rows(rows, schema))


def to_json(value: Any, type_: Type) -> Any:
    """A value in its JSON form."""
    match value, type_.kind:
        case None, _:
            return None
        case microseconds, Kind.TIME:
            return format_time(microseconds)
        case microseconds, Kind.DURATION:
            return format_duration(microseconds)
        case items, Kind.LIST | Kind.VECTOR:
            return [to_json(item, type_.element) for item in items] if type_.element else items
        case fields, Kind.STRUCT:
            return {f.name: to_json(fields[f.name], f.type) for f in type_.fields}
        case point, Kind.POINT:
            # Inside a list or a struct, the value is still as in a frame.
            pair = (point["x"], point["y"]) if isinstance(point, dict) else point
            return list(_finite(pair))
        case float() as number, _:
            return number if math.isfinite(number) else None
        case _:
            return value


def _finite(values: Sequence[float | None]) -> Sequence[float | None]:
    """The values with NULL for NaN and infinities, which JSON does not have."""
    if all(value is None or math.isfinite(value) for value in values):
        return values
    return [value if value is None or math.isfinite(value) else None for value in values]


def outward(frame: pl.DataFrame, schema: Schema) -> pl.DataFrame:
    """The frame with UTC timestamps and durations in place of whole microseconds."""
    import polars as pl

    return frame.select(pl.col(column.name).cast(outward_dtype(column.type)) for column in schema)


def outward_dtype(type_: Type) -> pl.DataType:
    """The dtype that other systems use for a type."""
    import polars as pl

    from nilometer.operators.frames import dtype

    match type_.kind:
        case Kind.TIME:
            return pl.Datetime("us", "UTC")
        case Kind.DURATION:
            return pl.Duration("us")
        case Kind.LIST | Kind.VECTOR if type_.element is not None:
            return pl.List(outward_dtype(type_.element))
        case Kind.STRUCT:
            return pl.Struct({field.name: outward_dtype(field.type) for field in type_.fields})
        case _:
            return dtype(type_)
