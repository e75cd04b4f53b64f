"""Bytes in any pieces, with noise between: the frames that were sent, and how many bytes were in none."""

from __future__ import annotations

import binascii
import struct

from hypothesis import given
from hypothesis import strategies as st

from nilometer.sensornet.motes.serial_frames import Frame, FrameKind, FrameReader
from nilometer.sensornet.motes.values import CType, Field

SHORT = Field(CType.SHORT, -100, 100)
KINDS = (FrameKind({"depth": SHORT, "rain": SHORT}, 6), FrameKind({}, 6))
LAYOUTS = ("<Bhh", "<Bx")
BETA, FINGERPRINT = 4, 0xBEEF


def encoded(frame: Frame, fingerprint: int = FINGERPRINT) -> bytes:
    """As `runtime/serial.c` sends it."""
    tuples = b"".join(struct.pack(LAYOUTS[frame.kind], *values) for values in frame.tuples)
    content = struct.pack("<I", frame.first) + tuples + b"\xff"
    return bytes([0x70 | frame.kind]) + content + binascii.crc_hqx(content, fingerprint).to_bytes(2, "big")


def reader() -> FrameReader:
    return FrameReader(KINDS, BETA, FINGERPRINT)


epochs = st.integers(0, BETA - 1)
values = st.integers(-100, 100)
firsts = st.integers(0, 1 << 20).map(lambda number: number * BETA)
frames = st.one_of(
    st.builds(Frame, st.just(0), firsts, st.lists(st.tuples(epochs, values, values), max_size=6).map(tuple)),
    st.builds(Frame, st.just(1), firsts, st.lists(st.tuples(epochs), max_size=6).map(tuple)),
)


@given(st.lists(frames, max_size=5), st.lists(st.integers(1, 40), min_size=1))
def test_pieces_do_not_matter(sent: list[Frame], pieces: list[int]) -> None:
    line, whole = b"".join(map(encoded, sent)), reader()
    found: list[Frame] = []
    at = 0
    while at < len(line):
        size = pieces[at % len(pieces)]
        found += whole.feed(line[at : at + size])
        at += size
    assert found == sent
    assert whole.skipped == 0


@given(st.lists(st.tuples(st.binary(max_size=12), frames), min_size=1, max_size=5), st.binary(max_size=12))
def test_noise_is_skipped_and_counted(sent: list[tuple[bytes, Frame]], rest: bytes) -> None:
    """Every frame is found as soon as its last byte is there, whatever was before it."""
    whole, noise = reader(), 0
    for before, frame in sent:
        assert whole.feed(before + encoded(frame)) == [frame]
        noise += len(before)
    assert whole.skipped == noise
    assert whole.feed(rest) == []
    whole.close()
    assert whole.skipped == noise + len(rest)


@given(frames, st.data())
def test_a_flipped_bit_is_noticed(frame: Frame, data: st.DataObject) -> None:
    line = bytearray(encoded(frame))
    bit = data.draw(st.integers(0, 8 * len(line) - 1))
    line[bit // 8] ^= 1 << bit % 8
    whole = reader()
    assert frame not in whole.feed(bytes(line))


@given(frames)
def test_another_program_is_not_heard(frame: Frame) -> None:
    whole = reader()
    assert whole.feed(encoded(frame, FINGERPRINT + 1)) == []
    whole.close()
    assert whole.skipped == len(encoded(frame))


def test_more_tuples_than_there_can_be_are_noise() -> None:
    whole = reader()
    assert whole.feed(encoded(Frame(1, 0, ((0,),) * 7))) == []
    assert whole.skipped > 0
