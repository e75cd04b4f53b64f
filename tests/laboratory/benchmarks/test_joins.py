"""`bench joins`: what its joins answer is the same; how long they take is not asserted."""

from __future__ import annotations

from nilometer.laboratory.benchmarks.joins import measure


def test_every_join_gives_the_same_counts() -> None:
    result = measure(5_000, 40)
    compared = [each for each in result.measurements if each.equal is not None]
    assert [each.task for each in compared if not each.equal] == []
    assert len(compared) == 3
    assert all(each.rows_out > 0 for each in compared)
