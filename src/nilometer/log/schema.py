"""A stream's columns <-> the Arrow schema of a segment, and the rules for changing them.

Each segment carries its own schema. The laws: a column may be added (older segments then return NULLs) and
dropped (the values in older segments are then ignored); a column never changes its type while a segment is
left that has it.

>>> old = arrow_schema({"time": pl.Int64(), "depth": pl.Int64()})
>>> check_change(old, arrow_schema({"time": pl.Int64(), "depth": pl.Float64()}))
Traceback (most recent call last):
nilometer.errors.DataError: column 'depth' is int64 in the log, not double
  hint: a column keeps its type: give the new one another name
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import polars as pl
import pyarrow as pa

from nilometer.errors import DataError, NilometerError

Dtypes = Mapping[str, pl.DataType]


def arrow_schema(columns: Dtypes) -> Any:
    """The Arrow schema of these columns: large strings rather than views, so that every Arrow implementation
    reads them.
    """
    for name, dtype in columns.items():
        if isinstance(dtype, pl.Categorical | pl.Enum | pl.Object | pl.Null):
            raise DataError(
                f"column '{name}' is {dtype}, which a log does not keep",
                hint="cast it to a String or a number"
                if not isinstance(dtype, pl.Null)
                else "give it a type",
            )
    return pl.DataFrame(schema=dict(columns)).to_arrow().schema


def dtypes_of(schema: Any) -> dict[str, pl.DataType]:
    """The Polars dtypes of an Arrow schema."""
    return dict(_dtypes_of(schema))


@lru_cache(maxsize=256)
def _dtypes_of(schema: Any) -> dict[str, pl.DataType]:
    # Cached: a scan asks once per segment, and the conversion through an empty frame takes milliseconds.
    frame = pl.from_arrow(pa.Table.from_batches([], schema))
    assert isinstance(frame, pl.DataFrame)
    return dict(frame.schema)


def to_bytes(schema: Any) -> Any:
    """The schema as an Arrow IPC message."""
    return schema.serialize()


def from_bytes(data: Any) -> Any:
    """The inverse of `to_bytes`. Refuses what no writer of ours has written."""
    try:
        return pa.ipc.read_schema(data)
    except (OSError, ValueError, EOFError, pa.ArrowException) as error:
        raise DataError(f"the columns of a log cannot be read: {error}") from None


def check_change(old: Any, new: Any) -> None:
    """Refuse a column that has different types in the two schemas."""
    for field in new:
        index = old.get_field_index(field.name)
        if index >= 0 and old.field(index).type != field.type:
            raise type_changed(field.name, old.field(index).type, field.type)


def type_changed(name: str, old: Any, new: Any) -> NilometerError:
    """The error for a column that changed its type."""
    return DataError(
        f"column '{name}' is {old} in the log, not {new}",
        hint="a column keeps its type: give the new one another name",
    )


def time_column_of(schema: Any) -> str | None:
    """The column of event times: `time`, in any case, if its type is an integer."""
    for field in schema:
        if field.name.lower() == "time" and pa.types.is_int64(field.type):
            return str(field.name)
    return None


class Packer:
    """Frames -> record batches of one schema. A missing column becomes NULL; an unknown column or another
    type is refused.
    """

    def __init__(self, schema: Any) -> None:
        self.schema = schema
        self._dtypes = dtypes_of(schema)
        self._names, self._types = list(self._dtypes), list(self._dtypes.values())
        # Polars returns strings as views; only then is a second step needed.
        views = pa.RecordBatchReader.from_stream(pl.DataFrame(schema=self._dtypes)).schema
        self._cast = views != schema

    def pack(self, frame: pl.DataFrame) -> Any:
        """One record batch."""
        frame = self.conformed(frame)
        if frame.n_chunks() != 1:
            frame = frame.rechunk()
        if self._cast or not frame.height:
            batches = frame.to_arrow().cast(self.schema).combine_chunks().to_batches()
            return batches[0] if batches else _no_rows(self.schema)
        # Four times as fast as to_arrow(), which makes a Table first.
        return pa.RecordBatchReader.from_stream(frame).read_next_batch()

    def conformed(self, frame: pl.DataFrame) -> pl.DataFrame:
        """The frame in the log's columns."""
        if frame.columns == self._names and frame.dtypes == self._types:
            return frame
        stray = [name for name in frame.columns if name not in self._dtypes]
        if stray:
            raise DataError(
                f"the log has no column '{stray[0]}'",
                detail=f"its columns are {', '.join(self._dtypes)}",
                hint="add it with evolve(), or leave it out",
            )
        columns = []
        for name, dtype in self._dtypes.items():
            found = frame.schema.get(name, pl.Null())
            if found == pl.Null:
                columns.append(pl.lit(None, dtype=dtype).alias(name))
            elif found != dtype:
                raise type_changed(name, dtype, found)
            else:
                columns.append(pl.col(name))
        return frame.select(columns) if frame.width else pl.DataFrame(schema=self._dtypes)


def _no_rows(schema: Any) -> Any:
    return pa.RecordBatch.from_arrays([pa.nulls(0, field.type) for field in schema], schema=schema)


class Unpacker:
    """Record batches of one segment -> frames of the wanted columns, copied only if the batches are small."""

    def __init__(self, segment: Any, wanted: Dtypes, where: str) -> None:
        self.schema = segment
        self._wanted = dict(wanted)
        old = dtypes_of(segment)
        self._found = [name for name in wanted if name in old]
        for name in self._found:
            if old[name] != wanted[name]:
                error = type_changed(name, old[name], wanted[name])
                error.detail = f"segment {where}"
                raise error
        self._same = self._found == segment.names

    def frame(self, batches: list[Any]) -> pl.DataFrame:
        """The batches, concatenated."""
        rows = sum(batch.num_rows for batch in batches)
        if not self._found:
            frame = pl.DataFrame(height=rows)
        elif len(batches) == 1:
            frame = pl.DataFrame(batches[0] if self._same else batches[0].select(self._found))
        else:
            table = pa.Table.from_batches(batches, self.schema)
            if not self._same:
                table = table.select(self._found)
            # Polars takes 60 us per chunk; Arrow joins small ones much faster.
            frame = pl.DataFrame(pl.from_arrow(table.combine_chunks(), rechunk=False))
        if len(self._found) < len(self._wanted):
            frame = frame.select(
                pl.col(name)
                if name in self._found
                else pl.repeat(None, rows, dtype=dtype, eager=True).alias(name)
                for name, dtype in self._wanted.items()
            )
        return frame
