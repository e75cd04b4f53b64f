"""Symmetric hash join: pairs of two streams with equal values and |time - time'| <= window (Wilschut and
Apers, 1991).

A tuple first drops from the other table the tuples that its own stream has passed by more than the window,
then probes the rest, and is inserted into its own. So each pair is made once, by the later to arrive, and
memory holds only tuples that may still find a partner.
"""

from __future__ import annotations

from dataclasses import dataclass

from nilometer.kernels.arrays import Integers
from nilometer.laboratory.baselines.arrivals import NO_WINDOW, Arrivals
from nilometer.laboratory.baselines.counters import Counters, counters, new_tally
from nilometer.laboratory.baselines.two_tables import TwoTables
from nilometer.operators.validation import require


@dataclass(frozen=True)
class SymmetricHashJoinSpec:
    """A window in microseconds (None: no window)."""

    window: int | None

    def __post_init__(self) -> None:
        require(self.window is None or 0 <= self.window < NO_WINDOW, f"window {self.window}")


class SymmetricHashJoin:
    """Joins streams 0 and 1. Each is in time order; they need not be in step."""

    def __init__(self, spec: SymmetricHashJoinSpec) -> None:
        self.spec = spec
        self._window = NO_WINDOW if spec.window is None else spec.window
        self._tables = TwoTables()
        self._tally = new_tally()
        self._arrivals = 0
        self._outputs = 0

    def feed(self, arrivals: Arrivals) -> Integers:
        """The new pairs, as rows (row of stream 0, row of stream 1)."""
        pairs = self._tables.feed(arrivals, self._window, self._tally, prompt=True)
        self._arrivals += len(arrivals)
        self._outputs += len(pairs)
        return pairs

    @property
    def counters(self) -> Counters:
        """The counters so far."""
        return counters(self._tally, self._arrivals, self._outputs, 2, len(self._tables))
