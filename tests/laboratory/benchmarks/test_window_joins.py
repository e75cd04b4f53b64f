"""The W-joins' benchmark: what they answer is the same; how long they take is not asserted."""

from __future__ import annotations

from nilometer.laboratory.benchmarks.window_joins import window_joins


def test_every_way_gives_the_same_tuples() -> None:
    measured = window_joins(1_000, rate=100, things=100, repeats=1)
    assert [each.task for each in measured if not each.equal] == []
    assert len(measured) == 12
    assert all(each.rows_out > 0 for each in measured)
