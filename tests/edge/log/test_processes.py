"""Real processes: a writer killed with kill -9 at each failpoint, readers beside a writer, one writer at a time."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from edge.log import kill_me
from nilometer.edge.log import StreamLog
from nilometer.edge.log.failpoints import FAILPOINTS, VARIABLE
from nilometer.errors import ResourceError

BATCHES = 12


def start(folder: Path, *arguments: object, failpoint: str | None = None) -> subprocess.Popen[str]:
    """A writer process."""
    environment = os.environ | {"POLARS_MAX_THREADS": "1"} | ({VARIABLE: failpoint} if failpoint else {})
    command = [sys.executable, kill_me.__file__, str(folder), *map(str, arguments)]
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)


def whole(batches: int) -> pl.DataFrame:
    """What so many batches hold."""
    return pl.concat([kill_me.batch(0).clear(), *(kill_me.batch(n) for n in range(batches))])


def found_in(folder: Path) -> pl.DataFrame:
    """What a reader sees."""
    return pl.concat([kill_me.batch(0).clear(), *StreamLog(folder).scan()])


@pytest.mark.parametrize("name", FAILPOINTS)
def test_killed_at_a_failpoint(tmp_path: Path, name: str) -> None:
    if name.endswith("cut"):
        # Only a log with a torn tail is cut.
        killed = start(tmp_path, BATCHES, failpoint="during_write:4")
        acknowledged = len(killed.communicate()[0].split())
        assert killed.returncode == -signal.SIGKILL
    else:
        acknowledged = 0
    killed = start(tmp_path, BATCHES, failpoint=f"{name}:{1 if name.endswith('cut') else 2}")
    acknowledged += len(killed.communicate()[0].split())
    assert killed.returncode == -signal.SIGKILL, f"never came to {name}"
    survived = found_in(tmp_path)
    assert survived.height >= kill_me.ROWS * acknowledged
    assert_frame_equal(survived, whole(survived.height // kill_me.ROWS))
    kill_me.main(str(tmp_path), BATCHES)
    assert_frame_equal(found_in(tmp_path), whole(BATCHES))
    assert not StreamLog(tmp_path).verify().damages


def test_readers_beside_a_writer_see_whole_records_in_order(tmp_path: Path) -> None:
    writer = start(tmp_path, 60, 0.005)
    log = StreamLog(tmp_path, kill_me.COLUMNS)
    reader = log.reader("r")
    seen, scans = 0, 0
    while writer.poll() is None or seen < 60 * kill_me.ROWS:
        for entry in reader.read():
            assert entry.rows is not None
            assert entry.position == seen
            assert_frame_equal(entry.rows, kill_me.batch(seen // kill_me.ROWS))
            seen += entry.rows.height
        scanned = found_in(tmp_path)
        assert_frame_equal(scanned, whole(scanned.height // kill_me.ROWS))
        scans += 1
        assert scans < 10_000
        time.sleep(0.002)
    assert writer.wait() == 0
    assert reader.offset == log.end


def test_one_writer_at_a_time_and_a_dead_one_is_none(tmp_path: Path) -> None:
    writer = start(tmp_path, 10_000, 0.01)
    assert writer.stdout is not None
    writer.stdout.readline()
    # The fifth batch closes the log for a moment.
    with pytest.raises(ResourceError, match=f"being written by process {writer.pid}"):
        _ = StreamLog(tmp_path, kill_me.COLUMNS).writer
    writer.kill()
    writer.communicate()
    with StreamLog(tmp_path, kill_me.COLUMNS) as log:
        assert log.writer.sequences["p"] >= 0
        with pytest.raises(ResourceError, match="being written by"):
            _ = StreamLog(tmp_path).writer
