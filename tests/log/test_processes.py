"""Real processes: a writer killed with kill -9 at each failpoint, readers beside a writer, one writer at a time."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from log import kill_me
from nilometer.errors import ResourceError
from nilometer.log import StreamLog
from nilometer.log.failpoints import FAILPOINTS

pytestmark = pytest.mark.slow


def start(*arguments: object) -> subprocess.Popen[str]:
    """A writer process."""
    environment = os.environ | {"POLARS_MAX_THREADS": "1"}
    command = [sys.executable, kill_me.__file__, *map(str, arguments)]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, env=environment, stdin=pipe, stdout=pipe, text=True)


def let_go_on(writer: subprocess.Popen[str]) -> None:
    """A paced writer may write another batch."""
    assert writer.stdin is not None
    writer.stdin.write(".")
    writer.stdin.flush()


def whole(batches: int) -> pl.DataFrame:
    """What so many batches hold."""
    return pl.concat([kill_me.batch(0).clear(), *(kill_me.batch(n) for n in range(batches))])


def found_in(folder: Path) -> pl.DataFrame:
    """What a reader sees."""
    return pl.concat([kill_me.batch(0).clear(), *StreamLog(folder).scan()])


def test_killed_at_each_failpoint(memory: Path) -> None:
    # Only a log with a torn tail is cut: it takes two deaths.
    plans = {name: f"during_write:4,{name}:1" if name.endswith("cut") else f"{name}:2" for name in FAILPOINTS}
    nursery = start("nursery", memory, *plans.values())
    said = nursery.communicate()[0].splitlines()
    assert nursery.returncode == 0
    for line in said:
        assert line.endswith(f" -{signal.SIGKILL.value}"), f"never came there: {line}"
    for plan in plans.values():
        folder, out = memory / plan, memory / f"{plan}.out"
        acknowledged = len(out.read_text().split())
        survived = found_in(folder)
        assert survived.height >= kill_me.ROWS * acknowledged, plan
        assert_frame_equal(survived, whole(survived.height // kill_me.ROWS))
        with contextlib.redirect_stdout(None):
            kill_me.main(str(folder), kill_me.BATCHES)
        assert_frame_equal(found_in(folder), whole(kill_me.BATCHES))
        assert not StreamLog(folder).verify().damages, plan


def test_readers_beside_a_writer_see_whole_records_in_order(memory: Path) -> None:
    writer = start(memory, 60, "paced")
    log = StreamLog(memory, kill_me.COLUMNS)
    reader = log.reader("r")
    seen, scans = 0, 0
    while seen < 60 * kill_me.ROWS:
        # It writes while we read; how far it has come by then is its own affair.
        if scans < 60:
            let_go_on(writer)
        for entry in reader.read():
            assert entry.rows is not None
            assert entry.position == seen
            assert_frame_equal(entry.rows, kill_me.batch(seen // kill_me.ROWS))
            seen += entry.rows.height
        scanned = found_in(memory)
        assert_frame_equal(scanned, whole(scanned.height // kill_me.ROWS))
        scans += 1
        assert scans < 100_000
    writer.communicate()
    assert writer.returncode == 0
    assert reader.offset == log.end


def test_one_writer_at_a_time_and_a_dead_one_is_none(memory: Path) -> None:
    writer = start(memory, 10_000, "paced")
    assert writer.stdout is not None
    let_go_on(writer)
    writer.stdout.readline()
    with pytest.raises(ResourceError, match=f"being written by process {writer.pid}"):
        _ = StreamLog(memory, kill_me.COLUMNS).writer
    writer.kill()
    writer.communicate()
    with StreamLog(memory, kill_me.COLUMNS) as log:
        assert log.writer.sequences["p"] >= 0
        with pytest.raises(ResourceError, match="being written by"):
            _ = StreamLog(memory).writer
