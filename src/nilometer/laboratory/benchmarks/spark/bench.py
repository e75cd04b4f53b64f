"""`nilometer bench spark`: runs all parts in one Spark session."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from nilometer.laboratory.benchmarks.registry import check
from nilometer.laboratory.benchmarks.spark import floor as floors
from nilometer.laboratory.benchmarks.spark import many_queries as many
from nilometer.laboratory.benchmarks.spark import state_size as states
from nilometer.laboratory.benchmarks.spark.batch_sizes import batch_sizes, micro_batch_targets
from nilometer.laboratory.benchmarks.spark.comparison import Bench, Say, compare
from nilometer.laboratory.benchmarks.spark.fleet_sizes import fleet_sizes
from nilometer.laboratory.benchmarks.spark.latency import latency, latency_targets
from nilometer.laboratory.benchmarks.spark.report import Comparison, Latency, Report, Target
from nilometer.laboratory.benchmarks.spark.workloads import WORKLOADS, Workload

BATCH = 250_000
REPEATS = 4
"""An even number, so that each order comes equally often."""
CURVES = ("batches", "fleet", "floor", "state", "latency", "pipelines")
PARTS = (*(workload.name for workload in WORKLOADS), *CURVES)
NEWEST = 10.0
"""How many times as fast as Spark with its newest join state the keyed join must be, in whole runs."""
FLINK = 5.0
"""How many times as fast as PyFlink each question must be, in whole runs: Flink has no micro-batches."""
QUICK = 20
"""The factor by which a quick run has fewer readings; each side then runs once."""


@dataclass(frozen=True)
class Options:
    """The parts to run, and their sizes. `only` are names of PARTS; empty means all."""

    rows: int = 1_000_000
    sensors: int = 1_000
    only: tuple[str, ...] = ()
    quick: bool = False
    peers: bool = False

    def __post_init__(self) -> None:
        for name in self.only:
            check(PARTS, name, "part of bench spark")

    def wants(self, part: str) -> bool:
        """Whether a part is asked for."""
        return not self.only or part in self.only


def spark(options: Options, say: Say = lambda line: print(line, file=sys.stderr, flush=True)) -> Report:
    """Run the requested parts."""
    from nilometer.spark.session import spark_session

    session = spark_session()
    with tempfile.TemporaryDirectory(prefix="nilometer-bench-", ignore_cleanup_errors=True) as folder:
        bench = Bench(session, Path(folder), options.rows, options.sensors, BATCH, REPEATS, say)
        if options.quick:
            bench = replace(bench, rows=options.rows // QUICK, batch_rows=BATCH // QUICK, repeats=1)
        return _report(bench, options, str(session.conf.get("spark.master")))


def _report(bench: Bench, options: Options, master: str) -> Report:
    workloads = [workload for workload in WORKLOADS if options.wants(workload.name)]
    compared = tuple(compare(bench, workload) for workload in workloads)
    if options.peers:
        from nilometer.laboratory.benchmarks.spark.foreign import with_foreign

        compared = tuple(with_foreign(bench, *pair) for pair in zip(workloads, compared, strict=True))
    found = Report(
        f"{bench.rows:,} readings of {bench.sensors:,} sensors (joins: two streams of a fifth), {bench.batch_rows:,} a micro-batch, "
        f"{master}, RocksDB; median of {bench.repeats} warm runs, in either order",
        compared,
        batch_sizes(bench) if options.wants("batches") else (),
        fleet_sizes(bench) if options.wants("fleet") else (),
        floors.floor(bench) if options.wants("floor") else (),
        _latency(bench, options.quick) if options.wants("latency") else (),
        states.state_size(bench) if options.wants("state") else (),
        many.many_queries(bench) if options.wants("pipelines") else (),
    )
    targets = (
        *whole_run_targets(workloads, compared),
        *micro_batch_targets((*compared, *found.batch_sizes)),
        *floors.targets(found.floors),
        *latency_targets(found.latencies),
        *states.targets(found.states),
        *many.targets(found.pipelines),
    )
    return replace(found, targets=targets)


def _latency(bench: Bench, quick: bool) -> tuple[Latency, ...]:
    return latency(bench, seconds=8.0, warming=3.0) if quick else latency(bench)


def whole_run_targets(workloads: Iterable[Workload], compared: Iterable[Comparison]) -> tuple[Target, ...]:
    """How many times as fast as its peers a question must be from its text to its last answer."""
    from nilometer.laboratory.benchmarks.spark.peers.settings import NEW_JOIN_STATE

    compared = tuple(compared)
    others = tuple(
        Target(f"{each.title}, whole runs, times as fast as {peer}", each.times(peer) or 0.0, limit)
        for each in compared
        for peer, limit in ((NEW_JOIN_STATE, NEWEST), ("Flink", FLINK))
        if peer in each.peers
    )
    return others + tuple(
        Target(f"{each.title}, whole runs, times as fast as stock Spark", each.times() or 0.0, workload.times)
        for workload, each in zip(workloads, compared, strict=True)
        if workload.times is not None
    )
