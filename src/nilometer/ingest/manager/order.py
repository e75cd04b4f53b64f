"""Verifies that a stream's readings arrive in time order within DELAY, and counts those that do not
(steam.txt section 5)."""

from __future__ import annotations

import numpy as np

from nilometer.catalog.extents import Stream
from nilometer.dataflow.sources import Batch
from nilometer.types import floor_to


class Order:
    """`late` counts the readings that arrived after a reading whose time is more than DELAY later."""

    def __init__(self, stream: Stream) -> None:
        self.late = 0
        self._stream = stream
        self._greatest: int | None = None

    @property
    def reached(self) -> int | None:
        """The watermark that follows from the readings alone; None before the first reading."""
        if self._greatest is None:
            return None
        every = self._stream.every
        tick = self._greatest if every is None else floor_to(self._greatest, every)
        return tick - self._stream.delay

    def check(self, batch: Batch) -> None:
        """Count the late readings of a batch."""
        time = self._stream.column("time")
        assert time is not None, "a stream without a time"
        times = batch.rows.get_column(time.name).to_numpy()
        greatest = self._greatest if self._greatest is not None else int(times[0])
        reached = np.maximum.accumulate(np.concatenate(([greatest], times)))
        self.late += int((times < reached[:-1] - self._stream.delay).sum())
        self._greatest = int(reached[-1])
