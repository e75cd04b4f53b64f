"""Frames: schema -> Polars dtypes, empty frames of a shape, frame <-> bytes (Arrow IPC).

The law: `from_bytes(to_bytes(frame))` is the same frame, dtypes and nulls included; every frame that an operator gives
out, also an empty one, has exactly the dtypes that these functions name (operators/logic.py lists them).

>>> from nilometer.types import INT, POINT, Column, Schema
>>> dtypes(Schema((Column("R.depth", INT), Column("R.at", POINT))))
{'R.depth': Int64, 'R.at': Struct({'x': Float64, 'y': Float64})}
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Mapping

import polars as pl

from nilometer.operators.logic import EVALUATION, ID, POSITION, TICK, TIME
from nilometer.types import INT, Kind, Schema, Type

Dtypes = dict[str, pl.DataType]

_SCALARS: dict[Kind, pl.DataType] = {
    Kind.INT: pl.Int64(),
    Kind.FLOAT: pl.Float64(),
    Kind.STRING: pl.String(),
    Kind.BOOLEAN: pl.Boolean(),
    Kind.TIME: pl.Int64(),
    Kind.DURATION: pl.Int64(),
    Kind.POINT: pl.Struct({"x": pl.Float64(), "y": pl.Float64()}),
    Kind.NULL: pl.Null(),
}


def dtype(type_: Type) -> pl.DataType:
    """The Polars dtype that holds values of a type."""
    if type_.element is not None:
        return pl.List(dtype(type_.element))
    if type_.kind is Kind.STRUCT:
        return pl.Struct({field.name: dtype(field.type) for field in type_.fields})
    return _SCALARS[type_.kind]


def dtypes(schema: Schema) -> Dtypes:
    """The visible columns' dtypes, in order: what a table's frame has."""
    return {column.name: dtype(column.type) for column in schema}


def stream_dtypes(schema: Schema, id_type: Type = INT) -> Dtypes:
    """A stream's system columns, then its visible ones."""
    system: Dtypes = {TICK: pl.Int64(), TIME: pl.Int64(), ID: dtype(id_type), POSITION: pl.Int64()}
    return system | dtypes(schema)


def window_dtypes(schema: Schema) -> Dtypes:
    """The system columns of windows, then the visible ones."""
    return {EVALUATION: pl.Int64(), TICK: pl.Int64()} | dtypes(schema)


def empty(columns: Mapping[str, pl.DataType]) -> pl.DataFrame:
    """A frame of these columns without rows."""
    return pl.DataFrame(schema=dict(columns))


def conform(frame: pl.DataFrame, columns: Mapping[str, pl.DataType]) -> pl.DataFrame:
    """The frame's columns of these names, in this order and of these dtypes (a column of NULLs gets its dtype)."""
    found = frame.schema
    return frame.select(
        pl.col(name) if found[name] == wanted else pl.col(name).cast(wanted)
        for name, wanted in columns.items()
    )


def concatenate(frames: Iterable[pl.DataFrame], columns: Mapping[str, pl.DataType]) -> pl.DataFrame:
    """The frames one after the other, in one chunk; an empty frame of these columns for none."""
    kept = [frame for frame in frames if frame.height]
    if not kept:
        return empty(columns)
    return kept[0] if len(kept) == 1 else pl.concat(kept, rechunk=True)


def evaluations(ticks: pl.Series) -> pl.DataFrame:
    """The evaluations of a time window: number and tick are the same."""
    return pl.DataFrame({EVALUATION: ticks.cast(pl.Int64), TICK: ticks.cast(pl.Int64)})


def to_bytes(frame: pl.DataFrame) -> bytes:
    """The frame as an Arrow IPC file, equal bytes for equal frames."""
    buffer = io.BytesIO()
    frame.rechunk().write_ipc(buffer, compression="uncompressed")
    return buffer.getvalue()


def from_bytes(data: bytes) -> pl.DataFrame:
    """The frame that `to_bytes` was given."""
    return pl.read_ipc(io.BytesIO(data))
