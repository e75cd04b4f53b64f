"""FUTURE is judged once, at the entrance: a shorter one that is declared later changes no answer of any host."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from ingest.manager.streams import result
from live.test_key_declared_later import on_spark
from nilometer.catalog.extents import Stream
from nilometer.dataflow.door import Door
from nilometer.dataflow.sources import Batch
from nilometer.engine import Database, connect
from nilometer.ingest.manager import Entrance
from nilometer.log import LogDirectory
from nilometer.types import SECOND

NOW = 1_000_000 * SECOND


def declared(options: str) -> tuple[Database, Stream]:
    database = connect()
    database.execute(f"CREATE STREAM air (number FLOAT) PUSHED DELAY 5 SECONDS {options}")
    return database, database.catalog.stream("air")


def test_readings_further_ahead_than_is_allowed_now_stay_readings(tmp_path: Path) -> None:
    _, before = declared("FUTURE 1 MINUTE")
    times = [NOW + 58 * SECOND, NOW, NOW + 57 * SECOND]  # the second is late
    with LogDirectory(tmp_path).log(before) as log:
        readings = result([(time, 1, 0.5) for time in times], arrived=NOW)
        renamed = replace(readings, rows=readings.rows.rename({"depth": "number"}))
        Entrance(before, log).admit(renamed)
    database, now = declared("")
    assert now.future < 57 * SECOND
    door = Door(now)
    with LogDirectory(tmp_path).log(now) as log:
        (batch,) = (entry.entry() for entry in log.read())
    assert isinstance(batch, Batch)
    on_the_gateway = door.admit_batch(batch).select("time", "id", "number").rows()
    assert [row[0] for row in on_the_gateway] == [times[0], times[2]]
    assert (door.ledger.received, door.ledger.late, door.ledger.future) == (3, 1, 0)
    assert on_spark(database, tmp_path, limit=2, tasks=1) == on_the_gateway
