"""The costs of a plan: the memory, time and energy by component of each site, and the sums over the
network."""

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
        """All components, including the sensor board that is always on."""
        return self.without_board + self.sensor_board

    @property
    def without_board(self) -> float:
        """The energy of a site whose sensor board can be switched off."""
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
    """A site in one period. RAM is in bytes: `fixed_ram` for the runtime, `operator_ram` for its fragments,
    `buffer_ram` for the tuples of `beta` evaluations. Times are seconds. `lifetime` (seconds, with the sensor
    board always on) and `lifetime_without_board` are None if the energy is not limited."""

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
        """All RAM together."""
        return self.fixed_ram + self.operator_ram + self.buffer_ram


@dataclass(frozen=True, slots=True)
class Estimate:
    """The network in one period, in seconds and joules. The sink does not run on a battery: its energy counts
    in no sum."""

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
        """Packets per day, to compare plans with different periods."""
        return self.packets * 86400 / self.period

    @property
    def radio_time_per_day(self) -> float:
        """Seconds per day in which a radio is on, summed over the sites."""
        return self.radio_time * 86400 / self.period

    @property
    def power(self) -> float:
        """Watts of the whole network, with sensor boards that are always on."""
        return self.energy / self.period
