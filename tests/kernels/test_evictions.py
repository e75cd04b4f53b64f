"""A memory of few rows against one that is kept as a list."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from nilometer.kernels.evictions import STAYS, evictions


@given(
    st.lists(st.tuples(st.integers(0, 20), st.booleans()), max_size=30),
    st.integers(1, 6),
    st.integers(0, 10),
    st.integers(-5, 25),
    st.randoms(use_true_random=False),
)
def test_like_a_list(
    rows: list[tuple[int, bool]], bound: int, reach: int, reached: int, random: object
) -> None:
    there = [time for time, old in rows if old][:bound]
    coming = sorted(time for time, old in rows if not old)
    times = [*there, *coming]
    ranks = list(range(len(times)))
    random.shuffle(ranks)  # type: ignore[attr-defined]
    positions = [-1] * len(there) + [3 * place for place in range(len(coming))]
    memory = list(range(len(there)))
    expected = [STAYS] * len(times)
    for row in range(len(there), len(times)):
        memory.append(row)
        if len(memory) > bound:
            memory = [other for other in memory if times[other] >= min(reached, times[row]) - reach]
        if len(memory) > bound:
            least = min(memory, key=lambda other: ranks[other])
            expected[least] = positions[row]
            memory.remove(least)
    found = evictions(
        *(np.array(each, dtype=np.int64) for each in (times, ranks, positions)), bound, reach, reached
    )
    assert found.tolist() == expected
