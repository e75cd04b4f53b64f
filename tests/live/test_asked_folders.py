"""Folders of questions that are only asked do not outlive their process, however it dies."""

from __future__ import annotations

import os
from pathlib import Path

from nilometer.engine import connect
from nilometer.live.asked_folders import AskedFolder, clear_asked_folders
from nilometer.live.owner.owner import Owner
from nilometer.live.station import Station


def test_the_next_owner_deletes_what_dead_processes_left(tmp_path: Path) -> None:
    place = tmp_path / ".nilometer"
    place.mkdir(0o700)
    (place / "asked-by a release without locks").mkdir()
    (place / "asked-a file").write_text("none of ours")
    (tmp_path / "schema.sql").write_text("CREATE STREAM air (x FLOAT) PUSHED;\n")
    child = os.fork()
    if child == 0:
        (AskedFolder(place).path / "state").write_text("kept for nobody")
        os._exit(9)
    os.waitpid(child, 0)
    with AskedFolder(place) as asked:
        (asked / "state").write_text("in use")
        assert len(list(place.glob("asked-*"))) == 4
        owner = Owner(tmp_path, lambda: Station(connect(tmp_path), tmp_path))
        owner.close()
        assert sorted(path.name for path in place.glob("asked-*")) == sorted([asked.name, "asked-a file"])
        assert (asked / "state").exists()
    assert not asked.exists()
    assert clear_asked_folders(place) == 0
