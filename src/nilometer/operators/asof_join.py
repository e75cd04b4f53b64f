"""ASOF JOIN: left and right streams -> each left tuple with the latest right tuple of equal keys at or before
it.

    per left l:  of the right r with keys(r) = keys(l) and time(r) <= time(l), the last by
                 (time, id, position), if time(l) - time(r) <= within, else NULLs

NULL keys match nothing. A left tuple waits until the watermark has passed its *time*, because only then has
every right tuple at or before it arrived. The answer's tuples keep the left's time, id and position. Their
tick is that time, so that they are not behind a watermark that passed the left's tick while they waited. A
right tuple is kept while it can be the latest of some left tuple: per key the last one before the watermark
(last_rows.py) and all beyond it. WITHIN also drops those that are too old.

With `before` all this goes by ticks: the right tuple's is less than the left's, which keeps its own.

>>> from nilometer.types import Column
>>> rain, depth = Schema((Column("rain", INT),)), Schema((Column("depth", INT),))
>>> logic = AsofJoin(rain, depth, within=5).build()
>>> left = [(4, 4, 1, 0, 9), (12, 12, 1, 1, 8)]  # tick, time, id, position, rain
>>> right = [(1, 1, 7, 0, 70), (3, 3, 7, 1, 71)]
>>> logic.update(0, pl.DataFrame(left, frames.stream_dtypes(rain), orient="row"))
>>> logic.update(1, pl.DataFrame(right, frames.stream_dtypes(depth), orient="row"))
>>> logic.advance(Progress(watermark=20)).rows.select(TIME, "rain", "depth").rows()
[(4, 9, 71), (12, 8, None)]
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from nilometer.expressions import Expression, type_of
from nilometer.kernels.arrays import Integers
from nilometer.kernels.hash_index import HashIndex
from nilometer.kernels.stable_order import stable_order
from nilometer.operators import frames
from nilometer.operators.evaluate.evaluate import compile_expression
from nilometer.operators.gathering import gather
from nilometer.operators.last_rows import LastRows
from nilometer.operators.limits import operator
from nilometer.operators.logic import TICK, TIME, Output, Progress, no_evaluations
from nilometer.operators.matching import KeyPairs
from nilometer.operators.order import stream_order
from nilometer.operators.validation import require, require_columns
from nilometer.operators.waiting import Waiting
from nilometer.types import INT, INT_MINIMUM, Schema, Type

_ROW = "@row"
_CODE = "@code"


@dataclass(frozen=True)
class AsofJoin:
    """Left (port 0) as of right (port 1) on `keys`, not older than `within` microseconds."""

    left: Schema
    right: Schema
    keys: KeyPairs = ()
    within: int | None = None
    left_id_type: Type = INT
    right_id_type: Type = INT
    before: bool = False

    def __post_init__(self) -> None:
        require(self.within is None or self.within >= 0, "ASOF JOIN within a negative time")
        require(self.within is None or not self.before, "ASOF JOIN by ticks within a time")
        for left_key, right_key in self.keys:
            require_columns(left_key, self.left, "an ASOF key")
            require_columns(right_key, self.right, "an ASOF key")
        _ = self.schema

    @property
    def schema(self) -> Schema:
        """The left's columns and then the right's."""
        return self.left + self.right

    @property
    def id_type(self) -> Type:
        """The type of the answer's ids."""
        return self.left_id_type

    def build(self) -> AsofJoinLogic:
        return AsofJoinLogic(self)


class AsofJoinLogic:
    """The left tuples that wait, and the right tuples that may still be the latest for a left tuple."""

    def __init__(self, spec: AsofJoin) -> None:
        self._within = spec.within
        self._clock = TICK if spec.before else TIME
        self._gap = int(spec.before)
        self._names = [f"@key{number}" for number in range(len(spec.keys))]
        self._left_keys = [compile_expression(left_key) for left_key, _ in spec.keys]
        self._right_keys = [compile_expression(right_key) for _, right_key in spec.keys]
        self._columns = frames.stream_dtypes(spec.schema, spec.id_type)
        self._left = Waiting(frames.stream_dtypes(spec.left, spec.left_id_type), gate=self._clock)
        self._visible = list(spec.right.names)
        key_types = {name: _key_dtype(pair) for name, pair in zip(self._names, spec.keys, strict=True)}
        right = frames.stream_dtypes(spec.right, spec.right_id_type)
        self._right_input = right
        self._right_columns = right | key_types
        self._right = Waiting(self._right_columns, gate=self._clock)
        self._latest = LastRows(self._names, self._right_columns, self._clock)

    def update(self, port: int, rows: pl.DataFrame) -> None:
        if port == 0:
            self._left.add(rows)
        elif rows.height:
            rows = frames.conform(rows, self._right_input)
            keyed = rows.with_columns(
                key(rows).alias(name) for name, key in zip(self._names, self._right_keys, strict=True)
            )
            self._right.add(keyed.drop_nulls(self._names) if self._names else keyed)

    @operator("ASOF_JOIN")
    def advance(self, progress: Progress) -> Output:
        # Tuples released now are later, on either side, than tuples released before.
        left = self._left.release(progress.watermark)
        right = stream_order(self._right.release(progress.watermark), self._visible)
        if self._gap:
            right = right.sort(TICK, maintain_order=True)
        joined = self._join(left, right) if left.height else frames.empty(self._columns)
        self._remember(right, progress.watermark)
        return Output(joined, no_evaluations())

    def _join(self, left: pl.DataFrame, right: pl.DataFrame) -> pl.DataFrame:
        left = pl.DataFrame(gather(left, stable_order(left[self._clock].to_numpy())))
        keys = [key(left).alias(name) for name, key in zip(self._names, self._left_keys, strict=True)]
        known = self._latest.of(pl.DataFrame(keys) if keys else left)
        right = frames.concatenate([known.sort(self._clock), right], self._right_columns)
        places = self._places(left, keys, right)
        if self._within is not None and right.height:
            times = right[TIME].to_numpy()
            near = left[TIME].to_numpy() - times[places] <= self._within
            places = np.where((places >= 0) & near, places, -1)
        rows = left.hstack(gather(right.select(self._visible), _nullable(places)))
        return rows.with_columns(left[self._clock].alias(TICK)).select(*self._columns)

    def _places(self, left: pl.DataFrame, keys: list[pl.Series], right: pl.DataFrame) -> Integers:
        """Returns per left row the place of the latest right row of equal keys, or -1. Both sides are in time
        order.
        """
        # An as-of search returns the last of the rows that are not later, so equal times are in order, too.
        times, targets = left[self._clock].to_numpy() - self._gap, right[self._clock].to_numpy()
        if not self._names:
            return np.searchsorted(targets, times, side="right").astype(np.int64) - 1
        theirs, mine = right.select(self._names), pl.DataFrame(keys)
        if theirs.dtypes != [pl.Int64()]:
            codes = theirs.unique(maintain_order=True).with_row_index(_CODE)
            theirs, mine = (
                side.join(codes, on=self._names, how="left", maintain_order="left").select(
                    pl.col(_CODE).cast(pl.Int64)
                )
                for side in (theirs, mine)
            )
        probes = mine.to_series()
        known = probes.is_not_null().to_numpy() if probes.null_count() else None
        numbers = (probes if known is None else probes.fill_null(0)).to_numpy()
        index = HashIndex(theirs.to_series().to_numpy().view(np.uint64), None, targets)
        return index.last(numbers.view(np.uint64), known, times)

    def _remember(self, right: pl.DataFrame, watermark: int) -> None:
        """Keep only the latest tuple of each key among those the watermark has passed."""
        if self._within is not None:
            self._latest.expire(max(watermark - self._within, INT_MINIMUM))
        if right.height:
            last = (
                right.unique(self._names, keep="last", maintain_order=True) if self._names else right.tail(1)
            )
            self._latest.put(last)

    def snapshot(self) -> dict[str, bytes]:
        return self._left.snapshot("left") | self._right.snapshot("right") | self._latest.snapshot("latest")

    def restore(self, panes: dict[str, bytes]) -> None:
        self._left.restore("left", panes)
        self._right.restore("right", panes)
        self._latest.restore("latest", panes)


def _nullable(places: Integers) -> Integers | pl.Series:
    """Converts places to row numbers, NULL for -1."""
    if not (places < 0).any():
        return places
    return pl.DataFrame({_ROW: places}).select(pl.when(pl.col(_ROW) >= 0).then(pl.col(_ROW))).to_series()


def _key_dtype(pair: tuple[Expression, Expression]) -> pl.DataType:
    return frames.dtype(type_of(pair[1]))
