"""The road of fjords.txt section 5: loops that see vehicles pass, and the three programs, from counts to raw
samples.

A row is a sample. If a vehicle has left both sensors since the previous sample, the row has t0 ... t3, speed
and length. At each whole second it has the number of vehicles that left in that second. The programs are
nested: `counts` sends the rows of whole seconds, `vehicle times` also those with a vehicle, `raw samples` all
of them. So a query that only looks at rows in which a column of the cheaper program is not NULL has the same
answer with either program; `program_for` chooses by that.

>>> from nilometer.live.proxies import Demand, Summary
>>> from nilometer.expressions import Aggregate, ColumnReference
>>> from nilometer.types import INT, MINUTE
>>> total = Aggregate("sum", ColumnReference("vehicles", INT), False, INT)
>>> flow = Demand((), frozenset({"vehicles"}), aggregate=Summary(MINUTE, frozenset({total})))
>>> program_for((flow,)), program_for((flow, Demand((), frozenset({"reading"}))))
('counts', 'raw samples')
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from nilometer.catalog.extents import Sensor
from nilometer.expressions import columns_of
from nilometer.kernels.arrays import Floats, Integers
from nilometer.live.proxies.demand import Demand, asks_for
from nilometer.simulated.fields.generator import quantised
from nilometer.simulated.fields.traffic_loop import TrafficLoop
from nilometer.simulated.physics import Readings
from nilometer.simulated.programs import (
    COUNT,
    COUNTS,
    MILE_PER_HOUR,
    RAW_SAMPLES,
    READING,
    STAMPS,
    VEHICLE,
    VEHICLE_TIMES,
    Program,
)
from nilometer.types import FLOAT, INT, MILLISECOND, SECOND, TIME, Column

SAMPLE = 5 * MILLISECOND
"""200 samples a second: the paper's 180 on a clock of whole milliseconds."""

SLOTS = SECOND // SAMPLE
DISTANCE = 8.8
"""Feet between the two sensors of a loop."""

PASSING = 4
"""Every vehicle passes in less than this many seconds: the slowest makes 20 feet per second, and the longest
has 50 feet."""

KILOMETRE_PER_HOUR = MILE_PER_HOUR / 1.609344
LEVELS = (COUNTS, VEHICLE_TIMES, RAW_SAMPLES)
KNOWS = (COUNT, COUNT | VEHICLE, COUNT | VEHICLE | READING)


def program_for(demands: tuple[Demand, ...]) -> str:
    """The program that sends the least among those that answer all these demands, whatever the other programs
    would send."""
    return LEVELS[max(map(_level, demands), default=0)].name


def _level(demand: Demand) -> int:
    """The lowest level that sends every row that the demand looks at."""
    reads = frozenset() if demand.predicate is None else columns_of(demand.predicate)
    wanted = frozenset(name.lower() for name in demand.columns | reads) - STAMPS
    for level, knows in enumerate(KNOWS):
        if wanted <= knows and (_rejects_null(demand) or _sums(demand)):
            return level
    return len(LEVELS) - 1


def _rejects_null(demand: Demand) -> bool:
    """Whether the filter drops every row in which all columns that it reads are NULL."""
    if demand.predicate is None:
        return False
    return not asks_for(demand, dict.fromkeys(columns_of(demand.predicate)))


def _sums(demand: Demand) -> bool:
    """Whether rows with NULL columns change nothing: aggregates over whole seconds, each of some column."""
    summary = demand.aggregate
    if summary is None or summary.every % SECOND or demand.predicate is not None:
        return False
    return all(aggregate.argument is not None for aggregate in summary.aggregates)


@dataclass(frozen=True)
class Road:
    """Loops along a road. `generator` says how dense and how fast traffic is at a time of day."""

    generator: TrafficLoop

    programs: tuple[Program, ...] = LEVELS
    every: int = SAMPLE
    step: int = SECOND

    @property
    def sensor_count(self) -> int:
        """The number of loops."""
        return self.generator.sensor_count

    def columns(self) -> tuple[Column, ...]:
        """The columns of a sample, a vehicle and a count."""
        times = tuple(Column(name, TIME) for name in ("t0", "t1", "t2", "t3"))
        vehicle = (Column("speed", FLOAT, "[mi_i]/h"), Column("length", FLOAT, "[ft_i]"))
        return (Column("reading", INT), *times, *vehicle, Column("vehicles", INT))

    def sensors(self, stream: str) -> list[Sensor]:
        """Sensors evenly spaced along the road."""
        loops = self.generator
        return [
            Sensor(place + 1, stream, (float(x), float(y)), (("post", float(x)),))
            for place, (x, y) in enumerate(loops.locations())
        ]

    def readings(self, tick: int, level: Integers) -> Readings:
        """The samples of the second that ends with the tick."""
        passed = self._leaving(tick)
        ends = np.arange(self.sensor_count) * SLOTS + SLOTS - 1
        raw = np.flatnonzero(level >= 2)
        samples = (raw[:, None] * SLOTS + np.arange(SLOTS)).ravel()
        keys = np.unique(np.concatenate([samples, passed["key"], ends]))
        place, slot = keys // SLOTS, keys % SLOTS
        rank = np.full(len(keys), 2)
        at = np.searchsorted(keys, passed["key"])
        rank[at] = 1
        rank[np.searchsorted(keys, ends)] = 0
        counts = np.bincount((passed["key"] // SLOTS).astype(np.int64), minlength=self.sensor_count)
        values = {
            "reading": pl.Series(self._light(tick, keys)),
            **{
                name: _scattered(passed[name], at, len(keys))
                for name in ("t0", "t1", "t2", "t3", "speed", "length")
            },
            "vehicles": _scattered(counts, np.searchsorted(keys, ends), len(keys)),
        }
        times = tick - SECOND + (slot + 1) * SAMPLE
        order = np.lexsort((place, times))
        return Readings(place[order], times[order], rank[order], pl.DataFrame(values)[order])

    def masked(self, values: pl.DataFrame, level: Integers) -> pl.DataFrame:
        """The values without the reading below raw samples, and without the vehicle below vehicle times."""
        able = pl.Series(level)
        return values.with_columns(
            pl.when(able >= (2 if name == "reading" else 1)).then(pl.col(name)).alias(name)
            for name in values.columns
            if name != "vehicles"
        )

    def _leaving(self, tick: int) -> dict[str, np.ndarray[tuple[int], np.dtype[np.generic]]]:
        """The vehicles that leave their loop in the second that ends with the tick, at most one per
        sample."""
        place, t0, speed, length = self._about(tick)
        pace = speed * MILE_PER_HOUR
        marks = np.stack([t0, t0 + DISTANCE / pace * SECOND, t0 + length / pace * SECOND])
        marks = np.concatenate([marks, [marks[1] + marks[2] - marks[0]]])
        seen = (np.ceil(marks / SAMPLE) * SAMPLE).astype(np.int64)
        slot = (seen[3] - (tick - SECOND)) // SAMPLE - 1
        inside = (slot >= 0) & (slot < SLOTS)
        key, first = np.unique((place * SLOTS + slot)[inside], return_index=True)
        chosen = np.flatnonzero(inside)[first]
        found: dict[str, np.ndarray[tuple[int], np.dtype[np.generic]]] = {"key": key}
        found |= {f"t{number}": seen[number][chosen] for number in range(4)}
        measured = DISTANCE / ((seen[1] - seen[0])[chosen] / SECOND)
        return found | {
            "speed": quantised(measured / MILE_PER_HOUR),
            "length": quantised(measured * (seen[2] - seen[0])[chosen] / SECOND),
        }

    def _about(self, tick: int) -> tuple[Integers, Floats, Floats, Floats]:
        """The vehicles that may be on a loop in that second."""
        parts = [self._entering(tick - back * SECOND) for back in range(PASSING)]
        places = np.concatenate([part[0] for part in parts])
        t0, speed, length = (np.concatenate([part[n] for part in parts]) for n in (1, 2, 3))
        return places, t0, speed, length

    def _entering(self, tick: int) -> tuple[Integers, Floats, Floats, Floats]:
        """Place, t0, speed and length of the vehicles that reach a loop in the second that ends with the tick."""
        loops = self.generator
        random = np.random.default_rng((loops.seed, 8, max(0, tick)))
        density = np.clip(loops.density(np.array([tick])), 0.0, loops.jam_density * 0.8)
        speed = loops.free_speed * (1 - density / loops.jam_density)
        flow = np.full(loops.sensor_count, float((density * speed)[0]) / 3_600)
        counts = np.minimum(random.poisson(flow), 5)
        place = np.repeat(np.arange(loops.sensor_count), counts)
        t0 = tick - SECOND + random.random(len(place)) * SECOND
        miles = np.clip(
            speed[0] * KILOMETRE_PER_HOUR / MILE_PER_HOUR + random.normal(0, 4, len(place)), 15, 90
        )
        return place, np.sort(t0), miles, random.uniform(12.0, 50.0, len(place))

    def _light(self, tick: int, keys: Integers) -> Integers:
        """The light sensor's values at these samples: dark under a vehicle, with some noise."""
        place, t0, speed, length = self._about(tick)
        enter = place * SLOTS + np.clip((t0 - (tick - SECOND)) // SAMPLE, 0, SLOTS).astype(np.int64)
        gone = t0 + length / (speed * MILE_PER_HOUR) * SECOND
        leave = place * SLOTS + np.clip((gone - (tick - SECOND)) // SAMPLE, 0, SLOTS).astype(np.int64)
        change = np.zeros(self.sensor_count * SLOTS + 1, np.int64)
        np.add.at(change, enter, 1)
        np.add.at(change, leave, -1)
        covered = np.cumsum(change)[:-1] > 0
        noise = np.random.default_rng((self.generator.seed, 9, max(0, tick))).integers(0, 16, len(covered))
        return (200 - 150 * covered + noise)[keys]


def _scattered(values: np.ndarray[tuple[int], np.dtype[np.generic]], at: Integers, size: int) -> pl.Series:
    """The values at these places, and NULL elsewhere."""
    column = np.zeros(size, values.dtype)
    column[at] = values
    there = np.zeros(size, bool)
    there[at] = True
    return pl.select(pl.when(pl.Series(there)).then(pl.Series(column))).to_series()
