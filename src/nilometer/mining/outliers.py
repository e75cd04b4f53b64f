"""OUTLIERS: a stream -> the readings far from the median of their source's last ones, with the median and the distance
in scaled deviations (NULL if all readings before were equal).

The state of a source is its readings in the last w, once in their order and once sorted: 24 bytes each, and at most as
much again as room to grow.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from nilometer.algebra.table_function import FunctionCall
from nilometer.algebra.table_functions.outliers import SCALE
from nilometer.kernels.arrays import Booleans
from nilometer.kernels.read_only import read_only
from nilometer.kernels.running_median import empty_parts, judge, relocate
from nilometer.mining.sources import Sources
from nilometer.operators import frames
from nilometer.operators.limits import check_kept, operator
from nilometer.operators.logic import ID, POSITION, TICK, TIME, Output, Progress, no_evaluations
from nilometer.operators.order import stream_order
from nilometer.operators.validation import require
from nilometer.operators.waiting import Waiting
from nilometer.types import INT_MINIMUM, Schema

_VALUE = "@value"
_LEAST_ROOM = 8


@dataclass(frozen=True)
class Outliers:
    """The outliers of a column. The window is how far back the readings lie with which one is compared."""

    call: FunctionCall
    input: Schema

    def __post_init__(self) -> None:
        require(isinstance(self.call.window, int) and self.call.window > 0, "OUTLIERS without a window")

    @property
    def schema(self) -> Schema:
        """The columns of its rows."""
        return self.call.schema(self.input)

    def build(self) -> OutliersLogic:
        return OutliersLogic(self)


class OutliersLogic:
    """The readings of each source in the last w."""

    def __init__(self, spec: Outliers) -> None:
        call = spec.call
        reach, most, after = call.window, call["DEVIATIONS"], call["AFTER"]
        assert isinstance(reach, int)
        assert isinstance(most, float)
        assert isinstance(after, int)
        self._reach, self._most, self._after = reach, most, after
        self._column = call.columns[0]
        self._output = frames.stream_dtypes(spec.schema, call.id_type.plain)
        self._names = spec.schema.names
        id_dtype = frames.dtype(call.id_type.plain)
        columns = {
            TICK: pl.Int64(),
            TIME: pl.Int64(),
            ID: id_dtype,
            POSITION: pl.Int64(),
            _VALUE: pl.Float64(),
        }
        self._waiting = Waiting(columns)
        self._sources = Sources(id_dtype)
        self._starts, self._rooms, self._heads, self._counts = (np.empty(0, np.int64) for _ in range(4))
        self._times, self._queue, self._ordered = empty_parts(0)
        self._watermark = INT_MINIMUM

    def update(self, port: int, rows: pl.DataFrame) -> None:  # noqa: ARG002 - one port
        value = pl.col(self._column).cast(pl.Float64)
        known = pl.col(ID).is_not_null() & value.is_not_null() & value.is_finite()
        self._waiting.add(rows.filter(known).with_columns(value.alias(_VALUE)))

    @operator("OUTLIERS")
    def advance(self, progress: Progress) -> Output:
        rows = self._waiting.release(progress.watermark)
        self._watermark = max(self._watermark, progress.watermark)
        if not rows.height:
            return Output(frames.empty(self._output), no_evaluations())
        rows = stream_order(rows, [_VALUE])
        sources = self._sources.numbers(rows[ID])
        self._make_room(np.bincount(sources, minlength=len(self._sources)))
        medians, mads = np.zeros(rows.height), np.zeros(rows.height)
        known = np.zeros(rows.height, np.int64)
        times, values = rows[TIME].to_numpy(), rows[_VALUE].to_numpy()
        judge(
            read_only(sources), read_only(times), read_only(values), self._reach, self._starts, self._rooms, self._heads, self._counts,
            self._times, self._queue, self._ordered, medians, mads, known,
        )  # fmt: skip
        found = (np.abs(values - medians) > self._most * SCALE * mads) & (known >= self._after)
        self._forget(int(times[-1]))
        return Output(
            self._rows(rows.filter(pl.Series(found)), medians[found], mads[found]), no_evaluations()
        )

    def _rows(self, rows: pl.DataFrame, medians: np.ndarray, mads: np.ndarray) -> pl.DataFrame:
        with np.errstate(divide="ignore", over="ignore"):
            deviations = np.abs(rows[_VALUE].to_numpy() - medians) / (SCALE * mads)
        time, id_, value, median, deviation = self._names
        given = pl.Series(deviations)
        shown = rows.select(
            TICK, TIME, ID, POSITION,
            pl.col(TIME).alias(time), pl.col(ID).alias(id_), pl.col(_VALUE).alias(value),
            pl.Series(median, medians), given.set(~given.is_finite(), None).alias(deviation),
        )  # fmt: skip
        return frames.conform(shown, self._output)

    def _make_room(self, new: np.ndarray) -> None:
        """Room for so many more readings of each source."""
        more = len(new) - len(self._counts)
        if more:
            self._starts, self._rooms, self._heads, self._counts = (
                np.append(array, np.zeros(more, np.int64))
                for array in (self._starts, self._rooms, self._heads, self._counts)
            )
        needed = self._counts + new
        if (needed <= self._rooms).all():
            return
        small = needed > self._rooms
        rooms = self._rooms.copy()
        rooms[small] = np.maximum(2 ** np.ceil(np.log2(needed[small])), _LEAST_ROOM).astype(np.int64)
        check_kept(3 * int(rooms.sum()))
        starts = np.cumsum(rooms) - rooms
        parts = empty_parts(int(rooms.sum()))
        relocate(
            self._starts, self._rooms, self._heads, self._counts, self._times, self._queue, self._ordered,
            starts, *parts,
        )  # fmt: skip
        self._times, self._queue, self._ordered = parts
        self._starts, self._rooms = starts, rooms

    def _newest(self) -> np.ndarray:
        """The time of each source's last reading."""
        behind = self._starts + (self._heads + self._counts - 1) % np.maximum(self._rooms, 1)
        return np.where(self._counts > 0, self._times[np.minimum(behind, len(self._times) - 1)], INT_MINIMUM)

    def _forget(self, now: int) -> None:
        """Drops the sources that had no reading for so long that nothing is compared with theirs."""
        alive = self._newest() > now - self._reach
        if self._sources.worth_forgetting(alive):
            self._keep(alive)

    def _keep(self, alive: Booleans) -> None:
        self._sources.keep(alive)
        self._starts, self._rooms, self._heads, self._counts = (
            array[alive] for array in (self._starts, self._rooms, self._heads, self._counts)
        )

    def snapshot(self) -> dict[str, bytes]:
        numbers = np.repeat(np.arange(len(self._counts)), self._counts)
        places = np.arange(len(numbers)) - np.repeat(np.cumsum(self._counts) - self._counts, self._counts)
        at = self._starts[numbers] + (self._heads[numbers] + places) % np.maximum(self._rooms[numbers], 1)
        readings = pl.DataFrame({"source": numbers, "time": self._times[at], "value": self._queue[at]})
        known = self._sources.ids.to_frame()
        return self._waiting.snapshot("waiting") | {
            "readings": frames.to_bytes(readings),
            "sources": frames.to_bytes(known),
        }

    def restore(self, panes: dict[str, bytes]) -> None:
        self._waiting.restore("waiting", panes)
        self._sources.ids = frames.from_bytes(panes["sources"])[ID]
        readings = frames.from_bytes(panes["readings"])
        numbers, values = readings["source"].to_numpy(), readings["value"].to_numpy()
        counts = np.bincount(numbers, minlength=len(self._sources)).astype(np.int64)
        self._make_room(counts)
        at = self._starts[numbers] + np.arange(len(numbers)) - np.repeat(np.cumsum(counts) - counts, counts)
        self._times[at], self._queue[at] = readings["time"].to_numpy(), values
        self._ordered[at] = values[np.lexsort((values, numbers))]
        self._counts = counts
