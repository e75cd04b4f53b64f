"""ASOF JOIN: left and right streams -> each left tuple with the latest right tuple of equal keys at or before it.

    per left l:  of the right r with keys(r) = keys(l) and time(r) <= time(l), the last by (time, id, position),
                 if time(l) - time(r) <= within, else NULLs

NULL keys match nothing. A left tuple waits until the watermark has passed its *time*: only then has every right tuple at
or before it come. The answer's tuples keep the left's time, id and position; their tick is that time, so that they are
not behind a watermark that passed the left's tick while they waited. Right tuples stay while they can be the latest:
per key the last one before the watermark and all beyond it, and with WITHIN none that is too old.
"""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from nilometer.expressions import Expression, type_of
from nilometer.operators import frames
from nilometer.operators.evaluate import compile_expression
from nilometer.operators.gathering import gather
from nilometer.operators.logic import TICK, TIME, Output, Progress, no_evaluations
from nilometer.operators.matching import KeyPairs
from nilometer.operators.order import stream_order
from nilometer.operators.validation import require, require_columns
from nilometer.operators.waiting import Waiting
from nilometer.types import INT, INT_MINIMUM, Schema, Type

_RIGHT_TIME = "@right_time"
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

    def __post_init__(self) -> None:
        require(self.within is None or self.within >= 0, "ASOF JOIN within a negative time")
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
    """The left tuples that wait, and the right tuples that may still be somebody's latest."""

    def __init__(self, spec: AsofJoin) -> None:
        self._within = spec.within
        self._names = [f"@key{number}" for number in range(len(spec.keys))]
        self._left_keys = [compile_expression(left_key) for left_key, _ in spec.keys]
        self._right_keys = [compile_expression(right_key) for _, right_key in spec.keys]
        self._columns = frames.stream_dtypes(spec.schema, spec.id_type)
        self._left = Waiting(frames.stream_dtypes(spec.left, spec.left_id_type), gate=TIME)
        self._visible = list(spec.right.names)
        key_types = {name: _key_dtype(pair) for name, pair in zip(self._names, spec.keys, strict=True)}
        right = frames.stream_dtypes(spec.right, spec.right_id_type)
        self._right_input = right
        self._right_columns = right | key_types
        self._right: list[pl.DataFrame] = []

    def update(self, port: int, rows: pl.DataFrame) -> None:
        if port == 0:
            self._left.add(rows)
        elif rows.height:
            rows = frames.conform(rows, self._right_input)
            keyed = rows.with_columns(
                key(rows).alias(name) for name, key in zip(self._names, self._right_keys, strict=True)
            )
            self._right.append(keyed.drop_nulls(self._names) if self._names else keyed)

    def advance(self, progress: Progress) -> Output:
        left = self._left.release(progress.watermark)
        # An as-of search gives the last row of those not later: so equal times are in order too.
        right = stream_order(frames.concatenate(self._right, self._right_columns), self._visible)
        joined = self._join(left, right) if left.height else frames.empty(self._columns)
        self._right = [self._needed(right, progress.watermark)]
        return Output(joined, no_evaluations())

    def _join(self, left: pl.DataFrame, right: pl.DataFrame) -> pl.DataFrame:
        left = left.sort(TIME, maintain_order=True)
        probes = left.select(TIME).with_columns(
            key(left).alias(name) for name, key in zip(self._names, self._left_keys, strict=True)
        )
        targets = right.select(
            TIME, *self._names, pl.col(TIME).alias(_RIGHT_TIME), pl.int_range(pl.len()).alias(_ROW)
        )
        if self._names:
            codes = targets.select(*self._names).unique(maintain_order=True).with_row_index(_CODE)
            probes = probes.join(codes, on=self._names, how="left", maintain_order="left")
            targets = targets.join(codes, on=self._names, how="left", maintain_order="left")
            probes = probes.with_columns(pl.col(_CODE).fill_null(codes.height))
        found = probes.join_asof(
            targets.select(TIME, _RIGHT_TIME, _ROW, *([_CODE] if self._names else [])),
            on=TIME,
            by=_CODE if self._names else None,
            strategy="backward",
            check_sortedness=False,
        )
        row = pl.col(_ROW)
        if self._within is not None:
            row = pl.when(pl.col(TIME) - pl.col(_RIGHT_TIME) <= self._within).then(row)
        places = found.select(row).to_series()
        rows = left.hstack(gather(right.select(self._visible), places)).with_columns(pl.col(TIME).alias(TICK))
        return rows.select(*self._columns)

    def _needed(self, right: pl.DataFrame, watermark: int) -> pl.DataFrame:
        """Those that a left tuple at or beyond the watermark may find."""
        if self._within is not None:
            right = right.filter(pl.col(TIME) >= max(watermark - self._within, INT_MINIMUM))
        passed = right.filter(pl.col(TIME) < watermark)
        if self._names:
            passed = passed.unique(self._names, keep="last", maintain_order=True)
        else:
            passed = passed.tail(1)
        return pl.concat([passed, right.filter(pl.col(TIME) >= watermark)], rechunk=True)

    def snapshot(self) -> dict[str, bytes]:
        right = frames.concatenate(self._right, self._right_columns)
        return {"left": self._left.to_bytes(), "right": frames.to_bytes(right)}

    def restore(self, panes: dict[str, bytes]) -> None:
        self._left.from_bytes(panes["left"])
        self._right = [frames.from_bytes(panes["right"])]


def _key_dtype(pair: tuple[Expression, Expression]) -> pl.DataType:
    return frames.dtype(type_of(pair[1]))
