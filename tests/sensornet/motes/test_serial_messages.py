"""TinyOS's serial packets as our frames."""

from __future__ import annotations

import binascii

import pytest

from nilometer.errors import DataError
from nilometer.sensornet.motes.serial_frames import FrameKind, FrameReader
from nilometer.sensornet.motes.values import CType, Field
from sensornet.motes.serial_messages import frames_of

TYPE = 6

KINDS = [FrameKind({"depth": Field(CType.SHORT, -40_000, 40_000)}, 9), FrameKind({}, 9)]


def packet(payload: bytes, type_: int = TYPE) -> bytes:
    """As a mote sends it: framed, checked, escaped."""
    content = bytes([0x45, 0, 0, 0, 0, 9, len(payload), 0x22, type_]) + payload
    checked = content + binascii.crc_hqx(content, 0).to_bytes(2, "little")
    return b"\x7e" + checked.replace(b"\x7d", b"\x7d\x5d").replace(b"\x7e", b"\x7d\x5e") + b"\x7e"


def rows(serial: bytes) -> list[tuple[int, int, tuple[int, ...]]]:
    """Of every tuple its kind, the period's first evaluation, and what it holds."""
    reader = FrameReader(KINDS, 2, 0xCAFE)
    frames = reader.feed(frames_of(serial, TYPE, 0xCAFE))
    assert reader.skipped == 0
    return [(frame.kind, frame.first, values) for frame in frames for values in frame.tuples]


def test_rows_of_several_kinds() -> None:
    serial = packet(b"\0\x0c\0\0\0\0\x2a\0\1\x2b\0") + packet(b"\1\x0c\0\0\0\1\0")
    assert rows(serial) == [(0, 12, (0, 42)), (0, 12, (1, 43)), (1, 12, (1,))]


def test_bytes_that_are_escaped() -> None:
    serial = packet(b"\0\x7e\x7d\0\0\0\x7d\x0a")
    assert serial.count(b"\x7e") == 2
    assert rows(serial) == [(0, 0x7D7E, (0, 0x0A7D))]


def test_what_is_no_answer_is_passed_over() -> None:
    whole = packet(b"\0\0\0\0\0\0\1\0")
    assert rows(packet(b"hello", 7) + whole + whole[:-3]) == [(0, 0, (0, 1))]


def test_garbled_bytes() -> None:
    serial = bytearray(packet(b"\0\0\0\0\0\0\1\0"))
    serial[5] ^= 1
    with pytest.raises(DataError, match="garbled"):
        rows(bytes(serial))
