"""Table 1 of the Fjords paper as data, and a mote's power as a formula of what its program does (fjords.txt
section 5.2).

    power = transmit + processor + A-to-D + idle                                                     (watts)
    transmit  = bits per second x 4.31 uJ
    processor = samples per second x (cycles + latch time) x 6 mW         the processor waits while the converter latches
    A-to-D    = samples per second x latch time x 0.6 mW
    idle      = the rest of the time x 30 uW

The battery gives 100 mAh at the processor's 5 V: the paper's 13 mW are its 2.6 mA. Energy is in joules and
time in seconds, because these are physical quantities, not event times.

>>> power = draw(TABLE_1, samples=180, cycles=50, bits=180 * 16)
>>> round(power.total * 1e3), round(TABLE_1.lifetime(power.total) / 86_400, 1)
(13, 1.7)
"""

from __future__ import annotations

from dataclasses import asdict, dataclass


@dataclass(frozen=True)
class Hardware:
    """A mote's parameters: watts, joules, seconds, hertz, volts, ampere hours."""

    transmit_bit: float
    processor_voltage: float
    processor_active: float
    processor_idle: float
    processor_speed: float
    converter: float
    latch_time: float
    battery: float

    @property
    def battery_energy(self) -> float:
        """The battery's joules."""
        return self.battery * 3_600 * self.processor_voltage

    def current(self, watts: float) -> float:
        """The current in amperes at a power."""
        return watts / self.processor_voltage

    def lifetime(self, watts: float) -> float:
        """The number of seconds that the battery lasts."""
        return self.battery_energy / watts


TABLE_1 = Hardware(
    transmit_bit=4.31e-6,  # the paper prints 4.31^-6 J/bit
    processor_voltage=5.0,
    processor_active=6e-3,
    processor_idle=30e-6,
    processor_speed=1e6,
    converter=0.6e-3,
    latch_time=60e-6,
    battery=0.1,
)
"""Atmel 8515 and RFM TR100 (fjords.txt Table 1; its "currents" are in mW, so they are powers)."""


@dataclass(frozen=True)
class Power:
    """Watts by consumer: the parts of Figure 11."""

    transmit: float
    processor: float
    converter: float
    idle: float

    @property
    def total(self) -> float:
        """The sum of all parts."""
        return self.transmit + self.processor + self.converter + self.idle

    def as_dict(self) -> dict[str, float]:
        """The parts by name."""
        return asdict(self)


def draw(hardware: Hardware, *, samples: float, cycles: float, bits: float) -> Power:
    """The power of a program that takes `samples` samples per second, spends `cycles` cycles on each (one
    instruction per cycle) and sends `bits` bits per second."""
    busy = samples * (cycles / hardware.processor_speed + hardware.latch_time)
    if busy > 1:
        raise ValueError(f"{samples:g} samples a second keep the processor busy {busy:.0%} of the time")
    return Power(
        transmit=bits * hardware.transmit_bit,
        processor=busy * hardware.processor_active,
        converter=samples * hardware.latch_time * hardware.converter,
        idle=(1 - busy) * hardware.processor_idle,
    )
