"""`nilometer bench simulator`: the time to simulate six months of a network of motes, on one core.

It runs the paper's Q1 and Q2 (SNEE Fig. 25) on a random network, with a reading every 15 minutes and no
losses. The answers of the whole run are made but not kept.
"""

from __future__ import annotations

import time
from dataclasses import replace

from nilometer.laboratory.benchmarks.result import Measurement, Result, Target
from nilometer.laboratory.benchmarks.single_core import on_one_core
from nilometer.laboratory.placement_comparison import placed
from nilometer.laboratory.scenarios import random_scenario
from nilometer.placement import QualityOfService
from nilometer.sensornet.simulation import Conditions, simulate
from nilometer.types import DAY, HOUR, MINUTE, format_duration

SIZES = (200, 2_000)
DAYS = 182
LIMIT = 60.0
"""The processor seconds that six months of the largest network may take."""


def simulator(rows: int, sensors: int) -> Result:
    """Run the benchmark; `rows` and `sensors` have no meaning here."""
    return on_one_core(__name__, rows, sensors)


def measure(_rows: int, _sensors: int, sizes: tuple[int, ...] = SIZES, days: int = DAYS) -> Result:
    """The part that runs in its own process."""
    measurements = []
    longest = 0.0
    for size in sizes:
        for query in ("Q1", "Q2"):
            scenario = random_scenario(1, size, query)
            declared, wanted = (format_duration(every) for every in (scenario.interval, 15 * MINUTE))
            scenario = replace(scenario, schema=scenario.schema.replace(declared, wanted))
            placement = placed(scenario, "default", QualityOfService.of(delivery_time=24 * HOUR))
            begun = time.process_time()
            found = simulate(
                placement, days * DAY, Conditions(batteries=False, repair="none"), take=lambda _: None
            )
            seconds = time.process_time() - begun
            longest = max(longest, seconds)
            readings = found.periods * placement.beta * len(placement.routing.sources)
            measurements.append(
                Measurement(f"{query}, {size:,} nodes", seconds, None, readings, found.answer_rows, None)
            )
    claim = f"processor seconds for {days} days of {max(sizes):,} nodes"
    setting = (
        f"{days} days, a reading every 15 minutes; rows are readings, rows out those that the sink delivers"
    )
    return Result("simulator", "peer", setting, tuple(measurements), (Target(claim, longest, LIMIT),))
