"""The radio: packets, bytes on the air and time of a message, by its size.

The defaults are those of an IEEE 802.15.4 radio (CC2420): 250 kbit/s, frames of 127 bytes, of which 23 are
overhead.

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
    """The properties of a radio. `latency` is the time that every hop takes in addition to sending (waiting
    for the channel, forwarding). `packet` is the number of message bytes that fit into one packet, `header`
    the number of further bytes in every packet."""

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
        """The number of packets of a message of `size` bytes. An empty message takes one packet as well."""
        return max(1, -(-size // self.packet))

    def bytes_on_air(self, size: int) -> int:
        """The bytes of a message sent once over one link."""
        return size + self.packets(size) * self.header

    def delay(self, size: int, hops: int, transmissions: float) -> int:
        """Microseconds from the first sender to the last receiver, over a path with this number of expected
        transmissions.

        Lost packets are sent again, so a poor link takes longer; every message arrives.
        """
        return hops * self.latency + self.airtime(size, transmissions)

    def airtime(self, size: int, transmissions: float) -> int:
        """Microseconds for which a radio sends a message over a link with this number of expected
        transmissions."""
        return math.ceil(transmissions * self.bytes_on_air(size) * SECOND / self.bytes_per_second)
