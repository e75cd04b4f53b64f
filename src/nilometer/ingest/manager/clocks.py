"""Combines the wall clock, which may jump, with a monotonic clock into a time that never jumps.

Paced sources follow `smooth`: a reading of the wall clock plus the time that has passed since. Arrivals carry
the time of the wall clock. If that clock was set back, `lead` is added to them, so that a reading that was
not in the future before the jump is not in the future after it. A clock that was set forward is trusted. The
law: `smooth` never jumps, and follows the wall clock as long as the wall clock does not jump.
"""

from __future__ import annotations

import time

from nilometer.ingest.adapters.adapter import Clock
from nilometer.types import SECOND

TOLERANCE = SECOND
"""A greater difference between two looks is a jump."""


def wall() -> int:
    """Microseconds since the epoch."""
    return time.time_ns() // 1_000


def running() -> int:
    """Microseconds since some moment, by the monotonic clock."""
    return time.monotonic_ns() // 1_000


class Clocks:
    """`steady` defaults to `clock`, which then must not jump: for a clock that a test sets by hand."""

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
        """How far the wall clock had been set back at the last look."""
        behind = self._offset - self._last
        return behind if behind > TOLERANCE else 0
