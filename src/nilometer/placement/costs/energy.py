"""Currents -> unit energies, and an operator -> the energy of an evaluation: the energy models of SNEE section 4.6.

A unit energy is what a component takes in a cycle beyond what it takes asleep: voltage times the difference of the currents, by
the clock rate (Table 3). An energy model is the duration model with each addend multiplied by the unit energy of what works in
it (Figs. 11 and 12).
"""

from __future__ import annotations

from dataclasses import dataclass

from nilometer.placement.cost_parameters import CostParameters
from nilometer.placement.costs.operators import acquisition, duration
from nilometer.placement.costs.rows import Rows
from nilometer.plan import physical


@dataclass(frozen=True, slots=True)
class UnitEnergies:
    """Joules of one cycle (SNEE Table 3)."""

    sense: float
    process: float
    idle: float
    receive: float
    transmit: float


def unit_energies(costs: CostParameters) -> UnitEnergies:
    """Table 3, from the currents."""

    def joules(current: float, asleep: float = 0.0) -> float:
        return costs.voltage * (current - asleep) / costs.clock_rate

    return UnitEnergies(
        sense=joules(costs.sensor_on),
        process=joules(costs.cpu_active, costs.cpu_sleep),
        idle=joules(costs.cpu_idle, costs.cpu_sleep),
        receive=joules(costs.radio_receive, costs.radio_sleep),
        transmit=joules(costs.radio_transmit, costs.radio_sleep),
    )


def operator_energy(node: physical.Node, rows: Rows, interval: int, costs: CostParameters) -> float:
    """Joules of one evaluation of an operator (Eq. 10): the sensor's cycles cost E_SENSE, all others E_PROCESS."""
    unit = unit_energies(costs)
    sensing = acquisition(node, costs) if isinstance(node, physical.SpAcquire) else 0.0
    computing = duration(node, rows, interval, costs) - sensing
    return (unit.sense * sensing + unit.process * computing) * costs.clock_rate / 1000


def packet_energy(payload: float, costs: CostParameters) -> float:
    """Joules of sending one packet (Eq. 18): the channel is sensed with E_PROCESS + E_RX, and then the processor idles while the
    transmitter works, E_IDLE + E_TX."""
    unit = unit_energies(costs)
    cycles = costs.clock_rate / 1000
    listening = (costs.send_packet - costs.transmit_packet) * cycles
    sending = (costs.transmit_packet + costs.transmit_byte * payload) * cycles
    return (unit.process + unit.receive) * listening + (unit.idle + unit.transmit) * sending


def transmission_energy(packets: int, payload: float, costs: CostParameters) -> float:
    """Joules of an episode of TRANSMIT: its overhead, and its packets of so many bytes each."""
    overhead = costs.turn_on_radio * costs.clock_rate / 1000
    return unit_energies(costs).process * overhead + packets * packet_energy(payload, costs)
