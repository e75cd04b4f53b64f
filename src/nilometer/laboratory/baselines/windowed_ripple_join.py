"""Ripple join over windows: N-tuples of like values within a window, by nested loops with periodic purges.

It is STEAM's rival of the NLW-join (section 6.2.4): "a version of ripple-join that is periodically updating
its join buffers every 10,000 tuples to remove non-window related tuples". Between two purges every tuple is
compared with stale ones too; that is the whole difference that the paper's Figure 7(a) measures.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nilometer.kernels.arrays import Integers
from nilometer.laboratory.baselines.arrivals import NO_WINDOW, Arrivals
from nilometer.laboratory.baselines.counters import Counters, counters, new_tally
from nilometer.laboratory.baselines.nested_loops import NestedLoops
from nilometer.operators.validation import require


@dataclass(frozen=True)
class WindowedRippleJoinSpec:
    """All members of a result are within `window` of each other, their values within `reach`."""

    streams: int
    window: int
    reach: float = 0.0
    purge_every: int = 10_000

    def __post_init__(self) -> None:
        require(self.streams > 1, f"a join of {self.streams} streams")
        require(0 <= self.window < NO_WINDOW, f"window {self.window}")
        require(self.reach >= 0, f"reach {self.reach}")
        require(self.purge_every > 0, f"a purge every {self.purge_every} tuples")


class WindowedRippleJoin:
    """Joins streams 0 to N - 1. Each is in time order; they need not be in step."""

    def __init__(self, spec: WindowedRippleJoinSpec) -> None:
        self.spec = spec
        self._loops: NestedLoops | None = None
        self._tally = new_tally()
        self._arrivals = 0
        self._outputs = 0

    def feed(self, arrivals: Arrivals) -> Integers:
        """The new N-tuples, a column of rows for each stream."""
        if self._loops is None:
            kind = np.int64 if arrivals.values.dtype == np.int64 else np.float64
            self._loops = NestedLoops(self.spec.streams, kind, self.spec.reach)
        found = [np.empty((0, self.spec.streams), dtype=np.int64)]
        done = 0
        while done < len(arrivals):
            until_purge = self.spec.purge_every - self._arrivals % self.spec.purge_every
            part = arrivals[done : done + until_purge]
            found.append(self._loops.feed(part, self.spec.window, self._tally))
            self._arrivals += len(part)
            done += len(part)
            if self._arrivals % self.spec.purge_every == 0:
                self._loops.purge(self.spec.window)
        results = np.concatenate(found)
        self._outputs += len(results)
        return results

    @property
    def counters(self) -> Counters:
        """The counters so far."""
        held = 0 if self._loops is None else len(self._loops)
        return counters(self._tally, self._arrivals, self._outputs, self.spec.streams, held)
