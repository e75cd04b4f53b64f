"""Fjords: queries 1 and 2 of section 4.1. The incidents are a stored table, as the Highway Patrol's web site was."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

import nilometer
from nilometer.engine import Database
from papers.running import Printed, check

SCHEMA = """
CREATE STREAM sensorReadings (segment INT, speed FLOAT) PUSHED;
CREATE TABLE incidents (time TIME, segment INT, description STRING) STORED AT 'incidents.csv';
"""

INCIDENTS = """time,segment,description
2025-12-31T20:00:00Z,1,an old story
2026-01-01T00:05:00Z,1,debris on the road
2026-01-01T00:09:00Z,2,a mattress
2026-01-01T00:10:00Z,3,two cars
2026-01-01T00:12:00Z,9,a cow
"""

SETTINGS = {"w": "5 MINUTES", "knownSegments": [1, 2, 3], "timeWindow": 3600, "speedThreshold": 50.0}

PRINTED = (
    Printed(
        "Query 1",
        """SELECT AVG(s.speed, w)
FROM sensorReadings AS s
WHERE s.segment ∈
knownSegments""",
        SETTINGS,
    ),
    Printed(
        "Query 2",
        """SELECT AVG(s.speed, w), i.description
FROM incidents as i,
    sensorReadings as s
WHERE i.time >= now - timeWindow
GROUP BY i.description
HAVING speedThreshold >
    (SELECT AVG(s.speed, w)
     FROM sensorReadings as s
     WHERE i.segment = s.segment
     AND s.segment ∈ {knownSegments})""",
        SETTINGS,
    ),
)


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Database:
    """A quarter of an hour on eight segments, slow on some of them."""
    directory: Path = tmp_path_factory.mktemp("fjords")
    (directory / "incidents.csv").write_text(INCIDENTS, encoding="utf-8")
    (directory / "schema.sql").write_text(SCHEMA, encoding="utf-8")
    db = nilometer.connect(directory)
    random = Random(2002)
    db.append(
        "sensorReadings",
        [
            {
                "time": f"2026-01-01T00:{second // 60:02d}:{second % 60:02d}Z",
                "id": segment * 2 + random.randrange(2),
                "segment": segment,
                "speed": (30 if segment in (1, 3, 9) else 60) + random.randrange(-640, 640) / 64,
            }
            for second in range(0, 900, 30)
            for segment in random.sample(range(1, 9), 3)
        ],
    )
    return db


@pytest.mark.parametrize("printed", PRINTED, ids=str)
def test_printed(printed: Printed, database: Database) -> None:
    check(printed, database)
