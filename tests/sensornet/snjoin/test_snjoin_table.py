"""A head's table against lists."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nilometer.errors import InternalError
from nilometer.sensornet.snjoin import Matches, Readings, sensed
from nilometer.sensornet.snjoin.matches import concatenated_matches
from nilometer.sensornet.snjoin.table import Table

rows = st.lists(st.tuples(st.integers(0, 3), st.integers(-20, 20), st.integers(-1, 2)), max_size=20)


def listed(matches: Matches) -> list[tuple[int, int, int]]:
    return list(zip(matches.probe.tolist(), matches.stream.tolist(), matches.time.tolist(), strict=True))


withins = st.sampled_from([0.0, 1.0, 1.5])
reaches = st.integers(-1, 20)


def held_rows(held: list[tuple[int, int, int]], kind: type, reach: int | None) -> Readings:
    values = [kind(row[2]) for row in held]
    # Every second stream has a window of its own.
    own = None if reach is None else [reach if row[0] % 2 else 2**62 for row in held]
    readings = sensed([row[0] for row in held], [row[1] for row in held], values, own)
    return readings.take(readings.order())


@given(
    rows,
    rows,
    st.integers(0, 15),
    withins,
    st.sampled_from([int, float]),
    st.none() | reaches,
    st.integers(-25, 25),
)
def test_probes_find_the_window_of_their_value(
    held: list[tuple[int, int, int]],
    probes: list[tuple[int, int, int]],
    window: int,
    within: float,
    kind: type,
    reach: int | None,
    before: int,
) -> None:
    readings = held_rows(held, kind, reach)
    table = Table(within)
    half = int(np.searchsorted(readings.time, 0))
    table.insert(readings.take(slice(0, half)))
    table.insert(readings.take(slice(half, None)))
    table.expire(before)
    kept = [row for row in sorted(held) if row[1] >= before]
    assert len(table) == len(kept)
    assert table.distinct == len({value for _, _, value in kept})
    probing = sensed([row[0] for row in probes], [row[1] for row in probes], [kind(row[2]) for row in probes])
    expected = sorted(
        (number, stream, at)
        for number, (own, time, value) in enumerate(probes)
        for stream, at, its_value in kept
        if abs(its_value - value) <= within
        and stream != own
        and time - at <= (window if reach is None or not stream % 2 else min(window, reach))
        and (at, stream) < (time, own)
    )
    assert listed(table.probe(probing, window)) == expected


@given(rows.filter(bool), st.integers(0, 15), withins, st.none() | reaches, st.data())
def test_the_newest_rows_join_with_what_stands_before_them(
    held: list[tuple[int, int, int]], window: int, within: float, reach: int | None, data: st.DataObject
) -> None:
    readings = held_rows(held, int, reach)
    table = Table(within)
    table.insert(readings)
    count = data.draw(st.integers(0, len(held)))
    everything = list(
        zip(readings.stream.tolist(), readings.time.tolist(), readings.value.tolist(), strict=True)
    )
    expected = sorted(
        (place - len(held) + count, stream, time)
        for place in range(len(held) - count, len(held))
        for stream, time, value in everything[:place]
        if abs(value - everything[place][2]) <= within
        and stream != everything[place][0]
        and everything[place][1] - time <= (window if reach is None or not stream % 2 else min(window, reach))
    )
    assert listed(table.probe_newest(count, window)) == expected


def test_what_comes_too_late_is_a_mistake() -> None:
    table = Table()
    table.insert(sensed([0], [5], [1]))
    with pytest.raises(InternalError):
        table.insert(sensed([0], [4], [1]))


def test_sublists_are_counted_and_concatenated_never_multiplied() -> None:
    first = Matches(np.array([0, 0, 0, 1]), np.array([3, 3, 4, 3]), np.array([1, 2, 1, 1]), np.arange(4))
    second = Matches(np.array([0, 1]), np.array([7, 7]), np.array([5, 5]), np.arange(2))
    together = concatenated_matches((first, second))
    assert len(together) == len(first) + len(second)
    assert (first.sublists, second.sublists, together.sublists) == (3, 2, 5)
    assert concatenated_matches(()).sublists == 0
