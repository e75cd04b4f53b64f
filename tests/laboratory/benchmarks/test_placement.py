"""`bench placement` runs; how long it takes is not asserted."""

from __future__ import annotations

from nilometer.laboratory.benchmarks.placement import measure
from nilometer.laboratory.benchmarks.result import table


def test_every_query_is_planned() -> None:
    result = measure(0, 0, {20: 1.0})
    assert [found.task for found in result.measurements] == ["Q1, 20 nodes", "Q2, 20 nodes", "Q3, 20 nodes"]
    assert all(10 <= found.rows_out <= 20 for found in result.measurements)
    assert "processor seconds to plan for 20 nodes" in table(result)
