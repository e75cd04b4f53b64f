"""The bytes of the sink's serial line, as they arrive -> frames of tuples.

A frame is `0x70 | n` (the sink's input that its tuples belong to), the number of the period's first
evaluation, the tuples, `0xFF`, CRC-16 (`runtime/serial.c`). A tuple begins with its evaluation in the period.
The checksum starts from the plan's fingerprint, so the output of another program never passes for an answer.
The reader skips and counts bytes that belong to no frame, and finds the next frame.
"""

from __future__ import annotations

import binascii
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from nilometer.sensornet.motes.fields import Fields
from nilometer.sensornet.motes.values import MEDIUM, CType

FRAME, FRAME_END = 0x70, 0xFF
HEAD, TAIL = 5, 3
"""Bytes before and after the tuples."""

_FORMATS = {CType.BYTE: "B", CType.SHORT: "h", CType.LONG: "i", CType.NUMBER: "I", CType.FLOAT: "f"}


@dataclass(frozen=True)
class Frame:
    """Tuples of one kind and one period: for each, its evaluation in the period and its values as they were
    sent."""

    kind: int
    first: int
    tuples: tuple[tuple[Any, ...], ...]


@dataclass(frozen=True)
class FrameKind:
    """The contents of one kind of frames: the fields of its tuples, and their greatest number."""

    fields: Fields
    most: int


class FrameReader:
    """`beta`: evaluations in a period. `skipped`: bytes that were in no frame."""

    def __init__(self, kinds: Sequence[FrameKind], beta: int, fingerprint: int) -> None:
        self._layouts = [_layout(kind.fields) for kind in kinds]
        self._longest = [
            HEAD + kind.most * layout.size for kind, layout in zip(kinds, self._layouts, strict=True)
        ]
        self._beta = beta
        self._fingerprint = fingerprint
        self._bytes = bytearray()
        self.skipped = 0

    def feed(self, data: bytes) -> list[Frame]:
        """Take the bytes that came, and return the frames that are now complete."""
        self._bytes += data
        found: list[Frame] = []
        at = 0
        while (whole := self._next_frame(at)) is not None:
            begin, end, frame = whole
            self.skipped += begin - at
            found.append(frame)
            at = end
        while at < len(self._bytes) and self._end(at) is not None:
            self.skipped += 1
            at += 1
        del self._bytes[:at]
        return found

    def close(self) -> None:
        """End the input: bytes that wait for the rest of a frame count as skipped."""
        self.skipped += len(self._bytes)
        self._bytes.clear()

    def _next_frame(self, at: int) -> tuple[int, int, Frame] | None:
        """The start and end of the next complete frame from here on. Noise that looks like the start of a
        frame does not delay it."""
        for begin in range(at, len(self._bytes)):
            end = self._end(begin)
            frame = self._frame(begin, end) if end else None
            if frame is not None:
                assert end is not None
                return begin, end + TAIL, frame
        return None

    def _end(self, at: int) -> int | None:
        """The end of the tuples of a frame that starts here; 0 if no frame can start here, None if that is
        not known yet."""
        data, kind = self._bytes, self._bytes[at] - FRAME
        if not 0 <= kind < len(self._layouts):
            return 0
        end = at + HEAD
        while end < len(data) and data[end] != FRAME_END:
            if data[end] >= self._beta:
                return 0
            end += self._layouts[kind].size
        if end - at > self._longest[kind]:
            return 0
        return end if end + TAIL <= len(data) else None

    def _frame(self, at: int, end: int) -> Frame | None:
        data = bytes(self._bytes[at : end + TAIL])
        content, check = data[1:-2], int.from_bytes(data[-2:], "big")
        if binascii.crc_hqx(content, self._fingerprint) != check:
            return None
        kind, first = data[0] - FRAME, int.from_bytes(data[1:HEAD], "little")
        if first % self._beta:
            return None
        return Frame(kind, first, tuple(self._layouts[kind].iter_unpack(data[HEAD : end - at])))


def _layout(fields: Fields) -> struct.Struct:
    columns = "".join(f"{MEDIUM}s" if f.narrow else _FORMATS[f.ctype] for f in fields.values())
    return struct.Struct(f"<B{columns or 'x'}")  # a tuple without columns has a byte to spare


def unpacked(values: Sequence[Any], fields: Fields, start: int, interval: int) -> dict[str, Any]:
    """The columns of a tuple. TIME is in microseconds; `start` is the time of the first evaluation."""
    row: dict[str, Any] = {}
    for (name, field), value in zip(fields.items(), values, strict=True):
        if field.narrow:
            value = int.from_bytes(value, "little", signed=True)
        null = field.nullable and (value != value or value == field.null_value)
        row[name] = None if null else start + value * interval if field.is_time else value
    return row
