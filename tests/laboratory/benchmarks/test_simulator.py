"""`bench simulator` runs; how long it takes is not asserted."""

from __future__ import annotations

from nilometer.laboratory.benchmarks.result import table
from nilometer.laboratory.benchmarks.simulator import measure


def test_every_reading_is_answered() -> None:
    result = measure(0, 0, sizes=(20,), days=1)
    select, average = result.measurements
    assert select.rows_out == select.rows_in > 0, "Q1 delivers every reading"
    assert 0 < average.rows_out < average.rows_in, "Q2 one row for all of an evaluation"
    assert "processor seconds for 1 days of 20 nodes" in table(result)
