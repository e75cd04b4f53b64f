"""SAMPLE EVERY d: a stream -> per source the first tuple, by (time, position), of each interval of d (Fjords
section 3).

Intervals are floor(time / d) since the epoch. A tuple waits until its tick is complete. The state is the
waiting tuples, and the intervals already sampled into which later tuples may still fall.

>>> from nilometer.types import Column
>>> river = Schema((Column("depth", INT),))
>>> logic = Sample(river, every=10).build()
>>> rows = [(3, 3, 1, 0, 70), (7, 7, 1, 1, 71), (12, 12, 1, 2, 72)]  # tick, time, id, position, depth
>>> logic.update(0, pl.DataFrame(rows, frames.stream_dtypes(river), orient="row"))
>>> logic.advance(Progress(watermark=20)).rows.select(ID, TIME, "depth").rows()
[(1, 3, 70), (1, 12, 72)]
"""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from nilometer.operators import frames
from nilometer.operators.limits import operator
from nilometer.operators.logic import ID, TIME, Output, Progress, no_evaluations
from nilometer.operators.order import source_order
from nilometer.operators.validation import require
from nilometer.operators.waiting import Waiting
from nilometer.types import INT, Schema, Type

_INTERVAL = "@interval"


@dataclass(frozen=True)
class Sample:
    """The first tuple of each source in each interval of `every` microseconds."""

    schema: Schema
    every: int
    id_type: Type = INT

    def __post_init__(self) -> None:
        require(self.every > 0, "SAMPLE EVERY nothing")

    def build(self) -> SampleLogic:
        return SampleLogic(self)


class SampleLogic:
    """The waiting tuples, and the (source, interval) pairs already sampled."""

    def __init__(self, spec: Sample) -> None:
        self._every = spec.every
        self._columns = frames.stream_dtypes(spec.schema, spec.id_type)
        self._values = list(spec.schema.names)
        self._waiting = Waiting(self._columns)
        self._taken = frames.empty({ID: self._columns[ID], _INTERVAL: pl.Int64()})
        self._saved = frames.Saved()

    def update(self, port: int, rows: pl.DataFrame) -> None:  # noqa: ARG002 - one port
        self._waiting.add(rows)

    @operator("SAMPLE")
    def advance(self, progress: Progress) -> Output:
        key = [ID, _INTERVAL]
        ordered = source_order(self._waiting.release(progress.watermark), self._values)
        first = (
            ordered.with_columns((pl.col(TIME) // self._every).alias(_INTERVAL))
            .unique(key, keep="first", maintain_order=True)
            .join(self._taken, on=key, how="anti", nulls_equal=True, maintain_order="left")
        )
        # Later tuples have time >= tick >= watermark: an interval that ends by then is complete.
        open_ = pl.col(_INTERVAL) >= progress.watermark // self._every
        taken = pl.concat([self._taken.filter(open_), first.select(key).filter(open_)])
        if first.height or taken.height < self._taken.height:
            self._taken = taken
        return Output(first.select(*self._columns), no_evaluations())

    def snapshot(self) -> dict[str, bytes]:
        return self._waiting.snapshot("waiting") | {"taken": self._saved(self._taken)}

    def restore(self, panes: dict[str, bytes]) -> None:
        self._waiting.restore("waiting", panes)
        self._taken = self._saved.load(panes["taken"])
