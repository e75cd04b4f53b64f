"""The traffic sensor of fjords.txt section 5: three programs, what each can answer, and the cheapest for a demand.

| program | sends | answers |
|---|---|---|
| raw samples | every reading | everything: vehicles can be found in the readings |
| vehicle times | when a vehicle covers the sensor and when it leaves it | times, speed, length, counts |
| counts | once a second, how many vehicles passed | counts per second, and sums of them |

Two sensors `d` feet apart see a vehicle at t0 (covers upstream), t1 (covers both), t2 (leaves upstream) and t3 (leaves
both). Its speed is d / (t1 - t0) and its length speed * (t2 - t0); the paper prints t0 - t2, which is negative.

>>> round(speed(0.0, 0.1, distance=8.8)), round(length(0.0, 0.1, 0.2, distance=8.8), 1)
(88, 17.6)
>>> sample_rate(accuracy=1.0, speed=60 * MILE_PER_HOUR)  # "about 180Hz"
176.0
"""

from __future__ import annotations

from dataclasses import dataclass

from nilometer.errors import UnsupportedError
from nilometer.expressions import columns_of
from nilometer.live.proxies.demand import Demand
from nilometer.simulated.power import TABLE_1, Hardware, Power, draw
from nilometer.types import SECOND

MILE_PER_HOUR = 5_280 / 3_600
"""In feet per second: 60 mph are 88 ft/s."""

BASELINE_RATE = 180.0
"""Samples per second: section 5.1's answer to "one foot at 60 mph"."""

MOST_VEHICLES = 5.0
"""Per second; one every 18 feet at 60 mph (section 5.2)."""

HEADER_BITS = 8
READING = frozenset({"reading"})
VEHICLE = frozenset({"t0", "t1", "t2", "t3", "speed", "length"})
COUNT = frozenset({"vehicles"})
STAMPS = frozenset({"time", "id"})


@dataclass(frozen=True)
class Program:
    """A program of the sensor: the columns it can answer for, its cycles per sample, and the payload of a
    message."""

    name: str
    columns: frozenset[str]
    cycles: int
    payload_bits: int

    def messages(self, samples: float, vehicles: float) -> float:
        """The number of messages per second."""
        return {"raw samples": samples, "vehicle times": vehicles, "counts": 1.0}[self.name]

    def power(
        self,
        samples: float = BASELINE_RATE,
        vehicles: float = MOST_VEHICLES,
        hardware: Hardware = TABLE_1,
    ) -> Power:
        """Its power at a sample rate."""
        bits = self.messages(samples, vehicles) * (HEADER_BITS + self.payload_bits)
        return draw(hardware, samples=samples, cycles=self.cycles, bits=bits)


# The paper counted the cycles in a simulator but does not print them. These are the round numbers, growing
# with the work, that give its figures. The bits follow from one rule: a header byte and the payload.
RAW_SAMPLES = Program("raw samples", READING | VEHICLE | COUNT, cycles=50, payload_bits=8)
VEHICLE_TIMES = Program("vehicle times", VEHICLE | COUNT, cycles=150, payload_bits=2 * 16)
COUNTS = Program("counts", COUNT, cycles=195, payload_bits=8)

PROGRAMS = (RAW_SAMPLES, VEHICLE_TIMES, COUNTS)


def answers(program: Program, demand: Demand) -> bool:
    """Whether the program's messages contain what the demand needs."""
    wanted = _wanted(demand)
    if not wanted <= program.columns:
        return False
    if program is not COUNTS:
        return bool(wanted) or program is RAW_SAMPLES or _counts_vehicles(demand)
    if wanted:
        return all(interval % SECOND == 0 for interval in demand.intervals)
    return _counts_vehicles(demand) and demand.aggregate is not None and demand.aggregate.every % SECOND == 0


def _wanted(demand: Demand) -> frozenset[str]:
    reads = frozenset() if demand.predicate is None else columns_of(demand.predicate)
    wanted = frozenset(name.lower() for name in demand.columns | reads) - STAMPS
    unknown = wanted - RAW_SAMPLES.columns
    if unknown:
        raise UnsupportedError(
            f"a traffic sensor has no '{min(unknown)}'",
            hint=f"it has {', '.join(sorted(RAW_SAMPLES.columns))}",
        )
    return wanted


def _counts_vehicles(demand: Demand) -> bool:
    """Whether the demand needs only COUNT(*) of the vehicles."""
    summary = demand.aggregate
    if summary is None or demand.predicate is not None:
        return False
    return all(a.function == "count" and a.argument is None for a in summary.aggregates)


def cheapest(
    demand: Demand,
    samples: float = BASELINE_RATE,
    vehicles: float = MOST_VEHICLES,
    hardware: Hardware = TABLE_1,
) -> Program:
    """The program with the least power among those that answer the demand."""
    able = [program for program in PROGRAMS if answers(program, demand)]
    return min(able, key=lambda program: program.power(samples, vehicles, hardware).total)


# ---- what the programs compute ---------------------------------------------------------------------------------------


def sample_rate(accuracy: float, speed: float) -> float:
    """Samples per second that measure a length to `accuracy` feet at `speed` feet per second. Both t0 and t2
    may be late by one sample, so a vehicle may travel half of the accuracy between samples (section 5.1). A
    single time needs half of that rate."""
    return speed / (accuracy / 2)


def speed(t0: float, t1: float, *, distance: float) -> float:
    """Speed in feet per second, from sensors `distance` feet apart."""
    return distance / (t1 - t0)


def length(t0: float, t1: float, t2: float, *, distance: float) -> float:
    """Length in feet."""
    return speed(t0, t1, distance=distance) * (t2 - t0)
