"""Actions and the virtual times they are due at -> the actions done, in the order of (time, order in which
they were asked for).

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
    """The virtual clock, in microseconds, and what is still to be done."""

    def __init__(self, start: int = 0) -> None:
        self.now = start
        self._asked = 0
        self._waiting: list[tuple[int, int, Action]] = []

    def at(self, time: int, action: Action) -> None:
        """Do it at that time, after all that was asked for earlier for the same time."""
        if time < self.now:
            raise InternalError(f"an event for {time}, which is past", detail=f"it is {self.now}")
        heapq.heappush(self._waiting, (time, self._asked, action))
        self._asked += 1

    def after(self, delay: int, action: Action) -> None:
        """Do it so much later."""
        self.at(self.now + delay, action)

    def run(self, until: int | None = None) -> int:
        """Do what is due, up to and including `until` (None: until nothing waits); returns how much was
        done."""
        done = 0
        while self._waiting and (until is None or self._waiting[0][0] <= until):
            self.now, _, action = heapq.heappop(self._waiting)
            action()
            done += 1
        if until is not None:
            self.now = max(self.now, until)
        return done
