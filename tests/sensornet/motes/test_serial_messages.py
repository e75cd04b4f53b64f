"""TinyOS's serial packets as our frames."""

from __future__ import annotations

import binascii

import pytest

from nilometer.errors import DataError
from nilometer.sensornet.motes.nesc.serial_messages import frames_of
from nilometer.sensornet.motes.serial_frames import read_frames
from nilometer.sensornet.motes.values import CType, Field

TYPE = 6

KINDS = [{"depth": Field(CType.SHORT, -40_000, 40_000)}, {}]


def packet(payload: bytes, type_: int = TYPE) -> bytes:
    """As a mote sends it: framed, checked, escaped."""
    content = bytes([0x45, 0, 0, 0, 0, 9, len(payload), 0x22, type_]) + payload
    checked = content + binascii.crc_hqx(content, 0).to_bytes(2, "little")
    return b"\x7e" + checked.replace(b"\x7d", b"\x7d\x5d").replace(b"\x7e", b"\x7d\x5e") + b"\x7e"


def rows(serial: bytes) -> list[tuple[int, int, dict[str, object]]]:
    return list(read_frames(frames_of(serial, TYPE), KINDS, 0, 1))


def test_rows_of_several_kinds() -> None:
    serial = packet(b"\0\x0c\0\0\0\0\x2a\0\1\x2b\0") + packet(b"\1\x0c\0\0\0\2\0")
    assert rows(serial) == [(0, 12, {"depth": 42}), (0, 13, {"depth": 43}), (1, 14, {})]


def test_bytes_that_are_escaped() -> None:
    serial = packet(b"\0\x7e\x7d\0\0\0\x7d\x0a")
    assert serial.count(b"\x7e") == 2
    assert rows(serial) == [(0, 0x7D7E, {"depth": 0x0A7D})]


def test_what_is_no_answer_is_passed_over() -> None:
    whole = packet(b"\0\0\0\0\0\0\1\0")
    assert rows(packet(b"hello", 7) + whole + whole[:-3]) == [(0, 0, {"depth": 1})]


def test_garbled_bytes() -> None:
    serial = bytearray(packet(b"\0\0\0\0\0\0\1\0"))
    serial[5] ^= 1
    with pytest.raises(DataError, match="garbled"):
        rows(bytes(serial))
