"""Packets survive their way as bytes, and the ticks that all buckets are told are small."""

from __future__ import annotations

import polars as pl
import pytest

from nilometer.operators.frames import evaluations
from nilometer.operators.logic import EVALUATION, TICK
from nilometer.spark.layout import Clock
from nilometer.spark.packing import Packet, unpack

CLOCK = Clock(7, {"air": 1})
LISTED = {
    "of a time window": evaluations(pl.Series([-3, 0, 2**62])),
    "of a row window": pl.DataFrame({EVALUATION: [1, 2], TICK: [10, 10]}),
    "none": evaluations(pl.Series([], dtype=pl.Int64)),
}


@pytest.mark.parametrize("listed", LISTED.values(), ids=list(LISTED))
@pytest.mark.parametrize("rows", [None, pl.DataFrame({TICK: [1], "x": [0.5]})], ids=["no rows", "rows"])
def test_a_packet_comes_back(listed: pl.DataFrame, rows: pl.DataFrame | None) -> None:
    sent = Packet(0, 1, 2, (3, 4), CLOCK, rows, listed)
    came = unpack(sent.pack())
    assert (came.source, came.target, came.bucket, came.order, came.clock) == (0, 1, 2, (3, 4), CLOCK)
    assert came.evaluations is not None
    assert came.evaluations.equals(listed)
    assert (came.rows is None) if rows is None else came.rows is not None and came.rows.equals(rows)


def test_a_tick_takes_eight_bytes() -> None:
    def size(count: int) -> int:
        return len(Packet(0, 1, 2, (), CLOCK, None, evaluations(pl.Series(range(count)))).pack())

    assert size(1_000) - size(0) == 8_000
