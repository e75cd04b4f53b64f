"""The same log on a pyarrow filesystem: whole objects, parts, no flock."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from polars.testing import assert_frame_equal
from pyarrow import fs

from log.logs import COLUMNS, CrashError, FailAt, frame, no_space, rows_of, scratch, small
from nilometer.errors import ResourceError
from nilometer.log import LogDirectory, StreamLog
from nilometer.log.arrow_files import PART, ArrowFiles


def on_arrow(folder: str, failpoint: FailAt | None = None, **options: object) -> StreamLog:
    """A log on pyarrow's own local filesystem."""
    place = fs.LocalFileSystem(), folder
    files = ArrowFiles(*place, failpoint) if failpoint is not None else ArrowFiles(*place)
    return StreamLog(files, COLUMNS, small(**options), clock=lambda: 0.0)


def test_parts_become_objects(tmp_path: Path) -> None:
    log = on_arrow(str(tmp_path), segment_bytes=2_000)
    reader = log.reader("r")
    for number in range(6):
        log.append(frame(4 * number, 4), producer="p", sequence=number)
        log.heartbeat(number)
        if number % 2:
            log.flush()
            assert sum(e.rows.height for e in reader.read() if e.rows is not None) == 8
    assert_frame_equal(rows_of(log), frame(0, 24))
    log.close()
    assert not [file for file in tmp_path.iterdir() if PART in file.name], "sealed segments are one object"
    assert not log.verify().damages
    again = on_arrow(str(tmp_path))
    assert again.append(frame(0, 4), producer="p", sequence=3).duplicate
    again.append(frame(24, 4))
    again.close()
    # A log of the local disk is the same files.
    assert_frame_equal(rows_of(StreamLog(tmp_path)), frame(0, 28))
    segments = len(log.segments())
    assert again.trim(before=1_000, force=True).segments == segments - 1
    assert_frame_equal(rows_of(again), frame(again.start.position, 28 - again.start.position))


@pytest.mark.parametrize("segment_bytes", [900, 50_000])
def test_a_crash_at_every_failpoint(segment_bytes: int) -> None:
    at, done = 0, False
    while not done:
        at += 1
        with scratch() as folder:
            log = on_arrow(folder, FailAt(CrashError, at), segment_bytes=segment_bytes, fsync="always")
            returned = 0
            try:
                for number in range(4):
                    log.append(frame(4 * number, 4), producer="p", sequence=number)
                    returned = 4 * number + 4
                log.close()
                done = True
            except CrashError:
                pass
            # This process lives on, but the one that held the lock is dead.
            lock = Path(folder, "writer.lock")
            if lock.exists():
                lock.write_text(json.dumps(json.loads(lock.read_text()) | {"process": 2**22 + 1}))
            log = on_arrow(folder, segment_bytes=segment_bytes)
            assert log.writer.end.position in (returned, returned + 4)
            for number in range(4):
                log.append(frame(4 * number, 4), producer="p", sequence=number)
            log.close()
            assert_frame_equal(rows_of(log), frame(0, 16))
            assert not log.verify().damages


def test_no_space_and_one_writer(tmp_path: Path) -> None:
    log = on_arrow(str(tmp_path), FailAt(no_space, 2, "before_fsync"), fsync="always")
    log.append(frame(0, 4))
    with pytest.raises(ResourceError, match="full"):
        log.append(frame(90, 4))
    log.append(frame(4, 4))
    assert_frame_equal(rows_of(log), frame(0, 8))
    with pytest.raises(ResourceError, match=f"written by process {os.getpid()}"):
        _ = on_arrow(str(tmp_path)).writer
    log.close()
    on_arrow(str(tmp_path)).writer.close()


def test_a_directory_of_logs_by_url(tmp_path: Path) -> None:
    logs = LogDirectory(f"file://{tmp_path}")
    with logs.log("river", COLUMNS) as log:
        log.append(frame(0, 3))
    assert logs.streams() == ["river"]
    assert_frame_equal(rows_of(logs.existing("River")), frame(0, 3))
    with pytest.raises(ResourceError, match="cannot be opened"):
        LogDirectory("gopher://nowhere/field")
