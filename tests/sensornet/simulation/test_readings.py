"""What motes sense of a log: one reading at each tick, whatever the interval at which it was recorded."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl
import pytest

from nilometer.engine import connect
from nilometer.sensornet.simulation import RecordedReadings
from nilometer.types import MINUTE
from sensornet.simulation.running import SCHEMA

BEGIN = 1_772_323_200_000_000  # 2026-03-01, no multiple of seven minutes


@pytest.mark.parametrize("every", [5, 7, 15, 30, 40])
def test_one_reading_at_each_tick(every: int) -> None:
    database = connect()
    database.execute(SCHEMA)
    stream = replace(database.catalog.stream("River"), every=every * MINUTE)
    recorded = [(minute, site) for minute in range(0, 240, 15) for site in (1, 2)]
    log = pl.DataFrame(
        {
            "id": [site for _, site in recorded],
            "time": [BEGIN + minute * MINUTE for minute, _ in recorded],
            "rain": [0 for _ in recorded],
            "depth": [minute for minute, _ in recorded],
        }
    )
    minutes = range(0, 240, every)
    ticks = BEGIN + np.array(minutes, dtype=np.int64) * MINUTE
    found = RecordedReadings({"river": log}).read(stream, [2, 1], ticks)
    expected = [
        (tick, site, min(minute for minute in range(0, 240, 15) if tick <= minute < tick + every))
        for tick in minutes
        if any(tick <= minute < tick + every for minute in range(0, 240, 15))
        for site in (2, 1)
    ]
    times = ((found["time"] - BEGIN) // MINUTE).to_list()
    assert list(zip(times, found["id"], found["depth"], strict=True)) == expected
