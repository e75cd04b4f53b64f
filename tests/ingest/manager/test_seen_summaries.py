"""Summaries at the entrance: appended once, also after a restart; late ones and those from the future are accounted for."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from nilometer.algebra.summary import FROM, OF, READINGS
from nilometer.catalog.extents import Stream, stream_columns
from nilometer.dataflow.door import Door
from nilometer.dataflow.sources import Batch, Summaries, summary_dtypes
from nilometer.ingest.adapters.adapter import ReadResult, Status
from nilometer.ingest.manager.entrance import Entrance
from nilometer.ingest.manager.seen_summaries import SeenSummaries
from nilometer.log import StreamLog
from nilometer.log.verify import verify
from nilometer.operators.frames import dtypes, empty
from nilometer.types import FLOAT, SECOND, Column, Schema

STREAM = Stream(
    "air", stream_columns((Column("x", FLOAT),)), url="mqtt://host/air/{id}", key=("id", "time"), delay=SECOND
)
NOTHING = empty(dtypes(Schema(STREAM.columns)))


def summaries(*spans: tuple[int, int, int]) -> pl.DataFrame:
    """(sensor, from, time) in seconds, of ten readings each."""
    rows = [
        {
            "id": sensor,
            FROM: begin * SECOND,
            "time": end * SECOND,
            OF: "a",
            READINGS: 10,
            "x#count": 10,
            "x#sum": 5.0,
        }
        for sensor, begin, end in spans
    ]
    return pl.DataFrame(rows, schema=summary_dtypes(STREAM))


def result(frame: pl.DataFrame, arrived: int | None = None) -> ReadResult:
    return ReadResult(Status.NEW_VALUE, NOTHING, arrived=arrived, summaries=frame)


def test_a_doubled_summary_counts_once_also_after_a_restart(tmp_path: Path) -> None:
    log = StreamLog(tmp_path, STREAM)
    entrance = Entrance(STREAM, log)
    assert isinstance(entrance.admit(result(summaries((1, 0, 10), (2, 0, 10), (1, 0, 10)))), Summaries)
    assert entrance.admit(result(summaries((1, 0, 10)))) is None
    assert (entrance.ledger.appended, entrance.ledger.duplicate, entrance.ledger.balanced) == (20, 20, True)
    log.close()
    log = StreamLog(tmp_path, STREAM)
    entrance = Entrance(STREAM, log)
    entrance.admit(result(summaries((2, 0, 10), (2, 10, 20))))
    assert (entrance.ledger.appended, entrance.ledger.duplicate, entrance.ledger.balanced) == (30, 30, True)
    assert log.end.position == 0  # readings have positions, summaries have none
    assert [entry.rows.height for entry in log.entries() if isinstance(entry, Summaries)] == [2, 1]
    log.close()
    assert not verify(log.files).damages


def test_a_summary_from_the_future_is_a_dead_letter(tmp_path: Path) -> None:
    log = StreamLog(tmp_path, STREAM)
    entrance = Entrance(STREAM, log)
    entrance.admit(result(summaries((1, 0, 10), (1, 10, 100_000)), arrived=10 * SECOND))
    assert (entrance.ledger.appended, entrance.ledger.future, entrance.ledger.balanced) == (10, 10, True)
    log.close()


def test_memory_is_bounded_and_what_it_forgot_is_refused(tmp_path: Path) -> None:
    log = StreamLog(tmp_path, STREAM)
    seen = SeenSummaries(STREAM, log, limit=10)
    for number in range(100):
        frame = summaries((1, number, number + 1))
        assert seen.fresh(frame).height == 1
        seen.remember(frame)
    assert seen.fresh(summaries((1, 99, 100))).height == 0
    assert seen.fresh(summaries((1, 3, 4), (2, 3, 4))).height == 0
    assert seen.fresh(summaries((1, 100, 101))).height == 1


def test_the_door_takes_a_summary_as_a_whole_or_not_at_all() -> None:
    door = Door(STREAM)
    door.admit_batch(Batch(pl.DataFrame({"time": [2 * SECOND], "id": [1], "x": [1.0]})))
    found = door.admit_summaries(Summaries(summaries((1, 2, 10), (1, 1, 10), (2, 2, 10))))
    # The second began before the first reading that came; of sensor 2 nothing has come.
    assert found.get_column("@whole").to_list() == [True, False, False]
    assert door.watermark == 9 * SECOND
    late = door.admit_summaries(Summaries(summaries((1, 7, 8), (1, 10, 12))))
    assert late.height == 1
    assert (door.ledger.late, door.ledger.balanced) == (10, True)
    again = Door(STREAM)
    again.restore(door.snapshot())
    assert again.admit_summaries(Summaries(summaries((1, 12, 20)))).get_column("@whole").to_list() == [True]
