"""A full disk: the failed append is reported, nothing of it is seen, and the log goes on once there is space."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest
from polars.testing import assert_frame_equal

from log.logs import FailAt, frame, no_space, open_log, rows_of, scratch
from nilometer.errors import ResourceError
from nilometer.log import StreamLog

pytestmark = pytest.mark.slow

WRITES = ("before_write", "during_write", "before_fsync", "before_aside", "during_aside")


@pytest.mark.parametrize("fsync", ["always", "interval", "never"])
@pytest.mark.parametrize("segment_bytes", [600, 50_000])
def test_at_every_step_that_needs_space(fsync: str, segment_bytes: int) -> None:
    at, failures = 0, 1
    while failures:
        at += 1
        with scratch() as folder:
            disk = Disk(at)
            log = open_log(Path(folder), disk, fsync=fsync, segment_bytes=segment_bytes)
            failures = 0
            for number in range(6):
                while True:
                    try:
                        token = log.append(frame(3 * number, 3), producer="p", sequence=number)
                    except ResourceError:
                        failures += 1
                        assert_frame_equal(rows_of(StreamLog(folder)), frame(0, 3 * number))
                    else:
                        assert not token.duplicate
                        assert token.position == 3 * number
                        break
                while not log.durable(token):
                    try:
                        log.flush()
                    except ResourceError:
                        failures += 1
                        assert not log.durable(token)
            assert_frame_equal(rows_of(log), frame(0, 18))
            log.close()
            assert not log.verify().damages


class Disk:
    """Full when the n-th step that needs space is taken, for two such steps."""

    def __init__(self, at: int) -> None:
        self.at, self.passed = at, 0

    def __call__(self, name: str) -> None:
        self.passed += name in WRITES
        if name in WRITES and self.at <= self.passed <= self.at + 1:
            raise no_space()


def test_gathered_rows_wait_for_space(tmp_path: Path) -> None:
    fail = FailAt(no_space, 1, "during_write")
    log = open_log(tmp_path, fail, gather_rows=10)
    log.append(frame(0, 6), producer="p", sequence=0)
    with pytest.raises(ResourceError, match="full"):
        log.append(frame(6, 6), producer="p", sequence=1)
    assert not rows_of(log).height
    log.append(frame(6, 6), producer="p", sequence=1)
    assert_frame_equal(rows_of(log), frame(0, 12))
    log.close()


def test_a_failed_fsync_is_repeated_with_the_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = open_log(tmp_path)
    token = log.append(frame(0, 5))
    written: list[int] = []
    real_fsync, real_write = os.fsync, os.pwrite

    def broken(_: int) -> None:
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(os, "fsync", broken)
    with pytest.raises(ResourceError, match="cannot be written"):
        log.flush()
    assert not log.durable(token)
    monkeypatch.setattr(os, "fsync", real_fsync)
    monkeypatch.setattr(os, "pwrite", lambda *a: (written.append(len(a[1])), real_write(*a))[1])
    log.flush()
    assert log.durable(token)
    assert written, "pages that a failed fsync has called clean must be written anew"
    log.close()


def test_the_interval(tmp_path: Path) -> None:
    now = 0.0
    log = StreamLog(tmp_path, {"time": frame(0, 1).schema["time"]}, clock=lambda: now)
    token = log.append(frame(0, 1).select("time"))
    assert not log.durable(token)
    now = 0.3
    late = log.append(frame(1, 1).select("time"))
    assert log.durable(token)
    assert log.durable(late)
    log.close()


def test_what_cannot_even_be_taken_back_is_taken_back_later(tmp_path: Path) -> None:
    def broken(name: str) -> None:
        if full and name in ("before_fsync", "before_cut"):
            raise no_space()

    full = False
    log = open_log(tmp_path, broken, fsync="always")
    log.append(frame(0, 3))
    full = True
    for _ in range(2):
        with pytest.raises(ResourceError, match="full"):
            log.append(frame(90, 9))
    full = False
    log.append(frame(3, 3))
    assert_frame_equal(rows_of(log), frame(0, 6))
    log.close()
    assert not log.verify().damages
