"""Keeps one dear query from holding up the others: it gets a reader of its own, and a part of the time.

    rounds ─► time of each query's own stages ─► dearest ─► a group apart: its cursor falls back, and catches up

Queries that share a group move in the same rounds, so the slowest sets the pace. A query that takes more than half of
the time, and a hundred times as much as the others on average, is set apart. It then rests three times as long as its
rounds take, and its rounds grow and shrink so that none takes long. The rest waits in the log.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from nilometer.live.groups import ReaderGroup
from nilometer.types import MILLISECOND, SECOND

LOOK_AFTER = SECOND
"""The queries' times are compared after this much work."""
BUSY = 0.25
"""Nobody is held up while the work takes a smaller part of the time than this."""
HALF = 0.5
DEARER = 100
RESTS = 3
"""A group apart rests this many times as long as its last round took."""
LONG, SHORT = 100 * MILLISECOND, 25 * MILLISECOND
"""A group apart takes fewer rows after a round that was longer than this, and more after a shorter one."""
MOST_ROWS = 262_144


def dearest(times: Mapping[str, int], busy: int, elapsed: int) -> str | None:
    """The query that holds up the others, by the time of each query's own work, the time of all work, and the time
    that has passed.

    >>> times = {"dear": 940, "a": 0, "b": 10}
    >>> dearest(times, busy=950, elapsed=1_000), dearest(times, busy=950, elapsed=100_000)
    ('dear', None)
    """
    if len(times) < 2 or busy < BUSY * elapsed:
        return None
    name = max(times, key=lambda one: times[one])
    others = max(0, busy - times[name]) / (len(times) - 1)
    return name if times[name] > HALF * busy and times[name] > DEARER * others else None


class Apart:
    """The time that the rounds took. `clock` is steady, in microseconds; `times` gives each query's own time so far."""

    def __init__(self, clock: Callable[[], int], times: Callable[[], Mapping[str, int]]) -> None:
        self.clock = clock
        self._times = times
        self._busy = 0
        self._since = clock()
        self._before: Mapping[str, int] = {}

    def ran(self, took: int) -> str | None:
        """The queries that run together took so long for a round. Returns the query to be set apart."""
        self._busy += took
        if self._busy < LOOK_AFTER:
            return None
        now, times = self.clock(), self._times()
        spent = {name: time - self._before.get(name, 0) for name, time in times.items()}
        found = dearest(spent, self._busy, now - self._since)
        self._busy, self._since, self._before = 0, now, times
        return found

    def due(self, group: ReaderGroup) -> bool:
        """Whether it is the turn of a group apart."""
        return self.clock() >= group.rests_until

    def rested(self, group: ReaderGroup, took: int) -> None:
        """A round of a group apart took so long."""
        group.rests_until = self.clock() + RESTS * took
        if took > LONG:
            group.round_rows = max(1, group.round_rows // 2)
        elif took < SHORT:
            group.round_rows = min(MOST_ROWS, 2 * group.round_rows)
