"""What the tests of the manager share: streams, readings, a clock turned by hand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import polars as pl

from nilometer.catalog.extents import Stream, stream_columns
from nilometer.edge.adapters import ReadResult, Status
from nilometer.operators.frames import dtypes
from nilometer.types import FLOAT, SECOND, Column, Schema

PUSHED = Stream("river", stream_columns((Column("depth", FLOAT),)), url="test://river")
KEYED = replace(PUSHED, key=("id", "time"))
UNTIMED = replace(PUSHED, key=("depth",))
SENSED = replace(PUSHED, every=10 * SECOND)

Reading = tuple[int | None, int, float]
"""Time, id, depth."""


def frame(readings: Sequence[Reading]) -> pl.DataFrame:
    """Readings in the stream's columns."""
    return pl.DataFrame(list(readings), schema=dtypes(Schema(PUSHED.columns)), orient="row")


def result(readings: Sequence[Reading], **fields: object) -> ReadResult:
    """A read that brought them."""
    return replace(ReadResult(Status.NEW_VALUE, frame(readings)), **fields)


class Hand:
    """A clock turned by hand, in microseconds."""

    def __init__(self, now: int = 1_000_000 * SECOND) -> None:
        self.now = now

    def __call__(self) -> int:
        return self.now
