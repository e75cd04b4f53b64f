"""DHTJoin's equations (7), (8), (11), (12), against the long way that the paper takes to them: (1) to (6), (9) and (10)."""

from __future__ import annotations

from itertools import combinations
from math import prod

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nilometer.kernels.join_completeness import (
    completeness,
    kept_shares,
    peers_needed,
    probing_completeness,
)


@st.composite
def joins(draw: st.DrawFn) -> tuple[list[int], list[int], list[int], int]:
    """Memory, windows, rates and peers; memory is short everywhere, or not."""
    count = draw(st.integers(2, 4))
    sizes = st.lists(st.integers(1, 50), min_size=count, max_size=count)
    return draw(sizes), draw(sizes), draw(sizes), draw(st.integers(1, 6))


@given(joins())
def test_equation_11_is_what_equations_9_and_10_give(
    join: tuple[list[int], list[int], list[int], int],
) -> None:
    rows, windows, rates, peers = join
    needed = [window * rate / peers for window, rate in zip(windows, rates, strict=True)]
    stored = [min(float(m), need) for m, need in zip(rows, needed, strict=True)]  # alpha
    lost = [need - kept for need, kept in zip(needed, stored, strict=True)]  # beta, equation (2)
    ports = range(len(rows))
    total = prod(needed)
    losses = sum(lost[i] * prod(needed[j] for j in ports if j != i) for i in ports)  # (3), (4)
    twice = sum(  # (9): counted once for each of the k members that are lost
        (k - 1) * prod(lost[i] for i in chosen) * prod(stored[j] for j in ports if j not in chosen)
        for k in range(2, len(rows) + 1)
        for chosen in combinations(ports, k)
    )
    assert completeness(rows, windows, rates, peers) == pytest.approx((total - (losses - twice)) / total)


@given(joins(), st.floats(0.01, 1))
def test_equation_12_gives_the_least_number_of_peers(
    join: tuple[list[int], list[int], list[int], int], wanted: float
) -> None:
    rows, windows, rates, _ = join
    peers = peers_needed(wanted, rows, windows, rates)
    assert completeness(rows, windows, rates, peers) >= wanted - 1e-9
    if peers > 1:
        uncapped = prod((peers - 1) * m / (w * r) for m, w, r in zip(rows, windows, rates, strict=True))
        assert min(uncapped, completeness(rows, windows, rates, peers - 1)) < wanted + 1e-9


@given(joins())
def test_probing_first_never_finds_less(join: tuple[list[int], list[int], list[int], int]) -> None:
    rows, windows, rates, peers = join
    found = probing_completeness(rows, windows, rates, peers)
    assert completeness(rows, windows, rates, peers) - 1e-12 <= found <= 1
    assert all(0 < share <= 1 for share in kept_shares(rows, windows, rates, peers))


def test_a_stream_without_a_bound_is_kept_whole() -> None:
    assert kept_shares([None, 5], [10, 10], [1, 1]) == [1.0, 0.5]
    assert completeness([None, 5], [10, 10], [1, 1]) == 0.5
    assert probing_completeness([None, 5], [10, 10], [1, 1]) == 0.75
    assert completeness([5, 5], [0, 0], [1, 1]) == 1.0  # a window of no length holds what comes with it
