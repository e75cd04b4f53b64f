"""Messages sent -> counts of them by kind: messages, hops, bytes on the air, delay."""

from __future__ import annotations

from dataclasses import dataclass

from nilometer.sensornet.sim.network import Message
from nilometer.sensornet.sim.radio import Radio


@dataclass(frozen=True, slots=True)
class Traffic:
    """`bytes` counts each byte once for every hop, packet headers included; `transmissions` the expected sendings of packets;
    `delay` the sum of the messages' delays."""

    messages: int = 0
    hops: int = 0
    bytes: int = 0
    transmissions: float = 0.0
    delay: int = 0

    def __add__(self, other: Traffic) -> Traffic:
        return Traffic(
            self.messages + other.messages,
            self.hops + other.hops,
            self.bytes + other.bytes,
            self.transmissions + other.transmissions,
            self.delay + other.delay,
        )


class TrafficMeter:
    """The traffic so far, by kind of message."""

    def __init__(self, radio: Radio) -> None:
        self.radio = radio
        self.kinds: dict[str, Traffic] = {}

    def carried(
        self, message: Message[object], path: tuple[int, ...], transmissions: float, delay: int
    ) -> None:
        """Count one message."""
        hops = len(path) - 1
        packets = self.radio.packets(message.size)
        self.add(
            message.kind,
            Traffic(1, hops, hops * self.radio.bytes_on_air(message.size), packets * transmissions, delay),
        )

    def add(self, kind: str, traffic: Traffic) -> None:
        """Count what was sent in bulk."""
        self.kinds[kind] = self.kinds.get(kind, Traffic()) + traffic

    @property
    def total(self) -> Traffic:
        """Of all kinds together."""
        return sum(self.kinds.values(), Traffic())
