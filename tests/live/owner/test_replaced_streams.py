"""A standing query is replaced by a text over another stream: it goes on where the control log says, whatever happens
between the record and the first commit of the new text."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from live.owner.judge import Judge, records_of
from live.owner.test_storm import life, rest
from live.owner.weather import START, Weather, field
from nilometer.live.owner.owner import Owner
from nilometer.live.station_settings import StationSettings
from nilometer.log import LogDirectory, LogSettings
from nilometer.types import MINUTE

AIR = "SELECT time, id, x FROM air"
WIND = "SELECT time, id, x FROM wind WHERE x < 6"
SEGMENTS = StationSettings(logging=LogSettings(segment_bytes=1_000, least_bytes=1))
SUM = "SELECT id, SUM(x) AS total FROM {} [RANGE 8 MINUTES SLIDE 2 MINUTES] GROUP BY id"


def judged(folder: Path) -> int:
    judge = Judge(folder)
    judge.queries(at_end=True)
    return judge.rows


@pytest.mark.parametrize(
    "texts",
    [
        (AIR, WIND),
        (AIR, WIND, AIR),
        (AIR, WIND, AIR + " WHERE x > 3", WIND),
        (AIR, WIND, WIND + " AND x > 1"),  # begins where the second text was to begin
    ],
)
def test_a_query_that_is_paused_changes_its_stream(tmp_path: Path, texts: tuple[str, ...]) -> None:
    database, weather = field(tmp_path), Weather(tmp_path, random.Random(1))
    weather.blow(12)
    with life(tmp_path, killed=True) as owner:
        for text in (AIR, WIND):  # so that both streams are read
            database.execute(f"CREATE QUERY reads{text[25:28]} AS {text}")
        database.execute(f"CREATE QUERY q STARTING AT BEGINNING AS {texts[0]}")
        rest(owner, weather)
        database.execute("PAUSE QUERY q")
        for text in texts[1:]:
            weather.blow(3)
            rest(owner, weather)
            database.execute(f"REPLACE QUERY q AS {text}")
    before = judged(tmp_path)
    with life(tmp_path, killed=False) as owner:
        database.execute("RESUME QUERY q")
        weather.calm()
        rest(owner, weather)
    assert judged(tmp_path) > before


@pytest.mark.parametrize("state", ["", "BACKFILL", "EMPTY STATE"])
def test_a_crash_before_the_new_stream_is_read(tmp_path: Path, state: str) -> None:
    """Meanwhile the new stream's log grows by many segments: the state is that of the place in the control log."""
    database, weather = field(tmp_path), Weather(tmp_path, random.Random(1))
    with life(tmp_path, killed=True, settings=SEGMENTS) as owner:
        database.execute(f"CREATE QUERY other AS {WIND}")
        database.execute(f"CREATE QUERY q STARTING AT BEGINNING AS {SUM.format('air')}")
        grow(owner, weather)
        database.execute("PAUSE QUERY q")
        database.execute(f"REPLACE QUERY q {state} AS {SUM.format('wind')}")
        grow(owner, weather)
    with life(tmp_path, killed=False, settings=SEGMENTS) as owner:
        database.execute("RESUME QUERY q")
        weather.calm()
        rest(owner, weather)
    assert judged(tmp_path)


def test_readings_that_the_new_stream_has_lost_are_counted(tmp_path: Path) -> None:
    database, weather = field(tmp_path), Weather(tmp_path, random.Random(1))
    with life(tmp_path, killed=False, settings=SEGMENTS) as owner:
        database.execute(f"CREATE QUERY other AS {WIND}")
        database.execute(f"CREATE QUERY q STARTING AT BEGINNING AS {AIR}")
        grow(owner, weather)
        database.execute("PAUSE QUERY q")
        database.execute(f"REPLACE QUERY q AS {WIND}")
        grow(owner, weather)
    log = LogDirectory(tmp_path).log("wind")
    effect = records_of(tmp_path)[-1].effect["wind"]
    assert log.trim(START + 50 * MINUTE).held_by is not None
    assert log.start.position <= effect.position
    log.trim(START + 50 * MINUTE, force=True)
    lost = log.start.position - effect.position
    assert lost > 0
    with life(tmp_path, killed=False, settings=SEGMENTS) as owner:
        database.execute("RESUME QUERY q")
        live = owner.submit(lambda: owner.station.queries["q"])
        assert live.trimmed == lost
        assert f"{lost} rows were trimmed from its streams' logs before it read them" in str(live.note)


def grow(owner: Owner, weather: Weather) -> None:
    """Half an hour, in some segments."""
    for _ in range(10):
        weather.blow(3)
        rest(owner, weather)
