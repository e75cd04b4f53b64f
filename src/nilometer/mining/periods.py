"""PERIODS: a stream -> windows of (id, period, length, symbol, position, count, of, confidence).

The state of a source is its slots in the window and a counter for each symbol, period and position (SEGMENTS: for each
period). Both change by O(P) with a slot that arrives or leaves, so a window costs nothing to slide.

    bytes <= sources x 4 (slots + symbols x P (P + 1) / 2)       SEGMENTS: sources x 4 (slots + P + 1)
"""

from __future__ import annotations

import json
from dataclasses import dataclass

import numpy as np
import polars as pl

from nilometer.algebra.table_function import Frame, FunctionCall
from nilometer.errors import ResourceError
from nilometer.kernels.arrays import Integers
from nilometer.kernels.periods import NONE, arrive, leave, of_segments, of_symbols
from nilometer.memory import budget
from nilometer.mining.sequences import Sequences
from nilometer.mining.slot_windows import SlotWindows, output_of
from nilometer.mining.symbols import Symbols
from nilometer.operators import frames
from nilometer.operators.limits import check_built, operator
from nilometer.operators.logic import Output, Progress
from nilometer.operators.validation import require
from nilometer.types import SECOND, Schema


@dataclass(frozen=True)
class Periods:
    """The periods of a column's symbols."""

    call: FunctionCall
    input: Schema

    def __post_init__(self) -> None:
        frame = self.call.window
        require(isinstance(frame, Frame) and frame.start is not None, "PERIODS without a window")

    @property
    def schema(self) -> Schema:
        """The columns of its rows."""
        return self.call.schema(self.input)

    def build(self) -> PeriodsLogic:
        return PeriodsLogic(self)


class PeriodsLogic:
    """The slots of each source in the window, and the counts."""

    def __init__(self, spec: Periods) -> None:
        call, frame = spec.call, spec.call.window
        longest, least = call["UP TO"], call["CONFIDENCE"]
        assert isinstance(frame, Frame)
        assert isinstance(longest, int)
        assert isinstance(least, float)
        self._call, self._least = call, least
        self._symbols = Symbols(call, spec.input)
        self._sequences = Sequences(call, spec.input, self._symbols)
        self._windows = SlotWindows(frame, self._sequences.every)
        self._length = self._windows.length
        self._longest = max(min(longest, self._length // 2), 1)
        self._segments = call["SEGMENTS"] is True
        self._output = frames.window_dtypes(spec.schema)
        self._names = spec.schema.names
        self._clear()
        self._shown = self._nothing = frames.empty(self._output).select(self._names)

    def _clear(self) -> None:
        """All slots have left."""
        sources = len(self._sequences.sources)
        self._ring = np.full((sources, self._length), -1, dtype=np.int32)
        self._counts = np.zeros((sources, *self._shape), dtype=np.int32)
        self._begins = np.full(sources, NONE, dtype=np.int64)
        self._first = self._end = 0

    @property
    def _shape(self) -> tuple[int, int]:
        most = self._longest
        return (1, most + 1) if self._segments else (max(len(self._symbols), 1), most * (most + 1) // 2)

    def update(self, port: int, rows: pl.DataFrame) -> None:  # noqa: ARG002 - one port
        self._sequences.add(rows)

    @operator("PERIODS")
    def advance(self, progress: Progress) -> Output:
        parts = []
        for tick, first, end in self._windows.due(progress):
            if self._sequences.nothing_from(first):
                parts.append((tick, self._nothing))
                continue
            if self._move(first, end):
                self._shown = self._rows(end)
            parts.append((tick, self._shown))
        self._forget()
        return output_of(parts, self._output)

    def _move(self, first: int, end: int) -> bool:
        """Moves the window to these slots. Returns whether anything changed."""
        if (first, end) == (self._first, self._end):
            return False
        if first >= self._end:
            if (self._begins != NONE).any():
                self._clear()
            self._first = self._end = first
        else:
            ring, counts, begins = self._ring, self._counts, self._begins
            leave(ring, counts, begins, self._first, first, self._end, self._longest, self._segments)
            self._first = first
        for block in self._sequences.take(end, self._length):
            self._grow()
            cells = block.cells[max(first - block.first, 0) :]
            arrive(
                cells, max(block.first, first), first, self._ring, self._counts, self._begins,
                self._longest, self._segments,
            )  # fmt: skip
        self._end = end
        return True

    def _grow(self) -> None:
        """Makes room for new sources and symbols."""
        sources, shape = len(self._sequences.sources), (len(self._sequences.sources), *self._shape)
        if self._counts.shape == shape:
            return
        needed = 4 * sources * (self._length + self._shape[0] * self._shape[1])
        if needed > budget().operators:
            raise ResourceError(
                f"PERIODS would keep {needed:,} bytes",
                detail=f"{sources:,} sources of {self._length:,} slots and {self._shape[0] * self._shape[1]:,} counts; "
                f"the limit is {budget().operators:,}",
                hint="use a smaller UP TO, fewer symbols, SEGMENTS or a shorter window",
            )
        grown = np.zeros(shape, dtype=np.int32)
        grown[: self._counts.shape[0], : self._counts.shape[1]] = self._counts
        self._counts = grown
        more = sources - len(self._begins)
        self._ring = np.vstack([self._ring, np.full((more, self._length), -1, dtype=np.int32)])
        self._begins = np.append(self._begins, np.full(more, NONE, dtype=np.int64))

    def _forget(self) -> None:
        """Drops the sources without a reading in the window."""
        alive = (self._begins != NONE) | (self._sequences.last_slots >= self._end)
        if self._sequences.sources.worth_forgetting(alive):
            self._sequences.keep(alive)
            self._ring, self._counts, self._begins = (
                array[alive] for array in (self._ring, self._counts, self._begins)
            )

    # ---- rows --------------------------------------------------------------------------------------------------------

    def _rows(self, end: int) -> pl.DataFrame:
        every, least = self._call["ALL"] is True, self._least
        found = np.empty((1_024, 6), dtype=np.int64)
        while True:
            if self._segments:
                peaks = self._call["PEAKS"] is True
                count = of_segments(
                    self._counts, self._begins, end, self._longest, least, every, peaks, found
                )
            else:
                count = of_symbols(self._counts, self._begins, end, self._longest, least, every, found)
            if count <= len(found):
                return self._named(found[:count])
            check_built(count, 8)
            found = np.empty((count, 6), dtype=np.int64)

    def _named(self, found: Integers) -> pl.DataFrame:
        if not len(found):
            return self._nothing
        source, period, code, place, count, of = (pl.Series(column) for column in found.T.copy())
        every, none = self._sequences.every, code < 0
        symbol = self._symbols.decode(code.set(none, None))
        columns = (
            self._sequences.sources.ids.gather(source), period, period * every // SECOND, symbol,
            place.set(none, None), count, of, count / of,
        )  # fmt: skip
        rows = pl.DataFrame([column.alias(name) for column, name in zip(columns, self._names, strict=True)])
        id_, period_, _, symbol_, position, *_ = self._names
        return rows.sort(id_, period_, position, symbol_)

    # ---- state -------------------------------------------------------------------------------------------------------

    def snapshot(self) -> dict[str, bytes]:
        """The slots; the counts follow from them."""
        meta = {"since": self._windows.since, "first": self._first, "end": self._end}
        slots = np.arange(self._first, self._end, dtype=np.int64)
        cells = self._ring[:, slots % self._length] if self._length else self._ring
        ring = pl.DataFrame({"cells": np.ascontiguousarray(cells).ravel()}, schema={"cells": pl.Int32})
        return self._sequences.snapshot() | {"meta": json.dumps(meta).encode(), "ring": frames.to_bytes(ring)}

    def restore(self, panes: dict[str, bytes]) -> None:
        self._sequences.restore(panes)
        meta = json.loads(panes["meta"])
        self._clear()
        self._windows.since, self._first, self._end = meta["since"], meta["first"], meta["end"]
        sources = len(self._sequences.sources)
        cells = (
            frames.from_bytes(panes["ring"])["cells"].to_numpy().reshape(sources, self._end - self._first).T
        )
        arrive(
            np.ascontiguousarray(cells), self._first, self._first, self._ring, self._counts, self._begins,
            self._longest, self._segments,
        )  # fmt: skip
        self._shown = self._rows(self._end)
