"""Counts messages by kind: their number, hops, bytes on the air and delay."""

from __future__ import annotations

from dataclasses import dataclass

from nilometer.sensornet.radio_network.network import Trip
from nilometer.sensornet.radio_network.radio import Radio


@dataclass(frozen=True, slots=True)
class Traffic:
    """Counts of messages. `bytes` counts each byte once for every hop, packet headers included.
    `transmissions` is the expected number of packets sent. `delay` is the sum of the messages' delays;
    `waited` is the part of it spent waiting for busy radios. `lost` of the messages did not arrive."""

    messages: int = 0
    hops: int = 0
    bytes: int = 0
    transmissions: float = 0.0
    delay: int = 0
    waited: int = 0
    lost: int = 0

    def __add__(self, other: Traffic) -> Traffic:
        return Traffic(
            self.messages + other.messages,
            self.hops + other.hops,
            self.bytes + other.bytes,
            self.transmissions + other.transmissions,
            self.delay + other.delay,
            self.waited + other.waited,
            self.lost + other.lost,
        )


class TrafficMeter:
    """The traffic so far, by kind of message."""

    def __init__(self, radio: Radio) -> None:
        self.radio = radio
        self.kinds: dict[str, Traffic] = {}

    def carried(self, trip: Trip) -> None:
        """Count one message."""
        size = trip.message.size
        sent = self.radio.packets(size) * trip.transmissions
        on_air = trip.hops * self.radio.bytes_on_air(size)
        self.add(
            trip.message.kind,
            Traffic(1, trip.hops, on_air, sent, trip.delay, trip.waited, int(not trip.arrived)),
        )

    def add(self, kind: str, traffic: Traffic) -> None:
        """Count messages that were sent in bulk."""
        self.kinds[kind] = self.kinds.get(kind, Traffic()) + traffic

    @property
    def total(self) -> Traffic:
        """The traffic of all kinds together."""
        return sum(self.kinds.values(), Traffic())
