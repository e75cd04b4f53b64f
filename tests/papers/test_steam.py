"""STEAM: the query of section 4 and the three W-joins of section 6.2."""

from __future__ import annotations

from random import Random

import pytest

import nilometer
from nilometer.engine import Database
from papers.running import Printed, check

SCHEMA = """
CREATE STREAM Sensors (temperature FLOAT) PUSHED;
CREATE STREAM SensorTables (GasId INT, GasName STRING) PUSHED DELAY 2 MINUTES;
""" + "".join(f"CREATE SENSOR {id} OF Sensors WITH SensorID = {id};\n" for id in range(1, 6))

WINDOWS = {"w": "10 MINUTES", "w1": "4 MINUTES", "w2": "6 MINUTES", "w3": "8 MINUTES"}

PRINTED = (
    Printed(
        "section 4",
        "Select S.SensorValue.temperature FROM Sensors S WHERE S.SensorID=2 AND S.SensorID=4",
        empty="no sensor is both 2 and 4",
    ),
    Printed(
        "section 6.2, uniform window constraint",
        """SELECT A.GasName FROM SensorTables A, B, C
WINDOW =w
WHERE A.GasId=B.GasId AND B.GasId= C.GasId""",
        WINDOWS,
    ),
    Printed(
        "section 6.2, different window constraints",
        """SELECT A.GasId FROM SensorTables A, B, C
WINDOW(A,B) =w1 AND WINDOW(B,C) =w2 AND WINDOW(A,C) =w3
WHERE A.GasId=B.GasId AND B.GasId= C.GasId""",
        WINDOWS,
    ),
    Printed(
        "section 6.2, some window constraints do not exist",
        """SELECT A.GasId FROM SensorTables A, B, C
WINDOW(A,B) =w1 AND WINDOW(B,C) =w2
WHERE A.GasId=B.GasId AND B.GasId= C.GasId""",
        WINDOWS,
    ),
)

GASES = {1: "CO", 2: "CH4", 3: "NH3", 4: "Cl2"}


@pytest.fixture(scope="module")
def database() -> Database:
    """Forty minutes of five sensors, each finding a gas now and then, out of order by up to three minutes."""
    random = Random(2004)
    db = nilometer.connect()
    db.execute(SCHEMA)
    found = []
    for minute in range(40):
        gas = random.choice(tuple(GASES))
        delay = random.randrange(0, 180)
        found.append((minute * 60 + delay, minute * 60, random.randrange(1, 6), gas))
    found.sort()
    db.append(
        "SensorTables",
        [
            {
                "time": f"2026-01-01T00:{at // 60:02d}:{at % 60:02d}Z",
                "id": sensor,
                "GasId": gas,
                "GasName": GASES[gas],
            }
            for _, at, sensor, gas in found
        ],
    )
    db.append(
        "Sensors",
        [
            {
                "time": f"2026-01-01T00:{minute:02d}:00Z",
                "id": sensor,
                "temperature": random.randrange(640) / 64,
            }
            for minute in range(20)
            for sensor in range(1, 6)
        ],
    )
    return db


@pytest.mark.parametrize("printed", PRINTED, ids=str)
def test_printed(printed: Printed, database: Database) -> None:
    check(printed, database)
