"""Named readers keep their place, and retention keeps what they have not read."""

from __future__ import annotations

from pathlib import Path

import pytest
from polars.testing import assert_frame_equal

from log.logs import frame, open_log, rows_of
from nilometer.errors import ConfigurationError
from nilometer.log import Offset, StreamLog


def filled(folder: Path, batches: int = 10) -> StreamLog:
    """A segment to each batch of five rows, time = position."""
    log = open_log(folder, segment_bytes=1)
    for number in range(batches):
        log.append(frame(5 * number, 5))
    log.close()
    return log


def test_a_reader_goes_on_where_it_committed(tmp_path: Path) -> None:
    log = filled(tmp_path)
    reader = log.reader("spark")
    first = reader.read(12)
    assert [entry.rows.height for entry in first if entry.rows is not None] == [5, 5, 2]
    reader.commit(first[1].after)
    again = StreamLog(tmp_path).reader("spark")
    assert again.committed == Offset(2, 10)
    entries = again.read()
    assert entries[0].position == 10
    again.commit()
    assert log.readers() == {"spark": log.end}
    assert log.reader("spark").read() == []
    assert log.reader("late", start=log.end).read() == []
    with pytest.raises(ConfigurationError, match="cannot be the name"):
        log.reader("../etc")


def test_retention_by_age_and_by_the_slowest_reader(tmp_path: Path) -> None:
    log = filled(tmp_path)
    assert log.trim().segments == 0, "neither an age nor a reader"
    slow, fast = log.reader("slow"), log.reader("fast")
    slow.read(10)
    slow.commit()
    fast.read()
    fast.commit()
    done = log.trim(before=40)
    assert (done.segments, done.rows, done.held_by) == (2, 10, "slow")
    assert log.start == Offset(2, 10)
    assert_frame_equal(rows_of(log), frame(10, 40))
    assert log.trim(before=40).segments == 0
    done = log.trim(before=20, force=True)
    assert (done.segments, done.held_by) == (2, None)
    for reader in (slow, log.reader("slow")):
        assert reader.read(1)[0].position == 20
        assert reader.skipped == 10
    log.forget_reader("slow")
    assert log.trim().segments == 5, "all but the last, which every reader has read"
    assert not log.verify().damages
    log.append(frame(50, 5))
    assert_frame_equal(rows_of(log), frame(45, 10))
    log.close()


def test_a_segment_is_old_when_its_newest_row_is(tmp_path: Path) -> None:
    log = filled(tmp_path, 3)
    assert log.trim(before=4).segments == 0
    assert log.trim(before=5).segments == 1
    assert log.trim(before=1_000_000).segments == 1, "the last one stays: it knows the positions"
    assert log.end == Offset(3, 15)


def test_scan_by_time(tmp_path: Path) -> None:
    log = filled(tmp_path)
    found = list(log.scan(time_range=(12, 21), columns=["v", "@position"]))
    assert [p for f in found for p in f["@position"]] == list(range(12, 21))
    assert [f.columns for f in found] == [["v", "@position"]] * 3
    assert sum(f.height for f in log.scan(time_range=(None, 7))) == 7
    assert sum(f.height for f in log.scan(20, time_range=(None, 30))) == 10


def test_segments_by_the_span_of_their_times(tmp_path: Path) -> None:
    log = open_log(tmp_path, segment_bytes=1 << 20, segment_span=10, least_bytes=1)
    for number in range(10):
        log.append(frame(4 * number, 4))
    log.close()
    assert [info.index.rows for info in log.segments()] == [12, 12, 12, 4]


def test_a_reader_follows_the_writer(tmp_path: Path) -> None:
    log = open_log(tmp_path, segment_bytes=1_200)
    reader = StreamLog(tmp_path).reader("r")
    seen = 0
    for number in range(12):
        log.append(frame(3 * number, 3))
        if number % 4 == 3:
            log.close()
        if number % 3 == 1:
            for entry in reader.read():
                assert entry.rows is not None
                assert_frame_equal(entry.rows, frame(seen, entry.rows.height))
                seen += entry.rows.height
            assert seen == 3 * number + 3
    log.close()
