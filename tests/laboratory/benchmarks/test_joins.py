"""`bench joins`: what its joins answer is the same; how long they take is not asserted."""

from __future__ import annotations

from math import prod

import numpy as np

from nilometer.laboratory.benchmarks import join_sizes
from nilometer.laboratory.benchmarks.join_sizes import held_over, sizes
from nilometer.laboratory.benchmarks.joins import WINDOW, measure, readings
from nilometer.types import SECOND


def test_every_join_gives_the_same_counts() -> None:
    result = measure(5_000, 40, seconds=180)
    compared = [each for each in result.measurements if each.equal is not None]
    assert [each.task for each in compared if not each.equal] == []
    assert len(compared) == 3 + 12
    assert all(each.rows_out > 0 for each in compared[:3])


def test_sizes_are_those_of_lists_that_are_written_out() -> None:
    given = readings(600, 30, 30)
    found = sizes(given, 30, WINDOW)
    matches = streams = rows = cells = 0
    for probe in range(len(given) - join_sizes.ANSWERS, len(given)):
        like = (given.keys[:probe] == given.keys[probe]) & (given.sources[:probe] != given.sources[probe])
        like &= given.times[probe] - given.times[:probe] <= WINDOW
        lengths = np.unique(given.sources[:probe][like], return_counts=True)[1].tolist()
        matches, streams = matches + sum(lengths), streams + len(lengths)
        rows += prod(lengths) if lengths else 0
        cells += prod(lengths) * (1 + len(lengths)) if lengths else 0
    assert (found.matches, found.streams, found.rows, found.cells) == (matches, streams, rows, cells)
    assert "200 answers factorised 8 kB" in found.line()


def test_what_similar_holds_stays_at_the_window_over_an_hour() -> None:
    sensors = 20
    held = held_over(readings(3_600 * sensors, sensors, sensors), 3_600, 10 * SECOND)
    assert len(held) == 60
    # Ten seconds of twenty readings, and never what a minute brings.
    assert max(each.occurrences for each in held) < 300
    assert max(each.table for each in held) <= 1.5 * held[0].table
    assert max(each.state for each in held) <= 1.5 * held[0].state
