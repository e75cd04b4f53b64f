"""Throughput by the size of a micro-batch. Small ones are bounded by the fixed cost of a micro-batch."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from statistics import median

from nilometer.laboratory.benchmarks.spark.comparison import Bench, compare
from nilometer.laboratory.benchmarks.spark.report import STOCK, Comparison, Target
from nilometer.laboratory.benchmarks.spark.workloads import named

SIZES = (10_000, 25_000, 100_000, 250_000, 1_000_000)
QUESTIONS = ("hop60x5", "join")
FEWEST = 6
"""Micro-batches of a run."""
TIMES = {
    ("hop60x5", 10_000): 4.0,
    ("hop60x5", 25_000): 4.0,
    ("hop60x5", 100_000): 5.0,
    ("hop60x5", 250_000): 8.0,
    ("hop60x5", 1_000_000): 15.0,
    ("hop60x1", 250_000): 50.0,
    ("join", 250_000): 40.0,
    ("asof", 250_000): 8.0,
    ("rows", 250_000): 8.0,
}
"""By question and size of a micro-batch."""


def batch_sizes(bench: Bench) -> tuple[Comparison, ...]:
    """One run of each side at each size, after one to warm up. The joins have fewer readings and stop at the
    size that holds all of them."""
    found = []
    for name in QUESTIONS:
        workload = named(name)
        rows = int(bench.rows * workload.share) * len(workload.streams)
        sizes = [size for size in SIZES if size < rows] + [rows]
        for size in sizes:
            # The first micro-batch of a run is not counted.
            enough = max(bench.rows, FEWEST * size if name == "hop60x5" else 0)
            found.append(compare(replace(bench, rows=enough), workload, batch_rows=size, repeats=1))
    return tuple(found)


def micro_batch_targets(found: Iterable[Comparison]) -> tuple[Target, ...]:
    """How many times as fast as stock Spark a micro-batch of a running query must be."""
    return tuple(
        Target(
            f"{each.title}, a micro-batch of {each.batch_rows:,}, times as fast as stock Spark",
            median(stock) / median(ours),
            limit,
        )
        for each in found
        if (limit := TIMES.get((each.workload, each.batch_rows))) is not None
        and (ours := each.milliseconds.get("ours"))
        and (stock := each.milliseconds.get(STOCK))
    )
