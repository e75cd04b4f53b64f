"""Actions with virtual due times -> the actions run, in the order of (time, order of the calls that scheduled
them).

That order is total, so a run depends on nothing but its seed.

>>> events, seen = Events(), []
>>> events.at(5, lambda: seen.append("later"))
>>> events.at(2, lambda: events.after(3, lambda: seen.append("last")))
>>> events.run()
3
>>> events.now, seen
(5, ['later', 'last'])
"""

from __future__ import annotations

import heapq
from collections.abc import Callable

from nilometer.errors import InternalError

Action = Callable[[], None]


class Events:
    """The virtual clock, in microseconds, and the pending actions."""

    def __init__(self, start: int = 0) -> None:
        self.now = start
        self._asked = 0
        self._waiting: list[tuple[int, int, Action]] = []

    def at(self, time: int, action: Action) -> None:
        """Schedule an action for that time, after all actions that were scheduled earlier for the same
        time."""
        if time < self.now:
            raise InternalError(f"an event for {time}, which is past", detail=f"it is {self.now}")
        heapq.heappush(self._waiting, (time, self._asked, action))
        self._asked += 1

    def after(self, delay: int, action: Action) -> None:
        """Schedule an action for `delay` microseconds from now."""
        self.at(self.now + delay, action)

    def run(self, until: int | None = None) -> int:
        """Run all actions that are due up to and including `until` (None: until none are left), and return
        their number."""
        done = 0
        while self._waiting and (until is None or self._waiting[0][0] <= until):
            self.now, _, action = heapq.heappop(self._waiting)
            action()
            done += 1
        if until is not None:
            self.now = max(self.now, until)
        return done
