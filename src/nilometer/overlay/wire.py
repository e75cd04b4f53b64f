"""Packets as frames on a connection between peers: length, authentication, packet.

    length (4 bytes)   HMAC-SHA256 (32)   length of the header (4)   header (JSON)   message

The HMAC is made with the key that all peers of a ring share, over everything after it: sender, incarnation, sequence and
body. The header has a number that rises with each frame of a sender's life, and the time it was sent. The laws: a frame
that is forged, changed, cut off, too long, repeated or old is refused and counted, before its message is looked at;
`read(frame(packet))` is the packet. A frame is repeated if its number was seen, or is more than 63 below the greatest
(log/producers.py); it is old if it was sent more than `OLD` ago, or from now.
"""

from __future__ import annotations

import hmac
import json
import struct
from collections import Counter
from pathlib import Path

from nilometer.errors import ConfigurationError
from nilometer.log.producers import Producers
from nilometer.overlay.delivery import Packet
from nilometer.overlay.messages import MOST_BYTES, WireError, decode, encode
from nilometer.overlay.ring import Contact
from nilometer.types import MINUTE

OLD = 5 * MINUTE
LEAST_KEY = 16
PREFIX = struct.Struct("!I")
RELEASE = 3
"""The form of frames and messages, and where keys are put. Peers of another form do not understand each other."""
_SEAL = 32

CUT, FOREIGN, GARBLED = (
    "a frame that is cut off",
    "a frame without the key of this ring",
    "a frame that is garbled",
)
OLD_FRAME, SEEN = "a frame that is old", "a frame that was seen before"
OTHER_RELEASE = "a frame of another release"
ADVICE = {
    b"K": (FOREIGN, "its key is another one: compare the files given with --key-file"),
    b"O": (OLD_FRAME, "its clock and ours are more than five minutes apart: set them"),
    b"R": (OTHER_RELEASE, "it runs another release of Nilometer: install the same one"),
}
"""What a peer tells one whose frame it refuses, in one byte: what it counts, and what to do about it."""


def advice_of(reason: str) -> bytes:
    """The byte for a reason; none where the sender can do nothing about it."""
    return next((code for code, (counted, _) in ADVICE.items() if counted == reason), b"")


def key_of(path: Path) -> bytes:
    """The shared key in a file: at least 16 bytes, without the end of its line."""
    try:
        key = path.read_bytes().strip()
    except OSError as error:
        raise ConfigurationError(
            f"the key of the peers cannot be read: {error.strerror}",
            hint=f"make one, and copy it to all peers: head -c 32 /dev/urandom | base64 > {path}",
        ) from None
    if len(key) < LEAST_KEY:
        raise ConfigurationError(f"the key in '{path}' has {len(key)} bytes; it takes {LEAST_KEY}")
    if path.stat().st_mode & 0o077:
        raise ConfigurationError(f"others can read the key '{path}'", hint=f"chmod 600 {path}")
    return key


class Wire:
    """Makes and reads the frames of one peer."""

    def __init__(self, key: bytes) -> None:
        self._key = key
        self._number = 0
        self._seen = Producers()
        self.refused: Counter[str] = Counter()
        """How many frames were refused, by reason."""
        self.refusal = ""
        """Why the latest of them was."""

    def frame(self, now: int, packet: Packet) -> bytes:
        """The bytes of a packet, with their length before them."""
        self._number += 1
        sender = packet.sender
        header = json.dumps(
            [
                RELEASE,
                [sender.id, sender.name, sender.address],
                packet.incarnation,
                packet.session,
                packet.sequence,
                packet.acknowledges,
                self._number,
                now,
            ]
        ).encode()
        message = b"" if packet.message is None else encode(packet.message)
        body = PREFIX.pack(len(header)) + header + message
        if _SEAL + len(body) > MOST_BYTES:
            raise WireError(f"a message of {len(body)} bytes is too long for a peer")
        return PREFIX.pack(_SEAL + len(body)) + hmac.digest(self._key, body, "sha256") + body

    def read(self, now: int, data: bytes) -> Packet | None:
        """The packet of a frame, given without its length; None if it is refused."""
        try:
            return self._read(now, data)
        except WireError as error:
            self.refuse(error.message)
            return None

    def refuse(self, reason: str) -> None:
        """Count a frame that is refused."""
        self.refusal = reason
        self.refused[reason] += 1

    def _read(self, now: int, data: bytes) -> Packet:
        seal, body = data[:_SEAL], data[_SEAL:]
        if len(data) < _SEAL + PREFIX.size:
            raise WireError(CUT)
        if not hmac.compare_digest(seal, hmac.digest(self._key, body, "sha256")):
            raise WireError(FOREIGN)
        try:
            (length,) = PREFIX.unpack_from(body)
            release, *header = json.loads(body[PREFIX.size : PREFIX.size + length])
            if release != RELEASE:
                raise WireError(OTHER_RELEASE)
            place, incarnation, session, sequence, acknowledges, number, sent = header
            sender = Contact(int(place[0]), str(place[1]), str(place[2]))
            acknowledged = None if acknowledges is None else (int(acknowledges[0]), int(acknowledges[1]))
            incarnation, session, sequence, number, sent = map(
                int, (incarnation, session, sequence, number, sent)
            )
        except (ValueError, TypeError, IndexError, KeyError, OverflowError, struct.error, RecursionError):
            raise WireError(GARBLED) from None
        if abs(now - sent) > OLD:
            raise WireError(OLD_FRAME)
        producer = f"{sender.address} {incarnation}"
        if self._seen.seen(producer, number):
            raise WireError(SEEN)
        self._seen.mark(producer, number)
        message = body[PREFIX.size + length :]
        return Packet(
            sender, incarnation, session, sequence, decode(message) if message else None, acknowledged
        )
