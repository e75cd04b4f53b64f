"""The framing of one record of the log: a header of 128 bytes, Arrow IPC bytes, an annex; padded to 64 bytes.

    word  0  checksum: XXH64 of all that follows, padding included
          1  magic and version "NLG1" (32 bits), kind (16), unused (16, zero: readers refuse anything else)
          2  length of the whole record in bytes
          3  length of the body (the Arrow IPC message)
          4  length of the annex (32), rows (32); of a letters record, letters
          5  position: the running number in the stream of the first row
          6  number: the running number in the stream of the entry (a rows, heartbeat or summaries record), else of the
          next one
          7  least time of the rows, 8 greatest; a heartbeat's tick in both
          9  arrived: when the rows came
         10  settled: the number of bytes of this segment that were durable when the record was written
         11  to 15 unused

The law: `decode(encode(x)) == x`, and no other bytes are a record. `settled` tells a torn tail from damage:
bytes that a later record calls settled had been acknowledged, and are never cut off (recovery.py).
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from nilometer.kernels.arrays import Words
from nilometer.log.checksum import HEADER_WORDS, STEP_WORDS, walk, words_of, xxh64
from nilometer.log.formats import unknown_format
from nilometer.types import INT_MINIMUM

HEADER_BYTES = 8 * HEADER_WORDS
STEP_BYTES = 8 * STEP_WORDS
UNKNOWN = INT_MINIMUM
"""An unknown time: of a record without rows, or without arrival."""

_HEADER = struct.Struct("<Q4sHHQQIIqqqqqQ40x")
_CHECKSUM = struct.Struct("<Q")
_MAGIC = b"NLG1"
_FAMILY = _MAGIC[:3]
"""All formats of records begin their magic with these bytes."""
assert _HEADER.size == HEADER_BYTES


class RecordKind(IntEnum):
    """The kinds of records. A segment begins with its SCHEMA, then the PRODUCERS seen so far, with the last
    note. Then come entries, and between them dead LETTERS and changes of DEMAND, which readers skip. SUMMARIES are an
    entry without positions: each stands for readings that are not in the log.
    """

    SCHEMA = 1
    PRODUCERS = 2
    ROWS = 3
    HEARTBEAT = 4
    LETTERS = 5
    DEMAND = 6
    SUMMARIES = 7


ENTRIES = (RecordKind.ROWS, RecordKind.HEARTBEAT, RecordKind.SUMMARIES)
BESIDE = (RecordKind.LETTERS, RecordKind.DEMAND)


class Header(NamedTuple):
    """The facts about a record that need no look at its body. `start` and `end` are its bytes in the segment.
    It is a tuple, since a scan makes one for every record, and a frozen dataclass takes five times as long.
    """

    kind: int
    start: int
    end: int
    body_bytes: int
    annex_bytes: int
    rows: int
    position: int
    number: int
    least_time: int
    greatest_time: int
    arrived: int
    settled: int
    checksum: int

    @property
    def timed(self) -> bool:
        """Whether the record has a time range."""
        return self.greatest_time != UNKNOWN

    def body(self, buffer: Any, base: int = 0) -> Any:
        """The Arrow bytes, in a buffer whose first byte is byte `base` of the segment; not copied."""
        return buffer.slice(self.start - base + HEADER_BYTES, self.body_bytes)

    def annex(self, buffer: Any, base: int = 0) -> bytes:
        """The annex: the producers' sequences of these rows, and a note (annex.py)."""
        start = self.start - base + HEADER_BYTES + self.body_bytes
        return bytes(buffer.slice(start, self.annex_bytes))


class Encoder:
    """Builds records in one reused scratch buffer: a record is valid until the next one is encoded."""

    def __init__(self) -> None:
        self._reserve(1 << 17)

    def _reserve(self, size: int) -> None:
        self._scratch = np.zeros(size // 8, dtype=np.uint64)
        self._words = self._scratch[:]
        self._words.flags.writeable = False
        self._bytes = memoryview(self._scratch).cast("B")  # type: ignore[arg-type]

    def encode(
        self,
        kind: RecordKind,
        *,
        position: int,
        number: int,
        rows: int = 0,
        times: tuple[int, int] = (UNKNOWN, UNKNOWN),
        arrived: int = UNKNOWN,
        settled: int = 0,
        body: Any = b"",
        annex: bytes = b"",
    ) -> tuple[memoryview, int]:
        """The record's bytes and its checksum."""
        view = memoryview(body).cast("B")
        filled = HEADER_BYTES + len(view) + len(annex)
        length = -(-filled // STEP_BYTES) * STEP_BYTES
        if length > len(self._bytes):
            self._reserve(2 * length)
        out = self._bytes
        _HEADER.pack_into(
            out, 0, 0, _MAGIC, kind, 0, length, len(view), len(annex), rows, position, number, *times, arrived, settled
        )  # fmt: skip
        out[HEADER_BYTES : HEADER_BYTES + len(view)] = view
        if annex:
            out[HEADER_BYTES + len(view) : filled] = annex
        out[filled:length] = bytes(length - filled)
        checksum = int(xxh64(self._words, 1, length // 8))
        _CHECKSUM.pack_into(out, 0, checksum)
        return out[:length], checksum


@dataclass(frozen=True)
class Records:
    """Consecutive records in a buffer, all of them checked. `base` is the byte of the segment at which the
    buffer begins; `end` is the byte after the last record; `rest` is how many bytes follow that are no
    record.
    """

    buffer: Any
    base: int
    starts: npt.NDArray[np.int64]
    end: int
    rest: int

    def __iter__(self) -> Iterator[Header]:
        for start in self.starts.tolist():
            yield header_at(self.buffer, 8 * start, self.base)

    @property
    def checksums(self) -> Words:
        """The records' checksums."""
        return words_of(self.buffer)[self.starts]

    def refuse_unknown(self, name: str) -> None:
        """Refuse records of a kind, or with a mark in the unused bits, that only a newer release knows."""
        marks = words_of(self.buffer)[self.starts + 1] >> np.uint64(32)
        unknown = np.flatnonzero((marks < min(RecordKind)) | (marks > max(RecordKind)))
        if unknown.size:
            at = self.base + 8 * int(self.starts[unknown[0]])
            kinds = f"the kinds {min(RecordKind)} to {max(RecordKind)}"
            raise unknown_format(
                f"a record of {name}, at byte {at},", f"kind {int(marks[unknown[0]])}", kinds
            )


def records_in(buffer: Any, base: int = 0, start: int = 0) -> Records:
    """The records in a pyarrow buffer from byte `start` of it on."""
    whole = buffer.slice(0, buffer.size // 8 * 8)
    starts, end = walk(words_of(whole), start // 8)
    return Records(whole, base, starts, base + 8 * int(end), buffer.size - 8 * int(end))


def foreign_magic(buffer: Any, at: int) -> str | None:
    """The magic of a record of another format that begins at byte `at`; None if there is none."""
    found = bytes(buffer.slice(at + 8, 4)) if buffer.size >= at + 12 else b""
    foreign = found.startswith(_FAMILY) and found != _MAGIC and found[3:].isalnum()
    return found.decode() if foreign else None


def header_at(buffer: Any, at: int, base: int = 0) -> Header:
    """The header of the (checked) record at byte `at` of a buffer."""
    (checksum, _, kind, _, length, body, annex, rows, position, number, least, greatest, arrived, settled) = (
        _HEADER.unpack_from(buffer, at)
    )
    start = base + at
    return Header(
        kind, start, start + length, body, annex, rows, position, number, least, greatest, arrived, settled, checksum
    )  # fmt: skip
