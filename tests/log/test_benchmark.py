"""The benchmark of the log runs, on little data, and compares its answers."""

from __future__ import annotations

from nilometer.laboratory.benchmarks.edge_log import edge_log, targets


def test_the_benchmark_runs() -> None:
    measured = edge_log(rows=5_000)
    assert [m.equal for m in measured] == [True, True]
    assert [m.rows_out for m in measured] == [5_000, 5_000]
    assert len(targets(measured)) == 2
