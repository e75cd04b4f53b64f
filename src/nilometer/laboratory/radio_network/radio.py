"""Sizes of messages -> packets, bytes on the air and time.

The defaults are those of an IEEE 802.15.4 radio (CC2420): 250 kbit/s, frames of 127 bytes of which 23 are not
the message's.

>>> radio = Radio(bytes_per_second=1000, latency=500, packet=100, header=20)
>>> radio.packets(0), radio.packets(100), radio.packets(101), radio.bytes_on_air(101)
(1, 1, 2, 141)
>>> radio.delay(80, hops=2, transmissions=3.0)
301000
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from nilometer.errors import ConfigurationError
from nilometer.types import MILLISECOND, SECOND


@dataclass(frozen=True, slots=True)
class Radio:
    """`latency` is what every hop takes beside the sending (waiting for the channel, forwarding); `packet`
    the bytes of a message that fit into one packet, `header` the bytes that every packet has besides."""

    bytes_per_second: int = 31_250
    latency: int = 5 * MILLISECOND
    packet: int = 104
    header: int = 23

    def __post_init__(self) -> None:
        if self.bytes_per_second <= 0 or self.packet <= 0 or min(self.latency, self.header) < 0:
            raise ConfigurationError(
                "a radio that sends nothing, or before it was asked to",
                detail=f"{self.bytes_per_second} bytes/s, packets of {self.packet} bytes, latency {self.latency}",
                hint="give positive sizes and rates, and a latency of 0 or more",
            )

    def packets(self, size: int) -> int:
        """How many packets a message of so many bytes takes; one without content takes one as well."""
        return max(1, -(-size // self.packet))

    def bytes_on_air(self, size: int) -> int:
        """The bytes of a message sent once over one link."""
        return size + self.packets(size) * self.header

    def delay(self, size: int, hops: int, transmissions: float) -> int:
        """Microseconds from the first sender to the last receiver, where the path takes so many expected
        transmissions.

        Packets that are lost are sent again, so a poor link takes longer; every message arrives.
        """
        return hops * self.latency + self.airtime(size, transmissions)

    def airtime(self, size: int, transmissions: float) -> int:
        """Microseconds that a radio sends a message, over a link that takes so many expected transmissions."""
        return math.ceil(transmissions * self.bytes_on_air(size) * SECOND / self.bytes_per_second)
