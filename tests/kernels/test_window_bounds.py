"""Implied widths against the shortest of all simple paths."""

from __future__ import annotations

from itertools import permutations

from hypothesis import given
from hypothesis import strategies as st

from nilometer.kernels.window_bounds import UNCONNECTED, WIDEST, implied_widths

lengths = st.integers(0, 9) | st.sampled_from((WIDEST - 1, 2**63 - 1))
edges = st.tuples(st.integers(0, 3), st.integers(0, 3), lengths).filter(lambda edge: edge[0] != edge[1])


def shortest(count: int, bounds: list[tuple[int, int, int]], start: int, end: int) -> int:
    widths: dict[tuple[int, int], int] = {}
    for left, right, width in bounds:
        for pair in ((left, right), (right, left)):
            widths[pair] = min(width, widths.get(pair, width))
    others = [node for node in range(count) if node not in (start, end)]
    paths = [
        list(zip((start, *middle), (*middle, end), strict=True))
        for length in range(count - 1)
        for middle in permutations(others, length)
    ]
    there = [sum(widths[step] for step in path) for path in paths if all(step in widths for step in path)]
    return min(WIDEST, *there) if there else UNCONNECTED


@given(st.lists(edges, max_size=7))
def test_widths_are_shortest_paths(bounds: list[tuple[int, int, int]]) -> None:
    widths = implied_widths(4, bounds)
    for start in range(4):
        for end in range(4):
            expected = 0 if start == end else shortest(4, bounds, start, end)
            assert widths[start, end] == expected


@given(st.lists(edges, max_size=7), st.lists(st.integers(0, 25), min_size=4, max_size=4))
def test_to_test_the_implied_widths_is_to_test_the_bounds(
    bounds: list[tuple[int, int, int]], times: list[int]
) -> None:
    """Filter and refinement in one: so the W-join tests no bound a second time."""
    widths = implied_widths(4, bounds)
    implied = all(abs(times[i] - times[j]) <= widths[i, j] for i in range(4) for j in range(4))
    assert implied == all(abs(times[i] - times[j]) <= width for i, j, width in bounds)
