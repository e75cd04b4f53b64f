"""SIMILAR_TO: a stream -> the subsequences within a distance of an example; NEAREST k: windows of the nearest ones.

The state is the last m - 1 slots of each source, for the longest example; for NEAREST also the distance of every
subsequence in the window to every example:

    bytes <= sources x 8 (m - 1)         NEAREST: + sources x examples x 32 slots
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import polars as pl

from nilometer.algebra.table_function import Frame, FunctionCall, shape_names, shapes_of
from nilometer.kernels.arrays import Floats
from nilometer.kernels.example_distance import compare, pick
from nilometer.kernels.left_profile import normalise
from nilometer.kernels.read_only import read_only
from nilometer.mining.sequences import Sequences
from nilometer.mining.slot_windows import SlotWindows, output_of
from nilometer.operators import frames
from nilometer.operators.limits import check_kept, operator
from nilometer.operators.logic import ID, POSITION, TICK, TIME, Output, Progress, no_evaluations
from nilometer.operators.validation import require
from nilometer.types import Schema

_BEGIN, _DISTANCE, _EXAMPLE = "@begin", "@distance", "@example"


class ExampleSpec(Protocol):
    """What both forms have in common."""

    @property
    def call(self) -> FunctionCall: ...
    @property
    def input(self) -> Schema: ...
    @property
    def schema(self) -> Schema: ...


@dataclass(frozen=True)
class SimilarTo:
    """The subsequences within a distance of an example."""

    call: FunctionCall
    input: Schema

    @property
    def schema(self) -> Schema:
        """The columns of its rows."""
        return self.call.schema(self.input)

    def build(self) -> SimilarToLogic:
        return SimilarToLogic(self)


@dataclass(frozen=True)
class NearestTo:
    """The subsequences in windows that are nearest to an example."""

    call: FunctionCall
    input: Schema

    def __post_init__(self) -> None:
        frame = self.call.window
        require(isinstance(frame, Frame) and frame.start is not None, "NEAREST without a window")

    @property
    def schema(self) -> Schema:
        """The columns of its rows."""
        return self.call.schema(self.input)

    def build(self) -> NearestToLogic:
        return NearestToLogic(self)


class Comparison:
    """The last slots of each source, and what the examples are compared with next."""

    def __init__(self, spec: ExampleSpec) -> None:
        call = spec.call
        shapes = shapes_of(call["EXAMPLE"])
        self.names = shape_names(call["EXAMPLE"])
        self.lengths = np.array([len(shape) for shape in shapes], dtype=np.int64)
        self._longest, self._raw = int(self.lengths.max()), call["RAW"] is True
        self.sequences = Sequences(call, spec.input, None)
        self._examples = [self._normalised(np.array(shape, dtype=np.float64)) for shape in shapes]
        self._last = np.full((self._longest - 1, 0), np.nan)
        self._end = 0

    def _normalised(self, values: Floats) -> Floats:
        mean, scale = np.zeros(1), np.zeros(1)
        normalise(values, 0, len(values), self._raw, mean, scale)
        found: Floats = (values - mean[0]) * scale[0]
        return found

    def take(self, end: int) -> Iterator[pl.DataFrame]:
        """(ID, example, begin, distance) of the subsequences that end before the slot `end`."""
        for block in self.sequences.take(end, self._longest):
            before = np.full((self._longest - 1, block.cells.shape[1]), np.nan)
            if block.first == self._end:
                before[:, : self._last.shape[1]] = self._last
            cells = np.vstack([before, block.cells])
            self._last, self._end = cells[len(cells) - self._longest + 1 :], block.end
            for number, example in enumerate(self._examples):
                columns = np.ascontiguousarray(cells[self._longest - len(example) :].T)
                found = np.empty(block.cells.T.shape)
                work = np.empty((2, columns.shape[1]))
                compare(columns, example, self._raw, work[0], work[1], found)
                sources, places = np.nonzero(np.isfinite(found))
                ids = self.sequences.sources.ids.gather(pl.Series(sources.astype(np.int64)))
                yield pl.DataFrame(
                    [
                        ids.alias(ID),
                        pl.Series(_EXAMPLE, np.full(len(sources), number), dtype=pl.Int64),
                        pl.Series(_BEGIN, places + block.first - len(example) + 1).cast(pl.Int64),
                        pl.Series(_DISTANCE, found[sources, places]),
                    ]
                )

    def forget(self) -> None:
        """Drops the sources that have been silent for a whole example."""
        alive = self.sequences.last_slots >= self._end - self._longest - self.sequences.fill
        if self._last.shape[1] == len(alive) and self.sequences.sources.worth_forgetting(alive):
            self.sequences.keep(alive)
            self._last = self._last[:, alive]

    def named(self, rows: pl.DataFrame, names: tuple[str, ...]) -> pl.DataFrame:
        """The rows with the columns of the answer."""
        time, id_, *example, begin, distance = names
        every = self.sequences.every
        lengths = pl.Series(self.lengths).gather(rows[_EXAMPLE])
        of = pl.Series(self.names, dtype=pl.String)
        return rows.select(
            ((pl.col(_BEGIN) + lengths) * every).alias(time),
            pl.col(ID).alias(id_),
            *(of.gather(rows[_EXAMPLE]).alias(name) for name in example),
            (pl.col(_BEGIN) * every).alias(begin),
            pl.col(_DISTANCE).alias(distance),
        )

    def snapshot(self) -> dict[str, bytes]:
        """Returns the state as panes."""
        last = pl.DataFrame({"cells": np.ascontiguousarray(self._last).ravel()}, schema={"cells": pl.Float64})
        meta = {"compared": json.dumps({"end": self._end}).encode()}
        return self.sequences.snapshot() | {"last": frames.to_bytes(last)} | meta

    def restore(self, panes: dict[str, bytes]) -> None:
        """Take back what `snapshot` gave."""
        self.sequences.restore(panes)
        self._end = json.loads(panes["compared"])["end"]
        cells = frames.from_bytes(panes["last"])["cells"].to_numpy()
        self._last = cells.reshape(self._longest - 1, len(cells) // (self._longest - 1)).copy()


class SimilarToLogic:
    """The last slots of each source."""

    def __init__(self, spec: SimilarTo) -> None:
        within = spec.call["WITHIN"]
        assert isinstance(within, float)
        self._within = within
        self._comparison = Comparison(spec)
        self._names = tuple(spec.schema.names)
        self._output = frames.stream_dtypes(spec.schema, spec.call.id_type.plain)

    def update(self, port: int, rows: pl.DataFrame) -> None:  # noqa: ARG002 - one port
        self._comparison.sequences.add(rows)

    @operator("SIMILAR_TO")
    def advance(self, progress: Progress) -> Output:
        own = self._comparison
        end = (progress.watermark - 1) // own.sequences.every
        parts = [rows.filter(pl.col(_DISTANCE) <= self._within) for rows in own.take(end)]
        own.forget()
        parts = [rows for rows in parts if rows.height]
        if not parts:
            return Output(frames.empty(self._output), no_evaluations())
        rows = own.named(pl.concat(parts), self._names)
        time, id_, *_ = self._names
        nowhere = pl.lit(None, dtype=pl.Int64).alias(POSITION)
        tagged = rows.sort(self._names[:-2]).with_columns(
            pl.col(time).alias(TICK), pl.col(time).alias(TIME), pl.col(id_).alias(ID), nowhere
        )
        return Output(frames.conform(tagged, self._output), no_evaluations())

    def snapshot(self) -> dict[str, bytes]:
        return self._comparison.snapshot()

    def restore(self, panes: dict[str, bytes]) -> None:
        self._comparison.restore(panes)


class NearestToLogic:
    """The last slots of each source, and the distances in the window."""

    def __init__(self, spec: NearestTo) -> None:
        frame, nearest = spec.call.window, spec.call["NEAREST"]
        assert isinstance(frame, Frame)
        assert isinstance(nearest, int)
        self._nearest = nearest
        self._comparison = Comparison(spec)
        self._windows = SlotWindows(frame, self._comparison.sequences.every)
        self._names = tuple(spec.schema.names)
        self._output = frames.window_dtypes(spec.schema)
        id_dtype = frames.dtype(spec.call.id_type.plain)
        self._held = frames.empty(
            {ID: id_dtype, _EXAMPLE: pl.Int64(), _BEGIN: pl.Int64(), _DISTANCE: pl.Float64()}
        )
        self._saved = frames.Saved()
        self._nothing = frames.empty(self._output).select(self._names)

    def update(self, port: int, rows: pl.DataFrame) -> None:  # noqa: ARG002 - one port
        self._comparison.sequences.add(rows)

    @operator("NEAREST_TO")
    def advance(self, progress: Progress) -> Output:
        parts = []
        for tick, first, end in self._windows.due(progress):
            if self._comparison.sequences.nothing_from(first):
                self._held = self._held.clear()
                parts.append((tick, self._nothing))
                continue
            held = pl.concat([self._held, *self._comparison.take(end)])
            self._held = held.filter(pl.col(_BEGIN) >= first)
            check_kept(4 * self._held.height)
            ordered = self._held.sort(ID, _EXAMPLE, _DISTANCE, _BEGIN)
            kept = np.zeros(ordered.height, dtype=np.bool_)
            groups = ordered.select(pl.struct(ID, _EXAMPLE).rle_id().cast(pl.Int64))
            pick(
                read_only(groups.to_series().to_numpy()),
                read_only(ordered[_BEGIN].to_numpy()),
                self._comparison.lengths[ordered[_EXAMPLE].to_numpy()],
                self._nearest,
                kept,
            )
            parts.append((tick, self._comparison.named(ordered.filter(pl.Series(kept)), self._names)))
        self._comparison.forget()
        return output_of(parts, self._output)

    def snapshot(self) -> dict[str, bytes]:
        meta = {"meta": json.dumps({"since": self._windows.since}).encode()}
        return self._comparison.snapshot() | {"held": self._saved(self._held)} | meta

    def restore(self, panes: dict[str, bytes]) -> None:
        self._comparison.restore(panes)
        self._held = self._saved.load(panes["held"])
        self._windows.since = json.loads(panes["meta"])["since"]
