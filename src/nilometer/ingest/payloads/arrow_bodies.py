"""An Arrow IPC stream from a stranger as rows, or as a dead letter.

A few bytes of Arrow can stand for any number of rows: compressed buffers, columns of NULLs, runs, and texts that many
rows share. So a stream is looked at before it is read: its buffers are not compressed, its columns are of types that
take room in the body, and the rows that it says it has are at most MOST_ROWS. Texts that are shared are counted as often
as they are used.

The law: whatever the bytes are, the result is rows and garbled readings, and takes memory in proportion to the body.
"""

from __future__ import annotations

import io
import struct

import polars as pl
import pyarrow as pa
from polars.exceptions import PanicException

from nilometer.catalog.extents import Stream
from nilometer.errors import DataError, NilometerError
from nilometer.ingest.payloads.messages import Decoded, Garbled
from nilometer.ingest.readers import read_frame

MOST_ROWS = 2_000_000
"""The most rows of one body. As JSON, so many would take more than a request may have."""
MOST_TEXT = 64 << 20
"""The most bytes of all texts in the rows."""
LETTER_BYTES = 10_000
"""How much of a body that cannot be read is kept as a dead letter."""

_RECORD_BATCH, _DICTIONARY_BATCH = 3, 2
_PLAIN = (
    pa.types.is_integer,
    pa.types.is_floating,
    pa.types.is_boolean,
    pa.types.is_string,
    pa.types.is_large_string,
    pa.types.is_string_view,
    pa.types.is_timestamp,
    pa.types.is_date,
    pa.types.is_duration,
    pa.types.is_decimal,
)


def read_arrow(payload: bytes, stream: Stream, nothing: pl.DataFrame, source: str) -> Decoded:
    """The rows of a body; `nothing` has the columns and no rows."""
    try:
        _look(payload)
        frame = pl.read_ipc_stream(io.BytesIO(payload))
        _check_texts(frame)
        reading = read_frame(frame, stream)
    except NilometerError as error:
        return Decoded(nothing, (Garbled(payload[:LETTER_BYTES], error.message, source),))
    except (Exception, PanicException):  # whatever the libraries say of bytes that are not Arrow's
        return Decoded(nothing, (Garbled(payload[:LETTER_BYTES], "this is no Arrow IPC stream", source),))
    letters: tuple[Garbled, ...] = ()
    if reading.garbled:
        reasons = "; ".join(map(str, reading.dead_letters))
        letters = (Garbled(payload[:LETTER_BYTES], reasons, source, reading.garbled),)
    return Decoded(reading.rows, letters)


def _look(payload: bytes) -> None:
    """Refuse a stream that is larger than it looks, before anything of it is unpacked."""
    rows = 0
    for message in pa.ipc.MessageReader.open_stream(payload):
        if message.type == "schema":
            for field in pa.ipc.read_schema(message):
                if not _takes_room(field.type):
                    raise DataError(f"the Arrow type {field.type} of '{field.name}' is not taken here")
            continue
        length, compressed = _batch(message.metadata.to_pybytes())
        if compressed:
            raise DataError("a compressed Arrow stream is not taken here")
        rows += length
        if length < 0 or rows > MOST_ROWS:
            raise DataError(f"an Arrow stream of more than {MOST_ROWS:,} rows is not taken at once")


def _takes_room(kind: pa.DataType) -> bool:
    if pa.types.is_dictionary(kind):
        return _takes_room(kind.value_type)
    if pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind):
        return _takes_room(kind.value_type)  # a point, as a list of two numbers
    if pa.types.is_struct(kind):
        return kind.num_fields > 0 and all(_takes_room(kind.field(n).type) for n in range(kind.num_fields))
    return any(known(kind) for known in _PLAIN)


def _batch(metadata: bytes) -> tuple[int, bool]:
    """The rows of a record batch or dictionary, and whether it is compressed. The metadata is a flatbuffer: Message
    (version, header_type, header, bodyLength), RecordBatch (length, nodes, buffers, compression)."""
    message = _offset(metadata, 0)
    kind = _field(metadata, message, 1)
    header = _field(metadata, message, 2)
    if kind is None or header is None:
        raise DataError("this is no Arrow IPC stream")
    batch = _offset(metadata, header)
    if metadata[kind] == _DICTIONARY_BATCH:
        data = _field(metadata, batch, 1)
        if data is None:
            return 0, False
        batch = _offset(metadata, data)
    elif metadata[kind] != _RECORD_BATCH:
        raise DataError("this is no Arrow IPC stream")
    length = _field(metadata, batch, 0)
    rows = 0 if length is None else struct.unpack_from("<q", metadata, length)[0]
    return rows, _field(metadata, batch, 3) is not None


def _offset(data: bytes, at: int) -> int:
    return at + int(struct.unpack_from("<I", data, at)[0])


def _field(data: bytes, table: int, number: int) -> int | None:
    """Where a field of a flatbuffer's table is; None if it is not there."""
    known = table - int(struct.unpack_from("<i", data, table)[0])
    if known < 0 or 4 + 2 * number >= struct.unpack_from("<H", data, known)[0]:
        return None
    (offset,) = struct.unpack_from("<H", data, known + 4 + 2 * number)
    return table + int(offset) if offset else None


def _check_texts(frame: pl.DataFrame) -> None:
    size = 0
    for column in frame.select(pl.selectors.string() | pl.selectors.categorical()).iter_columns():
        size += int(column.cast(pl.String).str.len_bytes().sum())
    if size > MOST_TEXT:
        raise DataError(f"the texts of an Arrow stream have {size >> 20} MiB, more than {MOST_TEXT >> 20}")
