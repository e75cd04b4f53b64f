"""PATTERNS: a stream -> windows of (id, period, pattern, letters, count, segments, confidence).

The state is each source's segments (those of a window each by itself, without a beginning as a multiset with counts), so
any confidence can be asked later, and the merge of two states is their sum.

    bytes <= sources x (4 p + 24) x segments in the window; UNBOUNDED: different segments, at most 100,000 a source
"""

from __future__ import annotations

import json
from dataclasses import dataclass

import numpy as np
import polars as pl

from nilometer.algebra.table_function import Frame, FunctionCall
from nilometer.algebra.table_functions.patterns import ACROSS, MOST_PATTERNS, MOST_SEGMENTS
from nilometer.errors import ResourceError
from nilometer.kernels.patterns import all_frequent
from nilometer.kernels.slots import NEVER
from nilometer.mining.sequences import Block, Sequences
from nilometer.mining.slot_windows import SlotWindows, output_of
from nilometer.mining.symbols import Symbols
from nilometer.operators import frames
from nilometer.operators.limits import check_kept, operator
from nilometer.operators.logic import Output, Progress
from nilometer.operators.same_panes import SamePanes
from nilometer.operators.validation import require
from nilometer.types import Schema


@dataclass(frozen=True)
class Patterns:
    """The periodic patterns of a column's symbols."""

    call: FunctionCall
    input: Schema

    def __post_init__(self) -> None:
        require(isinstance(self.call.window, Frame), "PATTERNS without a window")

    @property
    def schema(self) -> Schema:
        """The columns of its rows."""
        return self.call.schema(self.input)

    def build(self) -> PatternsLogic:
        return PatternsLogic(self)


class PatternsLogic:
    """The whole segments, one row each, and the slots of the segment that is not yet whole."""

    def __init__(self, spec: Patterns) -> None:
        call, frame, period = spec.call, spec.call.window, spec.call["PERIOD"]
        assert isinstance(frame, Frame)
        assert isinstance(period, int)
        self._call, self._period = call, period
        self._unbounded = frame.start is None
        self._across = call[ACROSS] is True
        self._symbols = Symbols(call, spec.input)
        self._sequences = Sequences(call, spec.input, self._symbols)
        self._windows = SlotWindows(frame, self._sequences.every)
        self._output = frames.window_dtypes(spec.schema)
        self._names = spec.schema.names
        self._open = np.full((0, period), -1, dtype=np.int32)
        self._at = NEVER  # the segment that is open
        self._sources = np.empty(0, np.int64)
        self._numbers = np.empty(0, np.int64)  # of the segments, by time
        self._counts = np.empty(0, np.int64)
        self._segments = np.empty((0, period), np.int32)
        self._plain = 0  # how many rows there were when equal ones were last joined
        self._changed = True
        self._same = SamePanes()
        self._shown = self._nothing = frames.empty(self._output).select(self._names)

    def update(self, port: int, rows: pl.DataFrame) -> None:  # noqa: ARG002 - one port
        self._sequences.add(rows)

    @operator("PATTERNS")
    def advance(self, progress: Progress) -> Output:
        parts = []
        for tick, first, end in self._windows.due(progress):
            if not len(self._sources) and self._sequences.nothing_from(min(first, self._at * self._period)):
                parts.append((tick, self._nothing))
                continue
            whole = end // self._period * self._period  # only whole segments count
            for block in self._sequences.take(whole, self._period):
                self._take(block)
            self._close(whole // self._period)
            if not self._unbounded:
                self._drop(-(-first // self._period))
            if self._changed:
                self._shown, self._changed = self._rows(), False
            parts.append((tick, self._shown))
        self._forget()
        return output_of(parts, self._output)

    # ---- segments ----------------------------------------------------------------------------------------------------

    def _take(self, block: Block) -> None:
        """Puts the slots of a block into their segments."""
        more = len(self._sequences.sources) - len(self._open)
        if more:
            self._open = np.vstack([self._open, np.full((more, self._period), -1, np.int32)])
        slot = block.first
        while slot < block.end:
            self._close(slot // self._period)
            stop = min((slot // self._period + 1) * self._period, block.end)
            place = slot % self._period
            self._open[:, place : place + stop - slot] = block.cells[
                slot - block.first : stop - block.first
            ].T
            slot = stop

    def _close(self, segment: int) -> None:
        """The segment before this one is whole."""
        if segment <= self._at:
            return
        heard = np.flatnonzero((self._open >= 0).any(axis=1))
        if len(heard):
            self._add(heard, self._open[heard])
            self._open = np.full_like(self._open, -1)
        self._at = segment

    def _add(self, sources: np.ndarray, segments: np.ndarray) -> None:
        self._changed = True
        self._sources = np.append(self._sources, sources)
        self._numbers = np.append(self._numbers, np.full(len(sources), self._at, np.int64))
        self._counts = np.append(self._counts, np.ones(len(sources), np.int64))
        self._segments = np.vstack([self._segments, segments])
        check_kept(len(self._sources) * (self._period // 2 + 3))
        if self._unbounded and len(self._sources) > 2 * self._plain + 1_024:
            self._join_equal()

    def _join_equal(self) -> None:
        """Equal segments of a source become one, with their count; in the order of sources and symbols."""
        keys = np.column_stack([self._sources, self._segments.astype(np.int64)])
        unique, inverse = np.unique(keys, axis=0, return_inverse=True)
        counts = np.bincount(inverse.ravel(), weights=self._counts).astype(np.int64)
        self._sources, self._segments = unique[:, 0].copy(), unique[:, 1:].astype(np.int32)
        self._numbers, self._counts = np.zeros(len(counts), np.int64), counts
        self._plain = len(counts)
        different = np.bincount(self._sources, minlength=1)
        if different.max() > MOST_SEGMENTS:
            raise ResourceError(
                f"PATTERNS found {int(different.max()):,} different segments of a source",
                detail=f"the limit is {MOST_SEGMENTS:,}",
                hint="use fewer symbols, a shorter PERIOD, or a window with a beginning",
            )

    def _drop(self, first: int) -> None:
        """The segments before this one leave the window."""
        kept = self._numbers >= first
        if not kept.all():
            self._changed = True
            self._sources, self._numbers, self._counts = (
                array[kept] for array in (self._sources, self._numbers, self._counts)
            )
            self._segments = self._segments[kept]

    def _forget(self) -> None:
        """Drops the sources without a segment."""
        alive = np.zeros(len(self._sequences.sources), dtype=np.bool_)
        alive[self._sources] = True
        alive[: len(self._open)] |= (self._open >= 0).any(axis=1)
        alive |= self._sequences.last_slots + self._sequences.fill >= self._sequences.next
        if self._sequences.sources.worth_forgetting(alive):
            self._sequences.keep(alive)
            self._open = self._open[alive[: len(self._open)]]
            self._sources = (np.cumsum(alive) - 1)[self._sources]

    # ---- rows --------------------------------------------------------------------------------------------------------

    def _rows(self) -> pl.DataFrame:
        sources = np.zeros_like(self._sources) if self._across else self._sources
        number = 1 if self._across else len(self._sequences.sources)
        order = np.argsort(sources, kind="stable")
        starts = np.searchsorted(sources[order], np.arange(number + 1))
        least, most = self._call["CONFIDENCE"], self._call["MOST LETTERS"]
        assert isinstance(least, float)
        owners, found, counts, total = all_frequent(
            self._segments[order], self._counts[order], starts, least,
            most if isinstance(most, int) else self._period, self._call["MAXIMAL"] is True, MOST_PATTERNS,
        )  # fmt: skip
        if total > MOST_PATTERNS:
            raise ResourceError(
                f"PATTERNS found {total:,} patterns, and there are more",
                detail=f"the limit is {MOST_PATTERNS:,}",
                hint="use a greater CONFIDENCE, MOST LETTERS 3, or MAXIMAL",
            )
        segments = np.bincount(sources, weights=self._counts, minlength=number).astype(np.int64)[owners]
        named = [pl.Series([self._period], dtype=pl.Int64).new_from_index(0, len(owners)), self._texts(found)]
        named += [
            pl.Series((found >= 0).sum(axis=1).astype(np.int64)),
            pl.Series(counts),
            pl.Series(segments),
        ]
        named += [pl.Series(counts / segments)]
        if not self._across:
            named.insert(0, self._sequences.sources.ids.gather(pl.Series(owners)))
        rows = pl.DataFrame([column.alias(name) for column, name in zip(named, self._names, strict=True)])
        letters, pattern = self._names[-4], self._names[-5]
        return rows.sort(*self._names[:-6], letters, pattern)

    def _texts(self, found: np.ndarray) -> pl.Series:
        """`a*b`, or `on * off` if a symbol has several characters."""
        texts = self._symbols.texts
        places = [
            texts.gather(pl.Series(column.astype(np.int64)).set(pl.Series(column < 0), None)).fill_null("*")
            if len(texts)
            else pl.Series([], dtype=pl.String)
            for column in found.T
        ]
        columns = pl.DataFrame([place.alias(str(number)) for number, place in enumerate(places)])
        long = pl.any_horizontal(pl.all().str.len_chars() > 1)
        together, apart = pl.concat_str(pl.all()), pl.concat_str(pl.all(), separator=" ")
        return columns.select(pl.when(long).then(apart).otherwise(together).alias("@text")).to_series()

    # ---- state -------------------------------------------------------------------------------------------------------

    def snapshot(self) -> dict[str, bytes]:
        if self._unbounded:
            self._join_equal()
        meta = {"since": self._windows.since, "at": self._at}
        rows = pl.DataFrame(
            {"source": self._sources, "number": self._numbers, "count": self._counts},
            schema={"source": pl.Int64, "number": pl.Int64, "count": pl.Int64},
        )
        cells = pl.DataFrame({"cells": self._segments.ravel()}, schema={"cells": pl.Int32})
        opened = pl.DataFrame({"cells": self._open.ravel()}, schema={"cells": pl.Int32})
        panes = self._sequences.snapshot() | {
            "meta": json.dumps(meta).encode(),
            "segments": frames.to_bytes(rows),
            "letters": frames.to_bytes(cells),
            "open": frames.to_bytes(opened),
        }
        return self._same(panes)

    def restore(self, panes: dict[str, bytes]) -> None:
        self._sequences.restore(panes)
        meta = json.loads(panes["meta"])
        self._windows.since, self._at = meta["since"], meta["at"]
        rows = frames.from_bytes(panes["segments"])
        self._sources, self._numbers, self._counts = (
            rows[name].to_numpy().copy() for name in ("source", "number", "count")
        )
        letters, opened = (frames.from_bytes(panes[name])["cells"].to_numpy() for name in ("letters", "open"))
        self._segments = letters.reshape(-1, self._period).astype(np.int32)
        self._open = opened.reshape(-1, self._period).astype(np.int32)
        self._plain, self._changed = len(self._sources), True
