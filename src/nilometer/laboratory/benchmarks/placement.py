"""`nilometer bench placement`: the time to plan a query for motes, by the size of the network, on one core.

It plans the paper's three queries over a random network (SNEE section 6.3) in which half of the nodes sense.
Planning waits for nothing, so processor time is the right measure, even on a shared machine.
"""

from __future__ import annotations

import random
import time
from dataclasses import replace

from nilometer.engine import connect
from nilometer.laboratory.benchmarks.result import Measurement, Result, Target
from nilometer.laboratory.benchmarks.single_core import on_one_core
from nilometer.laboratory.scenarios import QUERIES, random_network, random_scenario
from nilometer.placement import QualityOfService, place

LIMITS = {200: 1.0, 2_000: 20.0}
"""The seconds that a plan may take, by number of nodes."""


def placement(rows: int, sensors: int) -> Result:
    """Run the benchmark; `rows` and `sensors` have no meaning here."""
    return on_one_core(__name__, rows, sensors)


def measure(_rows: int, _sensors: int, limits: dict[int, float] | None = None) -> Result:
    """The part that runs in its own process."""
    measurements, targets = [], []
    for size, limit in (limits or LIMITS).items():
        longest = 0.0
        for name in QUERIES:
            seconds, sites = _planned(name, size)
            longest = max(longest, seconds)
            measurements.append(Measurement(f"{name}, {size:,} nodes", seconds, None, size, sites, None))
        targets.append(Target(f"processor seconds to plan for {size:,} nodes", longest, limit))
    setting = "random networks, half of the nodes sense, every 15 minutes or so; rows are nodes, rows out sites in the plan"
    return Result("placement", "peer", setting, tuple(measurements), tuple(targets))


def _planned(name: str, size: int) -> tuple[float, int]:
    network = random_network(random.Random(size), size, river=0.5)
    # A Mica2's memory is too small for the tuples that pass the sink's neighbours. Planning must still work.
    network = replace(network, nodes=tuple(replace(node, ram=65_536) for node in network.nodes))
    scenario = random_scenario(1, 30, name)
    database = connect()
    database.execute(scenario.schema)
    plan = database.sql(scenario.query).physical
    begun = time.process_time()
    found = place(plan, network, QualityOfService.of(delivery_time=scenario.delivery_time))
    return time.process_time() - begun, len(found.routing.post_order)
