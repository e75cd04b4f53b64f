"""Counts the work of a stage, or of a transform fused behind it: rounds, rows in, rows out, time.

>>> meter = Meter()
>>> _ = meter.note(1_000, 10, perf_counter_ns())
>>> meter.rounds, meter.rows_in, meter.rows_out
(1, 1000, 10)
"""

from __future__ import annotations

from dataclasses import dataclass
from time import perf_counter_ns


@dataclass
class Meter:
    """The work so far, since the stage was made in this process. `nanoseconds` is wall time."""

    rounds: int = 0
    rows_in: int = 0
    rows_out: int = 0
    nanoseconds: int = 0

    def note(self, rows_in: int, rows_out: int, began: int) -> int:
        """Add a round that began then. Returns the time now, at which the next piece of work begins."""
        now = perf_counter_ns()
        self.rounds += 1
        self.rows_in += rows_in
        self.rows_out += rows_out
        self.nanoseconds += now - began
        return now
