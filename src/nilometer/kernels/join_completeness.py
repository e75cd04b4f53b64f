"""The share of a join's results that is found in bounded memory: DHTJoin's equations (7), (8), (11) and (12).

With n peers, memory for m_i tuples of stream i at each, windows of W_i and rates of lambda_i, a share

    c_i = min(1, n m_i / (W_i lambda_i))

of each stream's tuples is kept, and all members of a result with the product of these shares. (The paper
leaves out the min, which is right only if memory is short everywhere.) This is the result if a tuple that is
not kept takes no part. A join that first lets every tuple probe needs only the *earlier* members in memory,
and finds more: `probing_completeness`.

A sample of a share c_i fills the memory on average, so that about half of the time it would overflow it. The
excess is dropped, which costs a small memory much: `sampled_completeness`.

>>> completeness([50, 100], [10, 10], [10, 10])
0.5
>>> probing_completeness([50, 100], [10, 10], [10, 10])
0.75
>>> round(sampled_completeness([50, 100], [10, 10], [10, 10]), 3)
0.474
>>> peers_needed(0.25, [10, 10], [10, 10], [10, 10])
5
"""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, pi, prod, sqrt


def kept_shares(
    rows: Sequence[float | None], windows: Sequence[float], rates: Sequence[float], peers: int = 1
) -> list[float]:
    """c_i of each stream; a bound of None means unbounded. `windows` and `rates` are in the same unit of
    time."""
    return [
        1.0 if bound is None or peers * bound >= window * rate else peers * bound / (window * rate)
        for bound, window, rate in zip(rows, windows, rates, strict=True)
    ]


def completeness(
    rows: Sequence[float | None], windows: Sequence[float], rates: Sequence[float], peers: int = 1
) -> float:
    """Equation (11), and for two streams (7), with each factor at most 1."""
    return prod(kept_shares(rows, windows, rates, peers))


def probing_completeness(
    rows: Sequence[float | None], windows: Sequence[float], rates: Sequence[float], peers: int = 1
) -> float:
    """The same for a join in which every tuple probes before any is dropped: the last member need not be
    kept.

    Each stream brings the last member equally often (a result has one member of each, and their times are
    alike).
    """
    shares = kept_shares(rows, windows, rates, peers)
    return sum(prod(shares[:last] + shares[last + 1 :]) for last in range(len(shares))) / len(shares)


def sampled_completeness(
    rows: Sequence[float | None], windows: Sequence[float], rates: Sequence[float]
) -> float:
    """Equation (11) for tuples that are drawn before they join, less the earlier members that an overflow dropped."""
    shares = kept_shares(rows, windows, rates)
    stay = [
        1.0 if bound is None or share == 1.0 else 1 - overflow(bound)
        for bound, share in zip(rows, shares, strict=True)
    ]
    earlier = sum(prod(stay[:last] + stay[last + 1 :]) for last in range(len(stay))) / len(stay)
    return prod(shares) * earlier


def overflow(places: float) -> float:
    """Erlang's loss formula B(n, n): the share of calls that a system of n places loses if n come on average.

    By Ramanujan's 1 / B(n, n) = 1 + Q(n). A tuple that an overflow drops does not come back when there is room again,
    as a lost call does not.

    >>> round(overflow(5), 3), round(overflow(1), 2)
    (0.284, 0.49)
    """
    return 1 / (2 / 3 + sqrt(pi * places / 2) + sqrt(pi / (2 * places)) / 12)


def peers_needed(
    wanted: float, rows: Sequence[float], windows: Sequence[float], rates: Sequence[float]
) -> int:
    """Equation (12), and for two streams (8): the smallest number of peers for which (11) is at least
    `wanted`."""
    needs = [window * rate / bound for bound, window, rate in zip(rows, windows, rates, strict=True)]
    peers: int = max(1, ceil((wanted * prod(needs)) ** (1 / len(needs)) - 1e-9))
    while (
        completeness(rows, windows, rates, peers) < wanted
    ):  # if one factor is capped, the others must be larger
        peers += 1
    return peers
