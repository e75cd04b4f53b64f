"""One sensor whose clock is ahead makes no other sensor's readings late."""

from __future__ import annotations

from pathlib import Path

import pytest

from ingest.manager.streams import Reading, result
from nilometer.dataflow.door import Door
from nilometer.dataflow.sources import Batch
from nilometer.engine import connect
from nilometer.ingest.manager import Entrance
from nilometer.ingest.manager.order import Order
from nilometer.log import StreamLog
from nilometer.log.local_files import LocalFiles
from nilometer.types import MILLISECOND, SECOND

NOW = 1_000_000 * SECOND


def declared(options: str, folder: Path) -> Entrance:
    database = connect()
    database.execute(f"CREATE STREAM river (depth FLOAT) PUSHED {options}")
    (stream,) = database.catalog.streams()
    return Entrance(stream, StreamLog(LocalFiles(folder), stream))


@pytest.mark.promise("one-clock-ahead")
@pytest.mark.parametrize(
    ("options", "ahead", "future", "late"),
    [
        ("DELAY 5 SECONDS", 58 * SECOND, 501, 0),
        ("DELAY 5 SECONDS FUTURE 1 MINUTE", 58 * SECOND, 0, 2_970),  # the default before
        ("DELAY 5 SECONDS", 2_400 * MILLISECOND, 0, 0),
        ("DELAY 5 SECONDS", 2_600 * MILLISECOND, 501, 0),
        ("DELAY 10 MINUTES", 58 * SECOND, 0, 0),
    ],
)
def test_one_sensor_ahead(options: str, ahead: int, future: int, late: int, tmp_path: Path) -> None:
    """3,471 readings: 501 of the sensor that is ahead, and 2,970 of six others, each two seconds on its way."""
    entrance = declared(options, tmp_path)
    order = Order(entrance.stream)
    for second in range(501):
        now = NOW + second * SECOND
        readings: list[Reading] = [(now + ahead, 0, 1.0)]
        readings += [(now - 2 * SECOND, n, 1.0) for n in range(1, 7)] if second > 5 else []
        batch = entrance.admit(result(readings, arrived=now))
        if batch is not None:
            order.check(batch)
    assert entrance.ledger.as_dict() == {
        "received": 3_471,
        "appended": 3_471 - future,
        "garbled": 0,
        "future": future,
        "duplicate": 0,
        "shed": 0,
    }
    assert order.late == late
    entrance.log.flush()
    door = Door(entrance.stream)
    for entry in entrance.log.read():
        batch = entry.entry()
        assert isinstance(batch, Batch)
        door.admit_batch(batch)
    assert door.ledger.late == late
    entrance.log.close()


def test_a_shorter_future_changes_nothing_that_is_in_the_log(tmp_path: Path) -> None:
    """The entrance judges once. An older log may hold readings that are further ahead than is allowed now."""
    before = declared("DELAY 5 SECONDS FUTURE 1 MINUTE", tmp_path / "before")
    before.admit(result([(NOW + 58 * SECOND, 0, 1.0), (NOW + 60 * SECOND, 1, 1.0)], arrived=NOW))
    before.log.flush()
    door = Door(declared("DELAY 5 SECONDS", tmp_path / "now").stream)
    (entry,) = before.log.read()
    batch = entry.entry()
    assert isinstance(batch, Batch)
    assert door.admit_batch(batch).height == 2
    assert door.ledger.future == 0
    before.log.close()
