"""The bytes of the sink's serial line -> the tuples in its frames.

A frame is `0x70 | n` (which of the sink's inputs its tuples are of), the number of the period's first evaluation, the tuples, `0xFF`, CRC-16
(`runtime/serial.c`). A tuple begins with its evaluation in the period.
"""

from __future__ import annotations

import binascii
import struct
from collections.abc import Iterator, Sequence
from typing import Any

from nilometer.errors import DataError
from nilometer.sensornet.motes.fields import Fields
from nilometer.sensornet.motes.values import MEDIUM, CType

FRAME, FRAME_END = 0x70, 0xFF
_FORMATS = {CType.BYTE: "B", CType.SHORT: "h", CType.LONG: "i", CType.NUMBER: "I", CType.FLOAT: "f"}


def read_frames(
    serial: bytes, kinds: Sequence[Fields], start: int, interval: int
) -> Iterator[tuple[int, int, dict[str, Any]]]:
    """Of every tuple: which kind it is of, the number of its evaluation, its columns (TIME in microseconds: `start` is that of the
    first evaluation)."""
    layouts = [_layout(fields) for fields in kinds]
    at = 0
    while at < len(serial):
        kind = serial[at] - FRAME
        if not 0 <= kind < len(kinds):
            raise _garbled(f"byte {at} is {serial[at]:#04x}")
        first = int.from_bytes(serial[at + 1 : at + 5], "little")
        begin = end = at + 5
        while end < len(serial) and serial[end] != FRAME_END:
            end += layouts[kind].size
        if end + 3 > len(serial):
            return  # the run ended within a frame
        if binascii.crc_hqx(serial[at + 1 : end + 1], 0) != int.from_bytes(serial[end + 1 : end + 3], "big"):
            raise _garbled(f"the frame at byte {at} has a wrong checksum")
        for epoch, *values in layouts[kind].iter_unpack(serial[begin:end]):
            yield kind, first + epoch, _unpacked(values, kinds[kind], start, interval)
        at = end + 3


def _layout(fields: Fields) -> struct.Struct:
    columns = "".join(f"{MEDIUM}s" if f.narrow else _FORMATS[f.ctype] for f in fields.values())
    return struct.Struct(f"<B{columns or 'x'}")  # a tuple without columns has a byte to spare


def _garbled(detail: str) -> DataError:
    return DataError(
        "the sink's serial line is garbled", detail=detail, hint="this should not happen: report it"
    )


def _unpacked(values: list[Any], fields: Fields, start: int, interval: int) -> dict[str, Any]:
    row: dict[str, Any] = {}
    for (name, field), value in zip(fields.items(), values, strict=True):
        if field.narrow:
            value = int.from_bytes(value, "little", signed=True)
        null = field.nullable and (value != value or value == field.null_value)
        row[name] = None if null else start + value * interval if field.is_time else value
    return row
