"""Measures the arrivals of a stream: readings per second, the last arrival, and the sensors that sent."""

from __future__ import annotations

import math
from collections.abc import Sequence

import polars as pl

from nilometer.catalog.extents import Stream
from nilometer.ingest.adapters.adapter import ReadResult
from nilometer.ingest.manager.attendance import Attendance
from nilometer.ingest.manager.clocks import Clocks
from nilometer.operators.frames import dtype
from nilometer.types import SECOND

RATE_SPAN = 10 * SECOND
"""The time constant of the measured rate."""


class Arrivals:
    """The arrivals of one stream. `last` is a time of the wall clock; the rate uses the smooth clock."""

    def __init__(self, stream: Stream, clocks: Clocks, declared: Sequence[int | str]) -> None:
        self.last: int | None = None
        self._clocks = clocks
        self._identity = stream.column("id")
        self._rate, self._rated = 0.0, clocks.smooth()
        known = pl.Series("id", list(declared)).cast(dtype(stream.id_type), strict=False)
        self.attendance = Attendance(stream.interval, clocks.smooth(), known)

    def heard(self, result: ReadResult) -> None:
        """Count the readings of a result."""
        now = self._clocks.smooth()
        self._rate, self._rated = self.rate(now) + result.received * SECOND / RATE_SPAN, now
        self.last = result.arrived if result.arrived is not None else self._clocks.clock()
        if result.rows.height and self._identity is not None:
            self.attendance.heard(result.rows.get_column(self._identity.name), now)

    def rate(self, now: int) -> float:
        """The recent rate, in readings per second."""
        return self._rate * math.exp(-max(0, now - self._rated) / RATE_SPAN)
