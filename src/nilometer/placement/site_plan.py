"""What a plan costs: for each site its memory, its time and its energy by component; for the network the sums."""

from __future__ import annotations

from dataclasses import dataclass

from nilometer.catalog.network import NodeId


@dataclass(frozen=True, slots=True)
class Energy:
    """Joules of one period, by component."""

    cpu_active: float = 0.0
    cpu_idle: float = 0.0
    cpu_sleep: float = 0.0
    radio_receive: float = 0.0
    radio_transmit: float = 0.0
    radio_sleep: float = 0.0
    sensor: float = 0.0
    sensor_board: float = 0.0

    @property
    def total(self) -> float:
        """All of it, with the sensor board that is always on."""
        return self.without_board + self.sensor_board

    @property
    def without_board(self) -> float:
        """What a site spends whose sensor board can be switched off."""
        return self.cpu + self.radio + self.sensor

    @property
    def cpu(self) -> float:
        """The processor's share."""
        return self.cpu_active + self.cpu_idle + self.cpu_sleep

    @property
    def radio(self) -> float:
        """The radio's share."""
        return self.radio_receive + self.radio_transmit + self.radio_sleep


@dataclass(frozen=True, slots=True)
class SitePlan:
    """A site in one period. RAM is in bytes: `fixed_ram` of the runtime, `operator_ram` of its fragments, `buffer_ram` of
    what it keeps for `beta` evaluations. Times are seconds. `lifetime` (seconds, with the sensor board always on) and
    `lifetime_without_board` are None where the energy is not limited."""

    site: NodeId
    fragments: tuple[int, ...]
    fixed_ram: int
    operator_ram: int
    buffer_ram: int
    available_ram: int | None
    active_time: float
    idle_time: float
    sleep_time: float
    radio_time: float
    packets_sent: int
    packets_received: int
    energy: Energy
    lifetime: float | None
    lifetime_without_board: float | None

    @property
    def ram(self) -> int:
        """All of it."""
        return self.fixed_ram + self.operator_ram + self.buffer_ram


@dataclass(frozen=True, slots=True)
class Estimate:
    """The network in one period; seconds and joules. The sink is tethered: its energy counts in no sum."""

    period: float
    delivery_time: float
    packets: int
    radio_time: float
    energy: float
    energy_without_board: float
    lifetime: float | None
    lifetime_without_board: float | None

    @property
    def packets_per_day(self) -> float:
        """Packets of a day, to compare plans of different periods."""
        return self.packets * 86400 / self.period

    @property
    def radio_time_per_day(self) -> float:
        """Seconds a day in which a radio is on, added up over the sites."""
        return self.radio_time * 86400 / self.period

    @property
    def power(self) -> float:
        """Watts of the whole network, with sensor boards that are always on."""
        return self.energy / self.period
