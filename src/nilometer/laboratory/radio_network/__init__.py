"""The simulated network: topology and radio -> messages delivered in virtual time, and what they cost.

One `Events` is the clock, one `Network` carries messages over routes of least expected transmissions. Whoever
wants to know what the radios did (traffic, later energy) is a `Meter` and is told every message with its
path.
"""

from nilometer.laboratory.radio_network.network import Message, Meter, Network, Trip
from nilometer.laboratory.radio_network.radio import Radio
from nilometer.laboratory.radio_network.routing import Routes, find_routes
from nilometer.laboratory.radio_network.traffic import Traffic, TrafficMeter
from nilometer.sensornet.events import Events
from nilometer.sensornet.topology import (
    Topology,
    least_range,
    linked_topology,
    placed_topology,
    uniform_positions,
)

__all__ = [
    "Events",
    "Message",
    "Meter",
    "Network",
    "Radio",
    "Routes",
    "Topology",
    "Traffic",
    "TrafficMeter",
    "Trip",
    "find_routes",
    "least_range",
    "linked_topology",
    "placed_topology",
    "uniform_positions",
]
