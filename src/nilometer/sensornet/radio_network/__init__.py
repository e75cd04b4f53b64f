"""A simulated radio network: it delivers messages in virtual time and counts what they cost.

One `Events` is the clock. One `Network` carries messages over routes of least expected transmissions. A
`Meter` observes the radios (traffic, energy): it is told every message with its path.
"""

from nilometer.sensornet.events import Events
from nilometer.sensornet.radio_network.energy import EnergyMeter, Power
from nilometer.sensornet.radio_network.network import Losses, Message, Meter, Network, Trip
from nilometer.sensornet.radio_network.radio import Radio
from nilometer.sensornet.radio_network.routing import Routes, find_routes
from nilometer.sensornet.radio_network.traffic import Traffic, TrafficMeter
from nilometer.sensornet.topology import (
    Topology,
    least_range,
    linked_topology,
    placed_topology,
    uniform_positions,
)

__all__ = [
    "EnergyMeter",
    "Events",
    "Losses",
    "Message",
    "Meter",
    "Network",
    "Power",
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
