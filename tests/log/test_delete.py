"""A log is deleted whole, unless it is written; a reader that has its files open reads on."""

from __future__ import annotations

from pathlib import Path

import pytest
from polars.testing import assert_frame_equal

from log.logs import COLUMNS, frame, rows_of, small
from nilometer.log import LogDirectory
from nilometer.log.directory import GONE, PLACE


@pytest.mark.parametrize("arrow", [False, True], ids=["disk", "arrow"])
def test_a_log_is_deleted_unless_it_is_written(tmp_path: Path, arrow: bool) -> None:
    root = tmp_path if arrow else tmp_path / PLACE
    logs = LogDirectory(f"file://{tmp_path}" if arrow else tmp_path, small())
    with logs.log("river", COLUMNS) as log, logs.log("lake", COLUMNS) as lake:
        lake.append(frame(0, 2))
        for number in range(100):
            log.append(frame(4 * number, 4))
        log.flush()
        log.reader("me").read()
        assert not logs.delete("River")
        assert rows_of(logs.log("river")).height == 400
    assert logs.delete("River")
    assert logs.delete("never")
    assert logs.names() == ["lake"]
    assert [path.name for path in root.iterdir()] == ["lake"]
    with logs.log("river", COLUMNS) as log:
        assert log.append(frame(0, 3)).position == 0
        assert not log.readers()


def test_a_reader_with_open_files_reads_on(tmp_path: Path) -> None:
    logs = LogDirectory(tmp_path)
    with logs.log("river", COLUMNS) as log:
        log.append(frame(0, 40))
        log.append(frame(40, 40))
    parts = logs.log("river").scan(0, list(COLUMNS))
    first = next(parts)
    assert logs.delete("river")
    found = [first, *parts]
    assert sum(part.height for part in found) == 80
    assert_frame_equal(found[0], frame(0, found[0].height))


def test_what_a_killed_process_left_goes_with_the_next(tmp_path: Path) -> None:
    logs = LogDirectory(tmp_path)
    for name in ("river", "lake"):
        with logs.log(name, COLUMNS) as log:
            log.append(frame(0, 3))
    root = tmp_path / PLACE
    (root / "river").rename(root / f"{GONE}river-1")
    assert logs.names() == logs.streams() == logs.streams(lost=True) == ["lake"]
    assert logs.delete("lake")
    assert not list(root.iterdir())
