"""JSON objects whose fields are the declared columns, each of its type -> typed rows, in one pass of Arrow's parser.

Nearly all readings that programs send are such objects. The law: `read` gives the rows that the decoder's general way
would give, or None where a single object is anything else (another spelling, a field more, no time, a value of another
type, damage); then that way reads all of them, and says why.

>>> from nilometer.types import FLOAT, INT, TIME
>>> plain = PlainObjects((Column("id", INT), Column("time", TIME), Column("depth", FLOAT)))
>>> plain.read([b'{"id": 1, "time": "2026-03-01T06:00:00Z", "depth": 2}']).rows()
[(1, 1772344800000000, 2.0)]
>>> plain.read([b'{"id": 1, "time": "2026-03-01T06:00:00Z", "Depth": 2}'])
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from operator import and_

import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.json as pj

from nilometer.ingest.readers.epochs import LATEST, MICROSECONDS
from nilometer.types import Column, Kind

_ARROW = {
    Kind.INT: pa.int64(),
    Kind.FLOAT: pa.float64(),
    Kind.STRING: pa.large_string(),
    Kind.BOOLEAN: pa.bool_(),
}
_STAMP = pa.timestamp("us", "UTC")


class PlainObjects:
    """Reads objects with these columns, among them `time` and perhaps `id`, which must have values."""

    def __init__(self, columns: tuple[Column, ...], time: str = "time", id: str = "id") -> None:
        self._columns = tuple(column.name for column in columns)
        self._floats = [column.name for column in columns if column.type.kind is Kind.FLOAT]
        self._values = [name for name in self._columns if name not in (time, id)]
        self._needed = [name for name in self._columns if name in (time, id)]
        self._time = time
        kinds = {column.name: _ARROW.get(column.type.kind) for column in columns if column.name != time}
        self.possible = None not in kinds.values() and bool(self._values) and time in self._columns
        """Whether there is an Arrow type for every column."""
        self._asked = (
            [self._options(kinds, form) for form in (pa.int64(), pa.large_string())] if self.possible else []
        )

    def _options(self, kinds: dict[str, pa.DataType | None], time: pa.DataType) -> pj.ParseOptions:
        schema = pa.schema([(name, time if name == self._time else kinds[name]) for name in self._columns])
        return pj.ParseOptions(explicit_schema=schema, unexpected_field_behavior="error")

    def read(self, payloads: Sequence[bytes]) -> pl.DataFrame | None:
        """The rows, one for each payload; None if not all of them are plain."""
        if not self.possible or not all(one[:1] == b"{" and one[-1:] == b"}" for one in payloads):
            return None
        text = b"\n".join(payloads)
        try:
            text.decode()
        except UnicodeDecodeError:
            return None
        table = self._parsed(text)
        # An object ends where its payload ends: no JSON goes on with `{` after a `}`. So as many rows as payloads are
        # one row each.
        if table is None or table.num_rows != len(payloads):
            return None
        if any(table.column(name).null_count for name in self._needed):
            return None
        times = table.column(self._time)
        if times.type != pa.int64():
            try:
                times = pc.cast(times, _STAMP).cast(pa.int64())
            except pa.ArrowInvalid:
                return None
            table = table.set_column(self._columns.index(self._time), self._time, times)
        rows = pl.from_arrow(table)
        assert isinstance(rows, pl.DataFrame)
        return rows if self._sound(rows) else None

    def _sound(self, rows: pl.DataFrame) -> bool:
        """Whether the general way would take the values as they are."""
        stamps = rows.get_column(self._time)
        # Smaller and larger numbers are read by their size (epochs.py).
        if stamps.min() < MICROSECONDS or stamps.max() >= LATEST:  # type: ignore[operator]
            return False
        if not all(rows.get_column(name).is_finite().all() for name in self._floats):
            return False
        values = [rows.get_column(name).is_null() for name in self._values]
        return not any(some.any() for some in values) or not reduce(and_, values).any()

    def _parsed(self, text: bytes) -> pa.Table | None:
        """The objects as a table; times are all numbers or all texts, as they were the last time."""
        reading = pj.ReadOptions(use_threads=False, block_size=len(text) + 1)
        for options in self._asked:
            try:
                found = pj.read_json(pa.BufferReader(text), read_options=reading, parse_options=options)
            except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
                continue
            if options is not self._asked[0]:
                self._asked.reverse()
            return found
        return None
