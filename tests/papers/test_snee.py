"""SNEE: Figs. 1, 4, 5 and 25. The schema is Fig. 2's, with what Fig. 1's deployments measure besides."""

from __future__ import annotations

from random import Random

import pytest

import nilometer
from nilometer.engine import Database
from papers.running import Printed, check

SCHEMA = """
CREATE STREAM River (id INT, time INT UNIT 's', rain INT, depth INT, moisture FLOAT, temp FLOAT) SENSED EVERY 15 MINUTES;
CREATE STREAM Hilltop (id INT, time INT UNIT 's', rain INT) SENSED EVERY 15 MINUTES;
CREATE STREAM Vineyard (moisture FLOAT, temperature FLOAT) SENSED EVERY 15 MINUTES;
CREATE STREAM Burrow (temp FLOAT) SENSED EVERY 15 MINUTES;
CREATE STREAM Weather (temp FLOAT) SENSED EVERY 15 MINUTES;
CREATE STREAM Sensors (id INT, time INT UNIT 's', rain INT, depth INT) SENSED EVERY 15 MINUTES;
"""

PRINTED = (
    Printed(
        "Fig. 1a",
        """SELECT  R.id, MAX(R.time), AVG(R.moisture), AVG(R.temp)
FROM    River R [FROM NOW TO NOW-2 HOURS]
GROUP BY R.id""",
    ),
    Printed(
        "Fig. 1b",
        """SELECT  MAX(V.time) AS time, COUNT(V.moisture) AS drySites
FROM    Vineyard[NOW] V
WHERE   V.moisture < 20;""",
    ),
    Printed(
        "Fig. 1c",
        """SELECT  B.time, B.id, B.temp, W.temp
FROM    Burrow[NOW] B, Weather[NOW] W
WHERE   B.temp > W.temp AND B.id = W.id;""",
    ),
    Printed(
        "Fig. 4a",
        """SELECT  R.time, R.depth
FROM    River R
WHERE   R.depth > 10;""",
    ),
    Printed(
        "Fig. 4b",
        """SELECT  R.time, AVG(R.depth)
FROM    River [RANGE 10 ROWS SLIDE 10 ROWS] R
WHERE   R.depth > 10;""",
    ),
    Printed(
        "Fig. 4c",
        """SELECT  R.time, H.rain, R.depth
FROM    River [NOW] R, Hilltop [AT NOW-15 MINUTES] H
WHERE   H.rain > 5 AND R.rain < H.rain""",
    ),
    Printed(
        "Fig. 4d",
        """SELECT  R1.id, R1.time, R1.depth
FROM    River [NOW] R1,
      (SELECT  AVG(R2.depth) as avgDepth
       FROM    River [NOW-7 DAYS] R2) LastWeek
WHERE   R1.depth > LastWeek.avgDepth""",
    ),
    Printed(
        "Fig. 5",
        """RSTREAM\tSELECT
\tRiver.time, Hilltop.rain, River.depth
FROM\tRiver[NOW], Hilltop[AT NOW-15 MINUTES]
WHERE\tHilltop.rain > 5
AND\tRiver.rain < Hilltop.rain;""",
    ),
    Printed(
        "Fig. 25 Q1",
        """RSTREAM SELECT River.time, River.depth
    FROM River[NOW];""",
    ),
    Printed(
        "Fig. 25 Q2",
        """RSTREAM SELECT AVG(River.depth)
    FROM River[NOW];""",
    ),
    Printed(
        "Fig. 25 Q3",
        """RSTREAM SELECT River.time, Hilltop.rain, River.depth
    FROM River[NOW], Hilltop[AT NOW - 15 MINUTES]
    WHERE Hilltop.rain > 5
    AND River.rain < Hilltop.rain;""",
    ),
    Printed(
        "Fig. 25 Q*",
        """RSTREAM SELECT *
    FROM Sensors[NOW];""",
    ),
)

MIDNIGHT = 1_767_225_600  # 2026-01-01
QUARTER = 900


@pytest.fixture(scope="module")
def database() -> Database:
    """A day of readings by the sites of the running example: River on 5, 6, 7 and 9, Hilltop on 4."""
    random = Random(2010)
    db = nilometer.connect()
    db.execute(SCHEMA)
    for quarter in range(48):
        at = MIDNIGHT + quarter * QUARTER
        rain = random.randrange(0, 12)
        here = [
            {
                "id": site,
                "time": at + random.randrange(60),
                "rain": max(0, rain + random.randrange(-4, 4)),
                "depth": random.randrange(4, 20),
                "moisture": random.randrange(0, 64 * 50) / 64,
                "temp": random.randrange(-64 * 5, 64 * 20) / 64,
            }
            for site in (5, 6, 7, 9)
            if random.random() > 0.1  # some readings are lost
        ]
        db.append("River", here)
        db.append("Hilltop", [{"id": 4, "time": at, "rain": rain}])
        db.append("Sensors", [{name: row[name] for name in ("id", "time", "rain", "depth")} for row in here])
        moment = f"2026-01-01T{quarter // 4:02d}:{quarter % 4 * 15:02d}:00Z"
        for stream, columns in (
            ("Vineyard", ("moisture", "temperature")),
            ("Burrow", ("temp",)),
            ("Weather", ("temp",)),
        ):
            db.append(
                stream,
                [
                    {
                        "id": site,
                        "time": moment,
                        **{name: random.randrange(0, 64 * 40) / 64 for name in columns},
                    }
                    for site in (1, 2, 3)
                ],
            )
    return db


@pytest.mark.parametrize("printed", PRINTED, ids=str)
def test_printed(printed: Printed, database: Database) -> None:
    check(printed, database)
