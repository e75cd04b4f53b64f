"""`.nilometer` belongs to its owner alone."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

import nilometer
from nilometer.live.identity import identity_of
from nilometer.live.station import Station
from nilometer.log.private import close_to_others

SCHEMA = """
CREATE STREAM air (x FLOAT) PUSHED FROM 'file://{path}';
CREATE QUERY q AS SELECT id, AVG(x) AS mean FROM air [RANGE 1 MINUTE SLIDE 1 MINUTE] GROUP BY id;
"""


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.promise("private")
def test_everything_within_is_made_for_its_owner(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        readings = tmp_path / "readings.csv"
        readings.write_text("time,id,x\n2026-01-01T00:00:00Z,1,2\n2026-01-01T00:05:00Z,1,3\n")
        (tmp_path / "schema.sql").write_text(SCHEMA.format(path=readings))
        database = nilometer.connect(tmp_path)
        with Station(database, tmp_path) as station:
            station.install(database.sql(database.catalog.query("q").text), "q", durable=True)
            station.run(lambda: False)
        identity_of(tmp_path)
    finally:
        os.umask(before)
    found = [tmp_path / ".nilometer", *(tmp_path / ".nilometer").rglob("*")]
    assert any(path.is_file() and "commits" in str(path) for path in found)
    loose = [f"{mode(path):o} {path}" for path in found if mode(path) & 0o077]
    assert loose == []


@pytest.mark.promise("private")
def test_an_open_one_is_closed_and_said(tmp_path: Path) -> None:
    place = tmp_path / ".nilometer"
    place.mkdir()
    place.chmod(0o755)
    with Station(nilometer.connect(), tmp_path) as station:
        assert station.notes == (f"{place} was open to other users; it is now closed (0700)",)
    assert mode(place) == 0o700
    assert close_to_others(tmp_path) is None
