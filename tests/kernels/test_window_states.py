"""What a key's readings in a window come to: as counted slice by slice."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from nilometer.kernels.window_states import window_states

slices = st.lists(
    st.tuples(st.integers(0, 3), st.integers(0, 10), st.integers(1, 5), st.integers(-4, 4)), max_size=20
)
touches = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 16)), max_size=20)


@given(slices, touches, st.integers(1, 4))
def test_it_is_what_each_touch_sees(
    found: list[tuple[int, ...]], asked: list[tuple[int, int]], strength: int
) -> None:
    held = sorted((key, first, count, value) for key, first, count, value in found)
    keys, firsts, counts, values = (np.array([row[n] for row in held], dtype=np.int64) for n in range(4))
    reals = values.astype(np.float64)
    order = sorted(set(asked))
    at = [np.array([row[n] for row in order], dtype=np.int64) for n in range(2)]
    n, total, low, high = window_states(
        keys, firsts, firsts + 5, counts, reals, reals - 1, reals + 1, at[0], at[1], strength
    )
    for number, (key, tick) in enumerate(order):
        seen = [row for row in held if row[0] == key and row[1] <= tick < row[1] + 5]
        assert n[number] == sum(row[2] for row in seen)
        if n[number] >= strength:
            numbers = [row[3] for row in seen]
            assert (total[number], low[number], high[number]) == (
                sum(numbers),
                min(numbers) - 1,
                max(numbers) + 1,
            )
