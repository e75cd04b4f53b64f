"""The slots of all sources in the last window, and the left profile of their subsequences (kernels/left_profile.py).

Arrays have a row a source and twice as many places as a window has slots; what the window no longer needs is shifted out
when they are full. Place 0 is slot `base`.

    bytes <= sources x 80 slots
"""

from __future__ import annotations

import json
from collections.abc import Iterator

import numpy as np
import polars as pl

from nilometer.algebra.table_function import Frame, FunctionCall
from nilometer.algebra.table_functions.discords import zone
from nilometer.errors import ResourceError
from nilometer.kernels.left_profile import NONE, extend
from nilometer.kernels.slots import NEVER
from nilometer.memory import budget
from nilometer.mining.sequences import Sequences
from nilometer.operators import frames
from nilometer.operators.same_panes import SamePanes
from nilometer.types import Schema

_EMPTY = {"values": np.nan, "means": np.nan, "scales": np.nan, "distances": np.nan}


class Profiles:
    """The profiles of all sources. `end` is the slot that comes next."""

    def __init__(self, call: FunctionCall, input: Schema) -> None:
        length, window = call["LENGTH"], call.window
        assert isinstance(length, int)
        self.call, self.length, self.zone = call, length, zone(length)
        self.sequences = Sequences(call, input, None)
        whole = (
            window.start - window.end if isinstance(window, Frame) and window.start is not None else window
        )
        assert isinstance(whole, int)
        self.slots = whole // self.sequences.every
        self._raw = call["RAW"] is True
        self.sums = np.empty(self.slots, dtype=np.float64)
        self.base = self.end = NEVER
        self._same = SamePanes()
        self._arrange(0)

    def _arrange(self, sources: int) -> None:
        places = 2 * self.slots
        self.values, self.means, self.scales, self.distances = (
            np.full((sources, places), np.nan) for _ in range(4)
        )
        self.nearest = np.full((sources, places), NONE, dtype=np.int64)
        self._runs = np.zeros(sources, dtype=np.int64)

    @property
    def _arrays(self) -> tuple[np.ndarray, ...]:
        return self.values, self.means, self.scales, self.distances, self.nearest

    def take(self, end: int) -> Iterator[tuple[int, int]]:
        """Takes the slots before `end`, in parts. After each part it gives the places of its slots."""
        for block in self.sequences.take(end, self.slots):
            self._grow(len(self.sequences.sources))
            if block.first > self.end:  # before the first reading, or so many gaps that nothing is left
                self._arrange(len(self.sequences.sources))
                self.base = self.end = block.first
            for start in range(0, len(block.cells), self.slots):
                cells = block.cells[start : start + self.slots]
                self._shift(len(cells))
                place = self.end - self.base
                extend(
                    cells, self.base, place, self.slots, self.length, self.zone, self._raw, self.values, self._runs,
                    self.means, self.scales, self.distances, self.nearest, self.sums,
                )  # fmt: skip
                self.end += len(cells)
                yield place, self.end - self.base

    def _grow(self, sources: int) -> None:
        more = sources - len(self._runs)
        if not more:
            return
        needed = 80 * sources * self.slots
        if needed > budget().operators:
            raise ResourceError(
                f"{self.call.name} would keep {needed:,} bytes",
                detail=f"{sources:,} sources of {self.slots:,} slots; the limit is {budget().operators:,}",
                hint="use a shorter window or a longer EVERY",
            )
        places = 2 * self.slots
        self.values, self.means, self.scales, self.distances = (
            np.vstack([array, np.full((more, places), np.nan)]) for array in self._arrays[:4]
        )
        self.nearest = np.vstack([self.nearest, np.full((more, places), NONE, dtype=np.int64)])
        self._runs = np.append(self._runs, np.zeros(more, dtype=np.int64))

    def _shift(self, coming: int) -> None:
        """Makes room for so many slots."""
        used, places = self.end - self.base, 2 * self.slots
        if used + coming <= places:
            return
        by = used - self.slots
        for array in self._arrays:
            array[:, : self.slots] = array[:, by:used]
            array[:, self.slots :] = NONE if array is self.nearest else np.nan
        self.base += by

    def forget(self) -> None:
        """Drops the sources without a reading in the last window."""
        alive = self.sequences.last_slots >= self.end - self.slots
        if self.sequences.sources.worth_forgetting(alive):
            self.sequences.keep(alive)
            self.values, self.means, self.scales, self.distances, self.nearest, self._runs = (
                array[alive] for array in (*self._arrays, self._runs)
            )

    def snapshot(self) -> dict[str, bytes]:
        """Returns the state as panes."""
        used = self.end - self.base
        cells = {
            name: np.ascontiguousarray(getattr(self, name)[:, :used]).ravel() for name in (*_EMPTY, "nearest")
        }
        meta = {"base": self.base, "end": self.end, "runs": self._runs.tolist()}
        return self._same(
            self.sequences.snapshot()
            | {"profiles": json.dumps(meta).encode(), "cells": frames.to_bytes(pl.DataFrame(cells))}
        )

    def restore(self, panes: dict[str, bytes]) -> None:
        """Take back what `snapshot` gave."""
        self.sequences.restore(panes)
        meta = json.loads(panes["profiles"])
        self._arrange(len(meta["runs"]))
        self.base, self.end = meta["base"], meta["end"]
        self._runs = np.array(meta["runs"], dtype=np.int64)
        cells = frames.from_bytes(panes["cells"])
        for name in (*_EMPTY, "nearest"):
            own = cells[name].to_numpy().reshape(len(self._runs), self.end - self.base)
            getattr(self, name)[:, : self.end - self.base] = own
