"""The window table against the product of all streams."""

from __future__ import annotations

from itertools import product

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from nilometer.kernels.window_bounds import implied_widths
from nilometer.kernels.window_table import WindowTable


@st.composite
def arrivals(draw: st.DrawFn) -> tuple[int, list[tuple[int, int, int]]]:
    """How many streams, and (port, time, number) in the order in which they come, which need not be that of time."""
    streams = draw(st.integers(2, 4))
    row = st.tuples(st.integers(0, streams - 1), st.integers(0, 15), st.integers(0, 2))
    return streams, draw(st.lists(row, max_size=18))


@given(arrivals(), st.data())
def test_like_the_product_of_all_streams(
    script: tuple[int, list[tuple[int, int, int]]], data: st.DataObject
) -> None:
    streams, rows = script
    bounds = [(port, port + 1, data.draw(st.integers(0, 6))) for port in range(streams - 1)]
    widths = implied_widths(streams, bounds)
    orders = np.array(
        [data.draw(st.permutations([o for o in range(streams) if o != p])) for p in range(streams)]
    )
    limit = data.draw(st.integers(1, 5))
    table = WindowTable(widths, orders, hashed=data.draw(st.booleans()))
    given_rows: list[tuple[int, ...]] = []
    done = 0
    while done < len(rows):
        part = rows[done : done + data.draw(st.integers(1, 18))]
        done += len(part)
        ports, times, numbers = (np.array([row[place] for row in part]) for place in range(3))
        for found in table.feed(ports, times, numbers.astype(np.uint64), limit):
            assert 0 < found.shape[1] <= limit
            given_rows += map(tuple, found.T.tolist())
    assert len(table) == len(rows)
    by_port = [[(time, number) for port, time, number in rows if port == one] for one in range(streams)]
    for port in range(streams):
        assert table.times(port).tolist() == [time for time, _ in by_port[port]]
    expected = []
    for members in product(*(range(len(one)) for one in by_port)):
        times_of = [by_port[port][row][0] for port, row in enumerate(members)]
        numbers_of = {by_port[port][row][1] for port, row in enumerate(members)}
        near = all(abs(times_of[i] - times_of[j]) <= widths[i, j] for i in range(streams) for j in range(i))
        if near and len(numbers_of) == 1:
            expected.append(members)
    assert sorted(given_rows) == sorted(expected)


@given(st.lists(st.integers(0, 9), min_size=1, max_size=300), st.integers(0, 10))
def test_what_has_expired_is_met_no_more(times: list[int], bound: int) -> None:
    """Up to the first row that is not too old; and the table keeps its numbers when it grows."""
    table = WindowTable(np.array([[0, 100], [100, 0]]), np.array([[1], [0]]))
    ones = np.ones(len(times), dtype=np.uint64)
    table.insert(0, np.array(times), ones)
    table.expire(np.array([bound, bound]))
    kept = next((place for place, time in enumerate(times) if time >= bound), len(times))
    assert table.first.tolist() == [kept, 0]
    table.insert(0, np.full(600, 9), np.ones(600, dtype=np.uint64))
    found = list(table.feed(np.array([1]), np.array([5]), np.ones(1, dtype=np.uint64), 10_000))
    rows = sorted(row for chunk in found for row in chunk[0].tolist())
    assert rows == list(range(kept, len(times) + 600))


@given(st.lists(st.integers(0, 9), max_size=30), st.integers(0, 10), st.lists(st.integers(0, 9), max_size=9))
def test_what_was_given_up_is_met_no_more(times: list[int], horizon: int, more: list[int]) -> None:
    """Wherever it stands; what comes later, however old, is kept."""
    table = WindowTable(np.array([[0, 3], [3, 0]]), np.array([[1], [0]]))
    table.insert(0, np.array(times, dtype=np.int64), np.ones(len(times), dtype=np.uint64))
    table.forget(horizon)
    table.insert(0, np.array(more, dtype=np.int64), np.ones(len(more), dtype=np.uint64))
    kept = [(row, time) for row, time in enumerate(times) if time >= horizon]
    kept += [(row, time) for row, time in enumerate(more, len(times))]
    assert len(table) == len(kept)
    assert table.times(0).tolist() == [time for _, time in kept]
    found = list(table.feed(np.array([1]), np.array([5]), np.ones(1, dtype=np.uint64), 100))
    rows = sorted(row for chunk in found for row in chunk[0].tolist())
    assert rows == [row for row, time in kept if abs(time - 5) <= 3]
