"""Throughput by the size of a micro-batch. Small ones are bounded by the fixed cost of a micro-batch."""

from __future__ import annotations

from nilometer.laboratory.benchmarks.spark.comparison import Bench, compare
from nilometer.laboratory.benchmarks.spark.report import Comparison
from nilometer.laboratory.benchmarks.spark.workloads import named

SIZES = (10_000, 25_000, 100_000, 250_000, 1_000_000)
QUESTIONS = ("hop60x5", "join")


def batch_sizes(bench: Bench) -> tuple[Comparison, ...]:
    """One run of each side at each size, after one to warm up. The joins have fewer readings and stop at the
    size that holds all of them."""
    found = []
    for name in QUESTIONS:
        workload = named(name)
        rows = int(bench.rows * workload.share) * len(workload.streams)
        sizes = [size for size in SIZES if size < rows] + [rows]
        found += [compare(bench, workload, batch_rows=size, repeats=1) for size in sizes]
    return tuple(found)
