"""Evaluations of a frame over slots: at which ticks, and which slots the window holds at each.

>>> windows = SlotWindows(Frame(30, 0, 10, True), 10)
>>> list(windows.due(Progress(watermark=35, first_tick=12)))
[(20, -1, 2), (30, 0, 3)]
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import polars as pl

from nilometer.algebra.table_function import Frame
from nilometer.algebra.table_functions.sequences import most_slots, slots_of_window
from nilometer.kernels.slots import NEVER
from nilometer.operators.frames import Dtypes, concatenate, conform, evaluations
from nilometer.operators.logic import EVALUATION, TICK, Output, Progress
from nilometer.operators.window_scope import BEGINNING, Scope


class SlotWindows:
    """How far evaluations have come. `length` is how many slots a window holds at most; 0 if it has no start."""

    def __init__(self, frame: Frame, every: int) -> None:
        self._frame, self._every = frame, every
        self._scope = Scope(frame.start, frame.end, frame.slide, frame.open_start)
        self.length = 0 if frame.start is None else most_slots(frame, every)
        self.since = BEGINNING

    def due(self, progress: Progress) -> Iterator[tuple[int, int, int]]:
        """The ticks that are due, each with the first slot of its window and the one behind the last."""
        none = np.empty(0, dtype=np.int64)
        ticks = self._scope.evaluations(progress.first_tick, self.since, progress.watermark, none)
        self.since = max(self.since, progress.watermark)
        for tick in ticks.tolist():
            end, first = slots_of_window(self._frame, self._every, tick)
            yield tick, NEVER if first is None else first, end


def output_of(parts: list[tuple[int, pl.DataFrame]], columns: Dtypes) -> Output:
    """The rows of several evaluations, by tick, as one output. The rows lack `@evaluation` and `@tick`."""
    ticks = pl.Series([tick for tick, _ in parts], dtype=pl.Int64)
    shown = [
        conform(
            rows.with_columns(pl.lit(tick, pl.Int64).alias(EVALUATION), pl.lit(tick, pl.Int64).alias(TICK)),
            columns,
        )
        for tick, rows in parts
        if rows.height
    ]
    return Output(concatenate(shown, columns), evaluations(ticks))
