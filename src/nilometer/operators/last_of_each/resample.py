"""RESAMPLE: a stream -> a row of each source at every multiple of an interval (algebra/table_functions).

NULL and PREVIOUS show the last tuple at or before the multiple, once the watermark has passed it. LINEAR shows
the straight line between two tuples, when the second has come. The state is the last tuple of each source, and
the tuples beyond the watermark.

>>> from nilometer.types import Column
>>> river = Schema((Column("R.depth", INT),))
>>> logic = Resample(river, ("R.depth",), 5, "FILL LINEAR", "Q").build()
>>> rows = [(0, 0, 1, 0, 40), (12, 12, 1, 1, 52)]  # tick, time, id, position, depth
>>> logic.update(0, pl.DataFrame(rows, frames.stream_dtypes(river), orient="row"))
>>> logic.advance(Progress(watermark=13, first_tick=0)).rows.select(TICK, "^Q[.].*$").rows()
[(0, 0, 1, 40.0), (12, 5, 1, 45.0), (12, 10, 1, 50.0)]
"""

from __future__ import annotations

import json
from dataclasses import dataclass

import numpy as np
import polars as pl

from nilometer.algebra.table_function import FunctionCall
from nilometer.algebra.table_functions import RESAMPLE
from nilometer.algebra.table_functions.resample import LINEAR, NULLS, PREVIOUS
from nilometer.kernels.ranges import multiples
from nilometer.operators import frames
from nilometer.operators.last_of_each.moments import MOMENT, last_at, still_needed
from nilometer.operators.limits import check_built, check_kept, operator
from nilometer.operators.logic import ID, POSITION, TICK, TIME, Output, Progress, no_evaluations
from nilometer.operators.order import source_order
from nilometer.operators.validation import require
from nilometer.operators.waiting import Waiting
from nilometer.types import INT, INT_MINIMUM, Schema, Type, ceil_to


@dataclass(frozen=True)
class Resample:
    """Rows at every multiple of `every` microseconds, with these columns of the input."""

    input: Schema
    columns: tuple[str, ...]
    every: int
    fill: str
    alias: str
    id_type: Type = INT
    within: int | None = None

    def __post_init__(self) -> None:
        require(self.every > 0, "RESAMPLE EVERY nothing")
        require(self.fill in (LINEAR, NULLS, PREVIOUS), f"RESAMPLE {self.fill}")
        require(set(self.columns) <= set(self.input.names), "RESAMPLE of columns that are not there")

    @classmethod
    def of(cls, call: FunctionCall, input: Schema) -> Resample:
        """Returns the operator of a call."""
        every, within = call["EVERY"], call["WITHIN"]
        assert isinstance(every, int)
        longest = within if isinstance(within, int) else None
        return cls(input, call.columns, every, str(call["FILL"]), call.alias, call.id_type.plain, longest)

    @property
    def schema(self) -> Schema:
        """`alias.time`, `alias.id` and the columns."""
        options = (("EVERY", self.every), ("FILL", self.fill))
        return FunctionCall(RESAMPLE, self.alias, self.id_type, self.columns, options).schema(self.input)

    def build(self) -> ResampleLogic:
        return ResampleLogic(self)


class ResampleLogic:
    """The tuples that wait, the last tuple of each source, and the next multiple."""

    def __init__(self, spec: Resample) -> None:
        self._spec = spec
        self._visible = list(spec.input.names)
        self._output = frames.stream_dtypes(spec.schema, spec.id_type)
        self._input = frames.stream_dtypes(spec.input, spec.id_type)
        self._waiting = Waiting(self._input, gate=TIME)
        self._rows = frames.empty(self._input)
        self._next: int | None = None
        self._saved = frames.Saved()

    def update(self, port: int, rows: pl.DataFrame) -> None:  # noqa: ARG002 - one port
        self._waiting.add(rows.drop_nulls(ID))

    @operator("RESAMPLE")
    def advance(self, progress: Progress) -> Output:
        new = self._waiting.release(progress.watermark)
        if new.height:
            # Of several tuples of a source at one time, the last one counts.
            new = source_order(new, self._visible).unique([ID, TIME], keep="last", maintain_order=True)
        rows = frames.concatenate([self._rows, new], self._input)
        if not rows.height:
            return Output(frames.empty(self._output), no_evaluations())
        if self._spec.fill == LINEAR:
            shown = self._on_lines(rows, new.height)
            if new.height:
                self._rows = self._young(
                    rows.unique(ID, keep="last", maintain_order=True), progress.watermark
                )
        else:
            shown = self._held(rows, progress.watermark)
        check_kept(self._rows.height)
        return Output(shown, no_evaluations())

    def _held(self, rows: pl.DataFrame, watermark: int) -> pl.DataFrame:
        """The last tuples at the multiples below the watermark."""
        every = self._spec.every
        if self._next is None:
            self._next = ceil_to(int(rows[TIME].min()), every)  # type: ignore[arg-type]
        count = -(-watermark // every) - self._next // every
        if count <= 0:
            self._rows = still_needed(rows, TIME, self._next)
            return frames.empty(self._output)
        within, limit = self._spec.within, watermark
        if within is not None:
            limit = min(limit, int(rows[TIME].max()) + within + 1)  # type: ignore[arg-type]
        check_built(float(min(count, (limit - self._next) // every)), len(self._output))
        found = last_at(rows, TIME, pl.Series(multiples(every, self._next, limit), dtype=pl.Int64))
        if within is not None:
            found = found.filter(pl.col(MOMENT) - pl.col(TIME) <= within)
        self._next += count * every
        self._rows = self._young(still_needed(rows, TIME, self._next), self._next)
        values: list[pl.Expr] = [pl.col(name) for name in self._spec.columns]
        if self._spec.fill == NULLS:
            young = pl.col(TIME) > pl.col(MOMENT) - every
            values = [pl.when(young).then(value) for value in values]
        return self._as_rows(found, pl.col(MOMENT), pl.col(MOMENT), values)

    def _young(self, rows: pl.DataFrame, since: int) -> pl.DataFrame:
        """The rows that are not too old to be shown from `since` on."""
        if self._spec.within is None:
            return rows
        return rows.filter(pl.col(TIME) >= max(since - self._spec.within, INT_MINIMUM))

    def _on_lines(self, rows: pl.DataFrame, new: int) -> pl.DataFrame:
        """The multiples between each new tuple and the one of its source before it."""
        every = self._spec.every
        fresh = pl.int_range(pl.len(), dtype=pl.Int64) >= pl.len() - new
        earlier = [
            pl.col(name).shift().over(ID).alias(f"@before{n}") for n, name in enumerate(self._spec.columns)
        ]
        pairs = rows.with_columns(pl.col(TIME).shift().over(ID).alias("@since"), *earlier).filter(fresh)
        if self._spec.within is not None:
            near = pl.col(TIME) - pl.col("@since") <= self._spec.within
            pairs = pairs.with_columns(pl.when(near).then(pl.col("@since")).alias("@since"))
        since = pl.col("@since").fill_null(pl.col(TIME) - 1)
        first = since.floordiv(every) + 1
        pairs = pairs.with_columns(
            first.alias("@first"), (pl.col(TIME).floordiv(every) - first + 1).alias("@count")
        ).filter(pl.col("@count") > 0)
        counts = pairs["@count"].to_numpy()
        total = int(counts.sum())
        check_built(float(total), len(self._output))
        if not total:
            return frames.empty(self._output)
        place = np.repeat(np.arange(len(counts), dtype=np.int64), counts)
        inside = np.arange(total, dtype=np.int64) - np.repeat(np.cumsum(counts) - counts, counts)
        spread = pairs[pl.Series(place)].with_columns(
            ((pl.col("@first") + pl.Series(inside)) * every).alias(MOMENT)
        )
        share = (pl.col(MOMENT) - pl.col("@since")) / (pl.col(TIME) - pl.col("@since"))
        values: list[pl.Expr] = []
        for number, name in enumerate(self._spec.columns):
            before, behind = pl.col(f"@before{number}").cast(pl.Float64), pl.col(name).cast(pl.Float64)
            line = pl.when(share == 1.0).then(behind).otherwise(before + (behind - before) * share)
            value = pl.when(pl.col("@since").is_null()).then(behind).otherwise(line)
            values.append(pl.when(value.is_finite()).then(value))
        return self._as_rows(spread, pl.col(TIME), pl.col(MOMENT), values)

    def _as_rows(
        self, found: pl.DataFrame, tick: pl.Expr, moment: pl.Expr, values: list[pl.Expr]
    ) -> pl.DataFrame:
        time, id_, *others = self._spec.schema.names
        rows = found.select(
            tick.alias(TICK),
            tick.alias(TIME),
            pl.col(ID),
            pl.lit(None, dtype=pl.Int64).alias(POSITION),
            moment.alias(time),
            pl.col(ID).alias(id_),
            *(value.alias(other) for value, other in zip(values, others, strict=True)),
        )
        return frames.conform(rows.sort(TICK, ID, time, maintain_order=True), self._output)

    def snapshot(self) -> dict[str, bytes]:
        meta = {"meta": json.dumps({"next": self._next}).encode()}
        return self._waiting.snapshot("waiting") | {"rows": self._saved(self._rows)} | meta

    def restore(self, panes: dict[str, bytes]) -> None:
        self._waiting.restore("waiting", panes)
        self._rows = self._saved.load(panes["rows"])
        self._next = json.loads(panes["meta"])["next"]
