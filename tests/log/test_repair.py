"""Repair keeps what can be read, moves damaged files aside, puts the loss on record, and uses no position twice."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest

from log.logs import frame, open_log
from log.test_damage import flip, written
from nilometer.errors import DataError
from nilometer.log import StreamLog
from nilometer.log.manifest import FILE
from nilometer.log.record import RecordKind, records_in
from nilometer.log.segment import INDEX, SEGMENT, Damage, SegmentId, allow_gaps


def in_the_middle(folder: Path) -> None:
    """A flipped bit in the rows of an old segment."""
    file = sorted(folder.glob("*" + SEGMENT))[1]
    rows = next(h for h in records_in(pa.py_buffer(file.read_bytes())) if h.kind == RecordKind.ROWS)
    flip(file, 8 * (rows.start + 150))


def in_the_head(folder: Path) -> None:
    """A segment without its schema."""
    flip(sorted(folder.glob("*" + SEGMENT))[1], 8 * 140)


def of_an_index(folder: Path) -> None:
    flip(sorted(folder.glob("*" + INDEX))[1], 8 * 60)


def no_segment(folder: Path) -> None:
    sorted(folder.glob("*" + SEGMENT))[1].unlink()


def no_first_segment(folder: Path) -> None:
    sorted(folder.glob("*" + SEGMENT))[0].unlink()


def no_last_segment(folder: Path) -> None:
    sorted(folder.glob("*" + SEGMENT))[-1].unlink()


def of_the_manifest(folder: Path) -> None:
    flip(folder / FILE, 99)


def of_a_reader(folder: Path) -> None:
    flip(folder / "readers" / "r.json", 99)


def no_segments(folder: Path) -> None:
    for file in folder.glob("*" + SEGMENT):
        file.unlink()


HARMS = [
    in_the_middle,
    in_the_head,
    of_an_index,
    no_segment,
    no_first_segment,
    no_last_segment,
    of_the_manifest,
    of_a_reader,
    no_segments,
]


@pytest.mark.parametrize("harm", HARMS)
def test_a_repaired_log_is_read_and_goes_on(memory: Path, harm: Callable[[Path], None]) -> None:
    log = written(memory, 12, segment_bytes=4_000)
    was = {file.name: file.read_bytes() for file in memory.iterdir() if file.is_file()}
    end = log.end
    assert not log.repair(), "an intact log is left alone"
    assert {file.name: file.read_bytes() for file in memory.iterdir() if file.is_file()} == was
    harm(memory)
    assert log.verify().damages
    done = log.repair()
    assert done
    kept = sum(f.height for f in log.scan())
    assert kept + done.rows in (60, end.position), done
    assert sum(e.rows.height for e in log.read() if e.rows is not None) == kept
    assert not log.verify().damages
    assert not log.repair(), "once is enough"
    for name in done.moved:
        assert (memory / name).exists()
    log = open_log(memory, segment_bytes=1_500)
    token = log.append(frame(30, 5))
    assert token.position == end.position, "no position is used twice"
    log.close()
    assert sum(f.height for f in log.scan()) == kept + 5
    assert not log.verify().damages


def test_a_damaged_record_takes_only_its_own_rows_along(memory: Path) -> None:
    log = written(memory, 12, segment_bytes=4_000)
    in_the_middle(memory)
    with pytest.raises(DataError, match="damaged"):
        list(log.scan())
    done = log.repair()
    assert done.rows == 5
    assert [loss.why for loss in done.lost] == ["a record fails its checksum"]
    positions = [p for f in log.scan(columns=["@position"]) for p in f["@position"]]
    lost = range(done.lost[0].start.position, done.lost[0].end.position)
    assert positions == [p for p in range(60) if p not in lost]


@pytest.mark.promise("repaired-end")
def test_a_lost_end_goes_on_after_what_was_committed(memory: Path) -> None:
    log = open_log(memory, segment_bytes=1 << 20)
    log.append(frame(0, 20))
    log.append(frame(20, 20))
    log.abandon()
    file = next(memory.glob("*" + SEGMENT))
    file.write_bytes(file.read_bytes()[:-500])
    known = {"query 'q'": SegmentId(2, 40)}
    log = StreamLog(memory, committed=lambda: known)
    with pytest.raises(
        DataError, match=r"ends at position 20 \(entry 1\), and query 'q' stands at position 40"
    ):
        log.append(frame(40, 5))
    assert "lost its end" in log.verify().damages[-1].what
    done = log.repair()
    assert [str(loss) for loss in done.lost] == ["positions 20 up to 40 (20 readings)"]
    assert log.end.position == 40
    assert log.append(frame(40, 5)).position == 40
    log.close()
    assert not log.verify().damages
    cursor = log.cursor(log.start)
    assert [e.position for e in cursor] == [0, 40]
    assert cursor.lost == 20


@pytest.mark.promise("allowed-gaps")
def test_gaps_are_allowed_if_somebody_is_told(memory: Path) -> None:
    log = written(memory, 12, segment_bytes=4_000)
    no_segment(memory)
    told: list[Damage] = []
    kept = sum(f.height for f in log.scan(on_damage=allow_gaps(told.append)))
    assert kept < 60
    assert "are missing before this segment" in told[0].what
    in_the_middle(memory)
    with pytest.raises(DataError, match="damaged"):
        list(log.scan(on_damage=allow_gaps(told.append)))
