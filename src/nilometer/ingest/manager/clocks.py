"""A wall clock that may jump, and one that only runs -> what is safe to go by.

Sources that are paced go by `smooth`: where the wall clock stood, and how long it has been since. Arrivals are stamped by the wall clock, and
when that was put back they keep their `lead` over it: a reading that was no future one before is none after. A clock that was put
forth is believed. The law: `smooth` never jumps, and follows the wall clock as long as that does not either.
"""

from __future__ import annotations

import time

from nilometer.ingest.adapters.adapter import Clock
from nilometer.types import SECOND

TOLERANCE = SECOND
"""Two looks that differ by more are a jump."""


def wall() -> int:
    """Microseconds since the epoch."""
    return time.time_ns() // 1_000


def running() -> int:
    """Microseconds since some moment; never put forth or back."""
    return time.monotonic_ns() // 1_000


class Clocks:
    """`steady` defaults to the clock itself, which is then taken not to jump: a clock turned by hand."""

    def __init__(self, clock: Clock, steady: Clock | None = None) -> None:
        self.clock = clock
        self.steady = steady if steady is not None else clock
        self.jumps = 0
        self._offset = self._last = self.clock() - self.steady()

    def smooth(self) -> int:
        """The present moment, as if the wall clock had never jumped."""
        return self.steady() + self._offset

    def look(self) -> bool:
        """Whether the wall clock has jumped since the last look."""
        offset = self.clock() - self.steady()
        jumped = abs(offset - self._last) > TOLERANCE
        self.jumps += jumped
        self._last = offset
        if abs(offset - self._offset) <= TOLERANCE:
            self._offset = offset
        return jumped

    @property
    def lead(self) -> int:
        """How far the wall clock was put back, at the last look."""
        behind = self._offset - self._last
        return behind if behind > TOLERANCE else 0
