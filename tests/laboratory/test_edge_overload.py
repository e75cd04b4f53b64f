"""The benchmark of an overload runs, on little data, and its books balance."""

from __future__ import annotations

from nilometer.laboratory.benchmarks.edge_overload import BATCH, edge_overload


def test_the_benchmark_runs() -> None:
    measured, _ = edge_overload(rows=100 * BATCH)
    assert measured.equal
    assert measured.rows_in == 100 * BATCH
    assert measured.rows_out == 10 * BATCH
