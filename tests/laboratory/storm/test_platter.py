"""The platter: synced bytes and names survive every power cut, others may not."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from random import Random

import pytest

from nilometer.laboratory.storm.faulty_disk import FaultyDisk, Killed, Weather
from nilometer.laboratory.storm.platter import Platter
from nilometer.log.disk import mounted
from nilometer.log.local_files import LocalFiles


def test_synced_bytes_survive_and_others_may_not(tmp_path: Path) -> None:
    ends = set()
    for seed in range(40):
        folder = tmp_path / str(seed)
        platter = Platter(folder)
        disk = FaultyDisk(platter, Weather(), Random(seed))
        with mounted(folder, disk):
            files = LocalFiles(folder)
            files.replace("log", b"a" * 700)
            appender = files.append_to("log", 700)
            appender.write(memoryview(b"b" * 600))
            appender.sync()
            appender.write(memoryview(b"c" * 2_000))
        disk.bury()
        platter.power_cut(Random(seed))
        found = (folder / "log").read_bytes()
        assert found[:1_300] == b"a" * 700 + b"b" * 600
        ends.add(found[1_300:])
    assert {b"", b"c" * 2_000} < ends
    assert any(set(end) == {0, ord("c")} for end in ends), "no block was lost before a later one"


def test_a_replaced_file_is_old_or_new(tmp_path: Path) -> None:
    found = set()
    for seed in range(30):
        folder = tmp_path / str(seed)
        platter = Platter(folder)
        for kill in range(1, 12):
            weather = Weather()
            disk = FaultyDisk(platter, weather, Random(seed))
            with mounted(folder, disk):
                files = LocalFiles(folder)
                files.replace("note", b"old")
                weather.kill_in = kill
                try:
                    files.replace("note", b"new")
                except Killed:
                    disk.bury()
                    platter.power_cut(Random(seed))
                found.add((folder / "note").read_bytes())
    assert found == {b"old", b"new"}


def test_bytes_whose_sync_failed_are_written_again(tmp_path: Path) -> None:
    """Also where the disk takes only part of a write at a time."""
    platter, weather = Platter(tmp_path), Weather()
    disk = FaultyDisk(platter, weather, Random(1))
    with mounted(tmp_path, disk):
        files = LocalFiles(tmp_path)
        files.replace("log", b"")
        appender = files.append_to("log", 0)
        appender.write(memoryview(b"x" * 3_000))
        weather.sync_error = 1.0
        with pytest.raises(OSError, match=os.strerror(errno.EIO)):
            appender.sync()
        weather.sync_error, weather.short_write = 0.0, 1.0
        appender.sync()
    disk.bury()
    platter.power_cut(Random(0))
    assert (tmp_path / "log").read_bytes() == b"x" * 3_000


def test_a_dead_process_changes_nothing(tmp_path: Path) -> None:
    disk = FaultyDisk(Platter(tmp_path), Weather(), Random(0))
    with mounted(tmp_path, disk):
        files = LocalFiles(tmp_path)
        lock = files.lock()
        disk.bury()
        with pytest.raises(Killed):
            files.replace("late", b"")
        lock.release()
    LocalFiles(tmp_path).lock().release()
    assert not (tmp_path / "late").exists()
