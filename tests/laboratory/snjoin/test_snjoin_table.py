"""A head's table against lists."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nilometer.errors import InternalError
from nilometer.laboratory.snjoin import Matches, sensed
from nilometer.laboratory.snjoin.matches import concatenated_matches
from nilometer.laboratory.snjoin.table import Table

rows = st.lists(st.tuples(st.integers(0, 3), st.integers(-20, 20), st.integers(-1, 2)), max_size=20)


def listed(matches: Matches) -> list[tuple[int, int, int]]:
    return list(zip(matches.probe.tolist(), matches.stream.tolist(), matches.time.tolist(), strict=True))


@given(rows, rows, st.integers(0, 15), st.booleans(), st.integers(-25, 25))
def test_probes_find_the_window_of_their_value(
    held: list[tuple[int, int, int]],
    probes: list[tuple[int, int, int]],
    window: int,
    with_equal: bool,
    before: int,
) -> None:
    readings = sensed([row[0] for row in held], [row[1] for row in held], [row[2] for row in held])
    readings = readings.take(readings.order())
    table = Table()
    half = int(np.searchsorted(readings.time, 0))
    table.insert(readings.take(slice(0, half)))
    table.insert(readings.take(slice(half, None)))
    table.expire(before)
    kept = [row for row in sorted(held) if row[1] >= before]
    assert len(table) == len(kept)
    assert table.distinct == len({value for _, _, value in kept})
    value, time = (np.array([row[column] for row in probes], dtype=np.int64) for column in (2, 1))
    expected = [
        (number, stream, at)
        for number, (_, probe_time, probe_value) in enumerate(probes)
        for stream, at, its_value in kept
        if its_value == probe_value
        and probe_time - window <= at
        and (at < probe_time or (with_equal and at == probe_time))
    ]
    assert listed(table.probe(value, time, window, with_equal)) == expected


@given(rows.filter(bool), st.integers(0, 15), st.data())
def test_the_newest_rows_join_with_what_stands_before_them(
    held: list[tuple[int, int, int]], window: int, data: st.DataObject
) -> None:
    readings = sensed([row[0] for row in held], [row[1] for row in held], [row[2] for row in held])
    readings = readings.take(readings.order())
    table = Table()
    table.insert(readings)
    count = data.draw(st.integers(0, len(held)))
    everything = list(
        zip(readings.stream.tolist(), readings.time.tolist(), readings.value.tolist(), strict=True)
    )
    expected = sorted(
        (place - len(held) + count, stream, time)
        for place in range(len(held) - count, len(held))
        for stream, time, value in everything[:place]
        if value == everything[place][2]
        and stream != everything[place][0]
        and everything[place][1] - time <= window
    )
    assert listed(table.probe_newest(count, window)) == expected


def test_what_comes_too_late_is_a_mistake() -> None:
    table = Table()
    table.insert(sensed([0], [5], [1]))
    with pytest.raises(InternalError):
        table.insert(sensed([0], [4], [1]))


def test_sublists_are_counted_and_concatenated_never_multiplied() -> None:
    first = Matches(np.array([0, 0, 0, 1]), np.array([3, 3, 4, 3]), np.array([1, 2, 1, 1]))
    second = Matches(np.array([0, 1]), np.array([7, 7]), np.array([5, 5]))
    together = concatenated_matches((first, second))
    assert len(together) == len(first) + len(second)
    assert (first.sublists, second.sublists, together.sublists) == (3, 2, 5)
    assert concatenated_matches(()).sublists == 0
