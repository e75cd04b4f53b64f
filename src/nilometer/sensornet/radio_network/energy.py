"""Charges the radio's energy for messages to the nodes that sent and received them.

Only messages are counted: what a radio spends on listening for them, and what processor and sensors take, is not. A
fleet that polls its radio rarely adds a constant to every node.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nilometer.sensornet.radio_network.network import Trip
from nilometer.sensornet.radio_network.radio import Radio
from nilometer.types import SECOND


@dataclass(frozen=True, slots=True)
class Power:
    """The watts of a radio that sends, and of one that receives."""

    sending: float
    receiving: float


class EnergyMeter:
    """A meter: the joules of each node so far."""

    def __init__(self, radio: Radio, power: Power, nodes: int) -> None:
        self.radio = radio
        self.power = power
        self.joules = np.zeros(nodes)

    def carried(self, trip: Trip) -> None:
        """Charge one message."""
        self.charge(trip.path, trip.links, trip.message.size)

    def charge(self, path: tuple[int, ...], links: tuple[float, ...], size: int, messages: int = 1) -> None:
        """Charge messages of one size over a path."""
        for place, transmissions in enumerate(links):
            seconds = messages * self.radio.airtime(size, transmissions) / SECOND
            self.joules[path[place]] += seconds * self.power.sending
            self.joules[path[place + 1]] += seconds * self.power.receiving
