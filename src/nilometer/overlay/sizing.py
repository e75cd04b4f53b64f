"""How many peers, or Spark executors, a join needs: DHTJoin's equations (7) to (12), with caps (paper, section 5).

A stream brings rate x window tuples into its window; n peers with room for m tuples of it keep a share
min(1, n m / (rate x window)). The paper's (12) forgets the min: with rates 30 and 400, a window of 50 s, room for 100 and
a completeness of 0.5 it says 39 peers, which keep 19.5 % of the results. The least number is found with the caps.

>>> size([30, 30, 30], 50.0, 100, 0.95).peers, size([30, 400], 50.0, 100, 0.5).peers
(15, 100)
>>> answer = size([30, 400], 50.0, 100, 0.5)
>>> answer.by_equation_12, round(answer.at_equation_12, 3)
(39, 0.195)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, prod

from nilometer.errors import ConfigurationError
from nilometer.kernels.join_completeness import completeness, kept_shares, peers_needed, probing_completeness


@dataclass(frozen=True)
class Size:
    """What a join needs. `shares` are the kept share of each stream at `peers`."""

    peers: int
    by_equation_12: int
    at_equation_12: float
    completeness: float
    probing: float
    shares: tuple[float, ...]
    tuples: tuple[float, ...]


def size(
    rates: Sequence[float],
    windows: float | Sequence[float],
    memory: float,
    wanted: float,
    peers: int | None = None,
) -> Size:
    """The peers that a join of streams with these rates (tuples a second) and windows (seconds) needs, if each has room
    for `memory` tuples of each stream; or, given `peers`, what they find."""
    lengths = [windows] * len(rates) if isinstance(windows, int | float) else list(windows)
    if len(rates) < 2:
        raise ConfigurationError("a join has two streams or more", hint="give a --rate for each stream")
    if not 0 < wanted <= 1:
        raise ConfigurationError(f"a completeness of {wanted:g}", hint="give a share of the results: 0.95")
    if memory <= 0 or min(rates) <= 0 or min(lengths) <= 0:
        raise ConfigurationError("rates, windows and memory are greater than 0")
    rows = [memory] * len(rates)
    needs = [length * rate / memory for length, rate in zip(lengths, rates, strict=True)]
    paper = max(1, ceil((wanted * prod(needs)) ** (1 / len(needs)) - 1e-9))
    least = peers_needed(wanted, rows, lengths, rates) if peers is None else peers
    return Size(
        least,
        paper,
        completeness(rows, lengths, rates, paper),
        completeness(rows, lengths, rates, least),
        probing_completeness(rows, lengths, rates, least),
        tuple(kept_shares(rows, lengths, rates, least)),
        tuple(length * rate for length, rate in zip(lengths, rates, strict=True)),
    )
