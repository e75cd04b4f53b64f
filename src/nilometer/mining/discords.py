"""DISCORDS: a stream -> how unlike all before it each subsequence of a source is, when it is complete.

TOP k: windows of the k subsequences of each source that are least like those before them. The state is that of Profiles.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import polars as pl

from nilometer.algebra.table_function import Frame, FunctionCall
from nilometer.kernels.arrays import Integers
from nilometer.kernels.left_profile import NONE, choose, renew
from nilometer.mining.profiles import Profiles
from nilometer.mining.slot_windows import SlotWindows, output_of
from nilometer.operators import frames
from nilometer.operators.limits import operator
from nilometer.operators.logic import ID, POSITION, TICK, TIME, Output, Progress, no_evaluations
from nilometer.operators.validation import require
from nilometer.types import Schema


@dataclass(frozen=True)
class Discords:
    """The left profile of a column, as a stream."""

    call: FunctionCall
    input: Schema

    def __post_init__(self) -> None:
        require(isinstance(self.call.window, int), "DISCORDS without a range")

    @property
    def schema(self) -> Schema:
        """The columns of its rows."""
        return self.call.schema(self.input)

    def build(self) -> DiscordsLogic:
        return DiscordsLogic(self)


def _rows_at(profiles: Profiles, sources: Integers, places: Integers, names: tuple[str, ...]) -> pl.DataFrame:
    """The rows of the subsequences that begin at these places."""
    every, begins = profiles.sequences.every, places + profiles.base
    columns = (
        pl.Series((begins + profiles.length) * every),
        profiles.sequences.sources.ids.gather(pl.Series(sources)),
        pl.Series(begins * every),
        pl.Series(profiles.distances[sources, places]),
        pl.Series(profiles.nearest[sources, places] * every),
    )
    return pl.DataFrame([column.alias(name) for column, name in zip(columns, names, strict=True)])


class DiscordsLogic:
    """The profiles of all sources."""

    def __init__(self, spec: Discords) -> None:
        self._profiles = Profiles(spec.call, spec.input)
        self._names = tuple(spec.schema.names)
        self._output = frames.stream_dtypes(spec.schema, spec.call.id_type.plain)

    def update(self, port: int, rows: pl.DataFrame) -> None:  # noqa: ARG002 - one port
        self._profiles.sequences.add(rows)

    @operator("DISCORDS")
    def advance(self, progress: Progress) -> Output:
        profiles, parts = self._profiles, []
        every, length = profiles.sequences.every, profiles.length
        # A slot is complete when W has passed its end.
        for start, end in profiles.take((progress.watermark - 1) // every):
            begin = max(start - length + 1, 0)
            found = profiles.nearest[:, begin : max(end - length + 1, begin)] != NONE
            places, sources = np.nonzero(found.T)
            parts.append(_rows_at(profiles, sources, places + begin, self._names))
        profiles.forget()
        rows = pl.concat(parts) if parts else None
        if rows is None or not rows.height:
            return Output(frames.empty(self._output), no_evaluations())
        time, id_, *_ = self._names
        nowhere = pl.lit(None, dtype=pl.Int64).alias(POSITION)
        tagged = rows.sort(time, id_).with_columns(
            pl.col(time).alias(TICK), pl.col(time).alias(TIME), pl.col(id_).alias(ID), nowhere
        )
        return Output(frames.conform(tagged, self._output), no_evaluations())

    def snapshot(self) -> dict[str, bytes]:
        return self._profiles.snapshot()

    def restore(self, panes: dict[str, bytes]) -> None:
        self._profiles.restore(panes)


class WindowedProfile(Protocol):
    """What TopDiscords and Motifs have in common."""

    @property
    def call(self) -> FunctionCall: ...
    @property
    def input(self) -> Schema: ...
    @property
    def schema(self) -> Schema: ...


@dataclass(frozen=True)
class TopDiscords:
    """The greatest distances of the left profile in windows."""

    call: FunctionCall
    input: Schema

    def __post_init__(self) -> None:
        frame = self.call.window
        require(isinstance(frame, Frame) and frame.start is not None, "a profile without a window")

    @property
    def schema(self) -> Schema:
        """The columns of its rows."""
        return self.call.schema(self.input)

    def build(self) -> TopDiscordsLogic:
        return TopDiscordsLogic(self, motifs=False)


class TopDiscordsLogic:
    """The profiles of all sources. For motifs, the least pairs count, and both parts must be in the window."""

    def __init__(self, spec: WindowedProfile, *, motifs: bool) -> None:
        frame, top = spec.call.window, spec.call["TOP"]
        assert isinstance(frame, Frame)
        assert isinstance(top, int)
        self._motifs, self._top = motifs, top
        self._profiles = Profiles(spec.call, spec.input)
        self._windows = SlotWindows(frame, self._profiles.sequences.every)
        self._names = tuple(spec.schema.names)
        self._output = frames.window_dtypes(spec.schema)
        self._seen: tuple[int, int] | None = None
        self._shown = self._nothing = frames.empty(self._output).select(self._names)

    def update(self, port: int, rows: pl.DataFrame) -> None:  # noqa: ARG002 - one port
        self._profiles.sequences.add(rows)

    @operator("TOP_DISCORDS")
    def advance(self, progress: Progress) -> Output:
        parts = []
        for tick, first, end in self._windows.due(progress):
            if self._profiles.sequences.nothing_from(first):
                parts.append((tick, self._nothing))
                continue
            for _ in self._profiles.take(end):
                pass
            if self._seen != (first, end):
                self._shown, self._seen = self._chosen(first, end), (first, end)
            parts.append((tick, self._shown))
        self._profiles.forget()
        return output_of(parts, self._output)

    def _chosen(self, first: int, end: int) -> pl.DataFrame:
        profiles = self._profiles
        low = max(first - profiles.base, 0)
        high = min(end, profiles.end) - profiles.base
        if self._motifs:
            renew(
                profiles.base, low, high, profiles.length, profiles.zone, profiles.values, profiles.means,
                profiles.scales, profiles.distances, profiles.nearest, profiles.sums,
            )  # fmt: skip
        found = np.empty((len(profiles.values) * self._top, 2), dtype=np.int64)
        count = choose(
            profiles.base, low, high, profiles.length, self._top, not self._motifs, self._motifs,
            profiles.distances, profiles.nearest, found,
        )  # fmt: skip
        rows = _rows_at(profiles, found[:count, 0].copy(), found[:count, 1].copy(), self._names)
        _, id_, begin, distance, _ = self._names
        return rows.sort(id_, distance, begin, descending=[False, not self._motifs, False])

    def snapshot(self) -> dict[str, bytes]:
        return self._profiles.snapshot() | {"meta": json.dumps({"since": self._windows.since}).encode()}

    def restore(self, panes: dict[str, bytes]) -> None:
        self._profiles.restore(panes)
        self._windows.since = json.loads(panes["meta"])["since"]
