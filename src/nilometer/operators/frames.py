"""Frames: schema -> Polars dtypes, empty frames of a shape, frame <-> bytes (Arrow IPC).

The law: `from_bytes(to_bytes(frame))` is the same frame, dtypes and nulls included. Every frame that an
operator returns, even an empty one, has exactly the dtypes that these functions name (operators/logic.py
lists them).

>>> from nilometer.types import INT, POINT, Column, Schema
>>> dtypes(Schema((Column("R.depth", INT), Column("R.at", POINT))))
{'R.depth': Int64, 'R.at': Struct({'x': Float64, 'y': Float64})}
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Mapping
from functools import lru_cache

import polars as pl
import pyarrow as pa

from nilometer.operators.logic import EVALUATION, ID, POSITION, TICK, TIME
from nilometer.types import INT, Kind, Schema, Type

Dtypes = dict[str, pl.DataType]

_COMPACT = pl.CompatLevel.oldest()
_MANY_ROWS = 2_048
_MANY_BYTES = 65_536

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
        inner = dtype(type_.element)
        return pl.List(inner) if type_.size is None else pl.Array(inner, type_.size)
    if type_.kind is Kind.STRUCT:
        return pl.Struct({field.name: dtype(field.type) for field in type_.fields})
    return _SCALARS[type_.kind]


def dtypes(schema: Schema) -> Dtypes:
    """The dtypes of the visible columns, in order. These are the columns of a table's frame."""
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
    return _empty(tuple(columns.items())).clone()


@lru_cache(maxsize=1024)
def _empty(columns: tuple[tuple[str, pl.DataType], ...]) -> pl.DataFrame:
    """Made once: it takes Polars a third of a millisecond, and an operator needs one in every round."""
    return pl.DataFrame(schema=dict(columns))


def conform(frame: pl.DataFrame, columns: Mapping[str, pl.DataType]) -> pl.DataFrame:
    """Returns the frame's columns of these names, in this order and of these dtypes (a column of NULLs gets
    its dtype).
    """
    found = frame.schema
    if columns and all(found[name] == wanted for name, wanted in columns.items()):
        # A lazy plan would cost more than the look-ups.
        return pl.DataFrame([frame.get_column(name) for name in columns])
    return frame.select(
        pl.col(name) if found[name] == wanted else pl.col(name).cast(wanted)
        for name, wanted in columns.items()
    )


def concatenate(frames: Iterable[pl.DataFrame], columns: Mapping[str, pl.DataType]) -> pl.DataFrame:
    """Returns the frames one after the other, in one chunk. Without frames it returns an empty frame of these
    columns.
    """
    kept = [frame for frame in frames if frame.height]
    if not kept:
        return empty(columns)
    return kept[0] if len(kept) == 1 else pl.concat(kept, rechunk=True)


def evaluations(ticks: pl.Series) -> pl.DataFrame:
    """Returns the evaluations of a time window, whose number and tick are the same."""
    return pl.DataFrame({EVALUATION: ticks.cast(pl.Int64), TICK: ticks.cast(pl.Int64)})


def to_bytes(frame: pl.DataFrame) -> bytes:
    """Returns the frame as an Arrow IPC stream. Equal frames give equal bytes: strings are written one after
    the other, not as views.
    """
    frame = frame.rechunk()
    if frame.height < _MANY_ROWS:  # the fixed cost counts: that of Polars is a quarter of pyarrow's
        buffer = io.BytesIO()
        frame.write_ipc_stream(buffer, compression="uncompressed", compat_level=_COMPACT)
        return buffer.getvalue()
    table = frame.to_arrow(compat_level=_COMPACT)
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    data: bytes = sink.getvalue().to_pybytes()
    return data


def from_bytes(data: bytes) -> pl.DataFrame:
    """Returns the frame that `to_bytes` was given. Columns of numbers share the memory of the bytes instead
    of copying it.
    """
    if len(data) < _MANY_BYTES:
        return pl.read_ipc_stream(data)
    with pa.ipc.open_stream(pa.py_buffer(data)) as reader:
        frame = pl.from_arrow(reader.read_all(), rechunk=False)
    assert isinstance(frame, pl.DataFrame)
    return frame


class Saved:
    """A cache of the bytes of a frame that is replaced but never changed. They are made once for each
    frame.
    """

    def __init__(self) -> None:
        self._frame: pl.DataFrame | None = None
        self._data = b""

    def __call__(self, frame: pl.DataFrame) -> bytes:
        """Returns the frame's bytes: the same object for the same frame."""
        if frame is not self._frame:
            self._data = to_bytes(frame)
            self._frame = frame
        return self._data

    def load(self, data: bytes) -> pl.DataFrame:
        """Returns the frame of these bytes and remembers them as its bytes."""
        self._frame, self._data = from_bytes(data), data
        return self._frame
