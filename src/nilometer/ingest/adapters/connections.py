"""How many connections of sensors a process may hold, and which of them go when there is no room.

Each connection is a descriptor, and so are the files of logs, states and sinks. The law: connections of all TCP sources
together take at most half of the process's descriptors (`ulimit -n`), so none of them can take a file's place.

A connection ends if it was silent for `idle`, or if it has not said its first line within `LOGIN` seconds where it must.
If there is no room for a new one, the one that has been silent for longest makes room: at once if it never said a line,
else after `PATIENCE` seconds. A sensor connects and speaks, so idle connections shut nobody out.
"""

from __future__ import annotations

import resource
import threading
from collections import OrderedDict
from collections.abc import Callable
from typing import Generic, TypeVar

LOGIN = 10.0
"""Seconds for the token and the TLS handshake."""
PATIENCE = 60.0
"""A connection that has said a line may be silent for so many seconds before another may take its place."""

One = TypeVar("One")


class Slots:
    """The descriptors that the connections of a process take. `most` is asked each time: the limit may change."""

    def __init__(self, most: Callable[[], int]) -> None:
        self._most = most
        self._turn = threading.Lock()
        self.taken = 0

    @property
    def most(self) -> int:
        """The most connections."""
        return self._most()

    def take(self) -> bool:
        """Take a slot. Returns False if there is none."""
        with self._turn:
            if self.taken >= self.most:
                return False
            self.taken += 1
            return True

    def give(self) -> None:
        """Give a slot back."""
        with self._turn:
            self.taken -= 1


def half_of_descriptors() -> int:
    """Half of the process's limit of open files."""
    limit, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return 1 << 30 if limit == resource.RLIM_INFINITY else max(limit // 2, 1)


SLOTS = Slots(half_of_descriptors)


class Connections(Generic[One]):
    """The connections of one source, the one that has been silent for longest first.

    `most` bounds those of this source, `slots` those of all. Times are seconds of a clock that does not jump. `idled`
    and `displaced` count the connections that were closed, `refused` those for which there was no room.
    """

    def __init__(self, most: int, idle: float, slots: Slots = SLOTS) -> None:
        self._most = most
        self._idle = idle
        self._slots = slots
        self._quiet: OrderedDict[int, tuple[One, float]] = OrderedDict()
        self._new: OrderedDict[int, tuple[One, float]] = OrderedDict()
        self.idled = self.displaced = self.refused = 0

    def __len__(self) -> int:
        return len(self._quiet) + len(self._new)

    @property
    def crowded(self) -> bool:
        """Whether connections were closed or refused for want of room, and there still is none."""
        return bool(self.displaced or self.refused) and len(self) >= self.bound

    @property
    def bound(self) -> int:
        """The most connections that this source can have."""
        return min(self._most, self._slots.most)

    def admit(self, now: float, close: Callable[[One], None]) -> bool:
        """Whether a new connection has room; `close` ends the one that makes it."""
        for _ in range(2):
            if len(self) < self._most and self._slots.take():
                return True
            oldest = next(iter(self._new.values()), None)
            if oldest is None:
                oldest = next(iter(self._quiet.values()), None)
                if oldest is None or now - oldest[1] < PATIENCE:
                    break
            self.displaced += 1
            close(oldest[0])
        self.refused += 1
        return False

    def add(self, key: int, one: One, now: float) -> None:
        """Keep a connection that was admitted. It has said nothing yet."""
        self._new[key] = one, now

    def spoke(self, key: int, one: One, now: float) -> None:
        """A connection has said a line."""
        self._new.pop(key, None)
        self._quiet[key] = one, now
        self._quiet.move_to_end(key)

    def drop(self, key: int) -> None:
        """Forget a connection that was closed."""
        if self._new.pop(key, None) or self._quiet.pop(key, None):
            self._slots.give()

    def sweep(self, now: float, login: float | None, close: Callable[[One], None]) -> None:
        """Close those that were silent for too long. `login` is how long the first line may take, if it must come."""
        for waiting, longest in (
            (self._quiet, self._idle),
            (self._new, self._idle if login is None else login),
        ):
            while (oldest := next(iter(waiting.values()), None)) and now - oldest[1] > longest:
                self.idled += 1
                close(oldest[0])
