"""XJoin of N streams: a left-deep tree of windowed XJoins in memory, for N-tuples of equal values within a
window.

It is STEAM's rival of the HW-join for 2, 3 and 4 streams (section 6.2.4, Figure 7(b)): "a version of Xjoin,
where the hash tables are updated periodically". A level's left table holds m-tuples of the streams before it,
its right table a stream. The paper mentions no limit to memory, and results from disk would reach the next
level out of order; so each level stays in XJoin's first stage. Every `purge_every` tuples, tuples with a
member outside the window are dropped. Between two purges every probe of their bucket meets them.

A batch goes through the tree level by level: the results of an arrival at one level arrive at the next in
that arrival's place.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nilometer.kernels.arrays import Integers
from nilometer.laboratory.baselines.arrivals import NO_WINDOW, Arrivals, require_merged
from nilometer.laboratory.baselines.counters import MOST_IN_MEMORY, PARTIALS, Counters, counters, new_tally
from nilometer.laboratory.baselines.two_tables import LEAST_TIME, TwoTables
from nilometer.operators.validation import require


@dataclass(frozen=True)
class XJoinTreeSpec:
    """All members of a result are within `window` of each other."""

    streams: int
    window: int
    purge_every: int = 10_000

    def __post_init__(self) -> None:
        require(self.streams > 1, f"a join of {self.streams} streams")
        require(0 <= self.window < NO_WINDOW, f"window {self.window}")
        require(self.purge_every > 0, f"a purge every {self.purge_every} tuples")


@dataclass(frozen=True)
class _Results:
    """The results of one level, in the order of the arrivals (by number) that made them. `rows` has a column
    for each stream."""

    arrivals: Integers
    times: Integers
    oldest: Integers
    keys: Integers
    rows: Integers


class XJoinTree:
    """Joins streams 0 to N - 1, merged by time. Tuples of equal time are taken in the order of arrival."""

    def __init__(self, spec: XJoinTreeSpec) -> None:
        self.spec = spec
        self._levels = [TwoTables() for _ in range(spec.streams - 1)]
        # For each level, the members of its left table's rows.
        self._members = [np.empty((0, level + 1), dtype=np.int64) for level in range(spec.streams - 1)]
        self._latest = LEAST_TIME
        self._tally = new_tally()
        self._arrivals = 0
        self._outputs = 0

    def feed(self, arrivals: Arrivals) -> Integers:
        """The new N-tuples, a column of rows for each stream."""
        self._latest = require_merged(arrivals, self.spec.streams, self._latest)
        found = [np.empty((0, self.spec.streams), dtype=np.int64)]
        done = 0
        while done < len(arrivals):
            until_purge = self.spec.purge_every - self._arrivals % self.spec.purge_every
            part = arrivals[done : done + until_purge]
            found.append(self._climb(part))
            self._arrivals += len(part)
            done += len(part)
            if self._arrivals % self.spec.purge_every == 0:
                self._purge(int(part.times[-1]) - self.spec.window)
        results = np.concatenate(found)
        self._outputs += len(results)
        return results

    @property
    def counters(self) -> Counters:
        """The counters so far. `in_memory` includes m-tuples."""
        held = sum(len(tables) for tables in self._levels)
        return counters(self._tally, self._arrivals, self._outputs, self.spec.streams, held)

    def _climb(self, arrivals: Arrivals) -> Integers:
        left = _of_stream(arrivals, 0)
        for level, tables in enumerate(self._levels):
            left = self._join(level, tables, left, _of_stream(arrivals, level + 1))
            if level + 2 < self.spec.streams:
                self._tally[PARTIALS] += len(left.rows)
        held = sum(len(tables) for tables in self._levels)
        self._tally[MOST_IN_MEMORY] = max(self._tally[MOST_IN_MEMORY], held)
        return left.rows

    def _join(self, level: int, tables: TwoTables, left: _Results, right: _Results) -> _Results:
        """Join both sides in the order of arrival. A right tuple and a left one never come from the same
        arrival."""
        known = len(self._members[level])
        self._members[level] = members = np.concatenate((self._members[level], left.rows))
        order = np.argsort(np.concatenate((left.arrivals, right.arrivals)), kind="stable")
        arrived, times, oldest, keys = (
            np.concatenate(pair)[order]
            for pair in (
                (left.arrivals, right.arrivals),
                (left.times, right.times),
                (left.oldest, right.oldest),
                (left.keys, right.keys),
            )
        )
        sides = np.repeat(np.array([0, 1], dtype=np.int64), (len(left.rows), len(right.rows)))[order]
        rows = np.concatenate((known + np.arange(len(left.rows)), right.rows[:, 0]))[order]
        pairs = tables.feed_results(Arrivals(times, sides, keys, rows), oldest, self.spec.window, self._tally)
        maker = pairs[:, 2]
        return _Results(
            arrived[maker],
            times[maker],
            pairs[:, 3],
            keys[maker],
            np.column_stack((members[pairs[:, 0]], pairs[:, 1])),
        )

    def _purge(self, before: int) -> None:
        for level, tables in enumerate(self._levels):
            for source in (0, 1):
                tables.drop(source, before)
            self._members[level] = self._members[level][tables.renumber(0)]


def _of_stream(arrivals: Arrivals, stream: int) -> _Results:
    mine = np.flatnonzero(arrivals.sources == stream)
    times = arrivals.times[mine]
    return _Results(mine, times, times, arrivals.keys[mine], arrivals.rows[mine][:, None])
