"""Currents of a profile -> SNEE's unit energies (Table 3): what a component takes in a cycle beyond what it takes asleep, voltage times
the difference of the currents by the clock rate; and the energy of a packet (Eq. 18)."""

from __future__ import annotations

from dataclasses import dataclass

from nilometer.placement.cost_parameters import CostParameters


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


def packet_energy(payload: float, costs: CostParameters) -> float:
    """Joules of sending one packet (Eq. 18): the channel is sensed with E_PROCESS + E_RX, and then the processor idles while the
    transmitter works, E_IDLE + E_TX."""
    unit = unit_energies(costs)
    cycles = costs.clock_rate / 1000
    listening = (costs.send_packet - costs.transmit_packet) * cycles
    sending = (costs.transmit_packet + costs.transmit_byte * payload) * cycles
    return (unit.process + unit.receive) * listening + (unit.idle + unit.transmit) * sending
