"""Throughput by the number of sensors: 200, 2,000, 20,000, with the same total number of readings."""

from __future__ import annotations

from nilometer.laboratory.benchmarks.spark.comparison import Bench, compare
from nilometer.laboratory.benchmarks.spark.report import Comparison
from nilometer.laboratory.benchmarks.spark.workloads import named

SENSORS = (200, 2_000, 20_000)


def fleet_sizes(bench: Bench) -> tuple[Comparison, ...]:
    """One run of each side, after one to warm up."""
    sizes = [sensors for sensors in SENSORS if sensors <= bench.rows // 10]
    return tuple(compare(bench, named("hop60x5"), sensors=sensors, repeats=1) for sensors in sizes)
