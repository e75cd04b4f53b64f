"""The bytes of a TinyOS sink's serial line -> the frames of our own runtime (`serial_frames`), so that the gateway takes either.

TinyOS's packets (TEP 113) lie between bytes 0x7E: 0x45, 0x00, an active message's header and payload, a CRC-16, low byte first. The
payload is DELIVER's: a byte with the kind of the rows, the number of the period's first evaluation, rows.
"""

from __future__ import annotations

import binascii
import re

from nilometer.errors import DataError
from nilometer.sensornet.motes.serial_frames import FRAME, FRAME_END

FLAG = b"\x7e"
NOT_ACKNOWLEDGED, ACTIVE_MESSAGE = 0x45, 0x00
HEADER = 9
"""Bytes before the payload: two of the packet, and of the message receiver, sender, length, group and type."""

LENGTH, TYPE = 6, 8
"""Where the header has them."""


def frames_of(serial: bytes, message_type: int, fingerprint: int) -> bytes:
    """A frame for each message of the type, with the fingerprint of the plan, which such messages do not say. What is not a whole
    packet at the end of the line is left out."""
    packets = serial.split(FLAG)
    return b"".join(_frame(packet, message_type, fingerprint) for packet in packets[:-1] if packet)


def _frame(packet: bytes, message_type: int, fingerprint: int) -> bytes:
    plain = re.sub(rb"\x7d(.)", lambda found: bytes([found[1][0] ^ 0x20]), packet, flags=re.DOTALL)
    content, check = plain[:-2], int.from_bytes(plain[-2:], "little")
    if len(content) < HEADER or binascii.crc_hqx(content, 0) != check:
        raise _garbled(f"{packet.hex(' ')} has a wrong checksum")
    payload = content[HEADER:]
    if (content[0], content[1]) != (NOT_ACKNOWLEDGED, ACTIVE_MESSAGE) or content[LENGTH] != len(payload):
        raise _garbled(f"{packet.hex(' ')} is no active message")
    if content[TYPE] != message_type:
        return b""
    body = payload[1:] + bytes([FRAME_END])
    return bytes([FRAME | payload[0]]) + body + binascii.crc_hqx(body, fingerprint).to_bytes(2, "big")


def _garbled(detail: str) -> DataError:
    return DataError(
        "the sink's serial line is garbled", detail=detail, hint="listen at 57,600 Bd, and to nothing else"
    )
