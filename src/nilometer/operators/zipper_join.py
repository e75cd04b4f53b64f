"""Two streams zippered by a time interval (fjords.txt section 3.1.2, Fig. 4): pair by pair, outer at the
interval's end.

    per interval [k·i, (k+1)·i) and key:  the first left with the first right tuple, the second with the
                                          second, ..., and the remaining tuples, of either side, with NULLs

This is a positional merge join within intervals. Tuples are paired in the order of the stream, (time, id,
position), so that the answer does not depend on the order of arrival. For that, a pair waits until its
interval is complete, whereas the paper joins at once. NULL keys match nothing. A result's tick and time are
the last instant of the interval; it has no id and no position.

>>> from nilometer.types import Column
>>> a, b = Schema((Column("a.x", INT),)), Schema((Column("b.x", INT),))
>>> logic = ZipperJoin(a, b, interval=10).build()
>>> logic.update(0, pl.DataFrame([(1, 1, 1, 0, 7), (2, 2, 1, 1, 8)], frames.stream_dtypes(a), orient="row"))
>>> logic.update(1, pl.DataFrame([(4, 4, 2, 0, 70)], frames.stream_dtypes(b), orient="row"))
>>> logic.advance(Progress(watermark=10)).rows.select(TICK, "a.x", "b.x").rows()
[(9, 7, 70), (9, 8, None)]
"""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from nilometer.operators import frames
from nilometer.operators.evaluate.evaluate import Evaluator, compile_expression
from nilometer.operators.gathering import gather
from nilometer.operators.limits import operator
from nilometer.operators.logic import ID, POSITION, TICK, TIME, Output, Progress, no_evaluations
from nilometer.operators.matching import KeyPairs
from nilometer.operators.order import stream_order
from nilometer.operators.validation import require, require_columns
from nilometer.operators.waiting import Waiting
from nilometer.types import INT, Schema, Type

_LAST = "@last"
_NUMBER = "@number"
_ROW = "@row"


@dataclass(frozen=True)
class ZipperJoin:
    """A zipper join of left (port 0) and right (port 1), in intervals of `interval` microseconds, by
    `keys`.
    """

    left: Schema
    right: Schema
    interval: int
    keys: KeyPairs = ()
    left_id_type: Type = INT
    right_id_type: Type = INT

    def __post_init__(self) -> None:
        require(self.interval > 0, "a zipper join without an interval")
        for left_key, right_key in self.keys:
            require_columns(left_key, self.left, "a zipper join's key")
            require_columns(right_key, self.right, "a zipper join's key")
        _ = self.schema

    @property
    def schema(self) -> Schema:
        """The left's columns and then the right's."""
        return self.left + self.right

    def build(self) -> ZipperJoinLogic:
        return ZipperJoinLogic(self)


class ZipperJoinLogic:
    """Both sides' tuples of the intervals that are not complete."""

    def __init__(self, spec: ZipperJoin) -> None:
        self._interval = spec.interval
        self._columns = frames.stream_dtypes(spec.schema, INT)
        self._visible = [list(spec.left.names), list(spec.right.names)]
        self._keys = [[compile_expression(pair[side]) for pair in spec.keys] for side in (0, 1)]
        self._names = [f"@key{number}" for number in range(len(spec.keys))]
        shapes = [
            frames.stream_dtypes(spec.left, spec.left_id_type),
            frames.stream_dtypes(spec.right, spec.right_id_type),
        ]
        self._sides = [Waiting(shape | {_LAST: pl.Int64()}, gate=_LAST) for shape in shapes]

    def update(self, port: int, rows: pl.DataFrame) -> None:
        if rows.height:
            interval = self._interval
            last = rows[TIME].to_numpy() // interval * interval + (interval - 1)
            self._sides[port].add(rows.with_columns(pl.Series(_LAST, last)))

    @operator("a zipper join")
    def advance(self, progress: Progress) -> Output:
        sides = [
            stream_order(side.release(progress.watermark), names)
            for side, names in zip(self._sides, self._visible, strict=True)
        ]
        if not any(side.height for side in sides):
            return Output(frames.empty(self._columns), no_evaluations())
        left, right = (
            self._numbered(rows, keys).rename({_ROW: f"{_ROW}{port}"})
            for port, (rows, keys) in enumerate(zip(sides, self._keys, strict=True))
        )
        paired = left.join(
            right,
            on=[_LAST, *self._names, _NUMBER],
            how="full",
            coalesce=True,
            maintain_order="left_right",
        ).sort(_LAST, maintain_order=True)
        columns = [
            column
            for port, side in enumerate(sides)
            for column in gather(side.select(self._visible[port]), paired[f"{_ROW}{port}"])
        ]
        rows = pl.DataFrame([paired[_LAST].alias(TIME), *columns]).with_columns(
            pl.col(TIME).alias(TICK),
            pl.lit(None, dtype=self._columns[ID]).alias(ID),
            pl.lit(None, dtype=pl.Int64).alias(POSITION),
        )
        return Output(rows.select(*self._columns), no_evaluations())

    def _numbered(self, rows: pl.DataFrame, keys: list[Evaluator]) -> pl.DataFrame:
        """Returns each row's interval, keys, number among the rows of equal interval and keys, and place."""
        keyed = pl.DataFrame(
            [rows[_LAST], *(key(rows).alias(name) for name, key in zip(self._names, keys, strict=True))]
        )
        return keyed.with_columns(
            pl.int_range(pl.len()).over(_LAST, *self._names).alias(_NUMBER),
            pl.int_range(pl.len()).alias(_ROW),
        )

    def snapshot(self) -> dict[str, bytes]:
        left, right = self._sides
        return left.snapshot("left") | right.snapshot("right")

    def restore(self, panes: dict[str, bytes]) -> None:
        for name, side in zip(("left", "right"), self._sides, strict=True):
            side.restore(name, panes)
