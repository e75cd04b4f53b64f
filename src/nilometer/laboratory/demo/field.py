"""The demo's field and its script: two plumes of smoke at a time drift over air monitors, meet and part again; queries
start and stop, and the monitors adapt.
"""

from __future__ import annotations

from dataclasses import dataclass

from nilometer.laboratory.demo.radio import Radio
from nilometer.simulated import SimulatedField, simulated_field
from nilometer.simulated.fields.generator import START
from nilometer.types import MINUTE, format_time

STEP = 2 * MINUTE
"""The field's time that passes in one frame of the demo."""

URL = "generate://field?speed=1"
SCHEMA = f"CREATE STREAM air (concentration FLOAT) PUSHED FROM '{URL}' DELAY 4 MINUTES KEY (id, time) EXPECT EVERY 1 MINUTE;"


@dataclass(frozen=True)
class Question:
    """A continuous query of the demo, its meaning in words, and the part of the demo's time in which it
    runs."""

    name: str
    title: str
    sql: str
    begins: float
    ends: float


PLUME = "ON air.concentration ABOVE 50 RANGE 10 MINUTES SLIDE 10 MINUTES STRENGTH 3 NEIGHBOURS WITHIN 330 MEMBERS 3"
"""A plume of the demo: a definition of a phenomenon."""

QUESTIONS = (
    Question(
        "overview",
        "the whole field, sampled every 10 minutes",
        "SELECT COUNT(*) AS readings, AVG(concentration) AS mean, MAX(concentration) AS worst "
        "FROM air [RANGE 30 MINUTES SLIDE 10 MINUTES] SAMPLE EVERY 10 MINUTES",
        0.0,
        0.72,
    ),
    Question(
        "smoke",
        "in the smoke: mean of 15 minutes > 35",
        "SELECT id, AVG(concentration) AS mean FROM air [RANGE 15 MINUTES SLIDE 5 MINUTES] "
        "GROUP BY id HAVING AVG(concentration) > 35",
        0.18,
        0.6,
    ),
    Question(
        "silence",
        "who falls silent, who returns",
        "SELECT time, id, state FROM SILENT(air FOR 8 MINUTES)",
        0.18,
        0.6,
    ),
    Question(
        "plumes",
        "plumes of smoke: born, meet, part, gone",
        "SELECT time, CASE kind WHEN 'APPEAR' THEN 'is born' WHEN 'DISAPPEAR' THEN 'is gone' WHEN 'MERGE' THEN 'takes in another' "
        "WHEN 'SPLIT' THEN 'falls apart' WHEN 'MOVE' THEN 'moves on' WHEN 'GROW' THEN 'grows' ELSE 'shrinks' END "
        "|| CASE WHEN size > 0 THEN ', over ' || CAST(size AS STRING) || ' monitors' ELSE '' END AS smoke, id, kind, size, location, region, velocity_x, velocity_y "
        f"FROM PHENOMENA({PLUME})",
        0.18,
        0.6,
    ),
    Question(
        "arrivals",
        "whom the smoke reaches within the hour",
        "SELECT time, 'monitor ' || CAST(sensor AS STRING) || ' in ' || CAST(CAST(seconds / 60 AS INT) AS STRING) || ' minutes' AS reached, "
        f"sensor, at, seconds, id FROM ARRIVALS({PLUME}, 1 HOUR)",
        0.18,
        0.6,
    ),
    Question(
        "alarm",
        "above 60 in the west; others may sleep",
        "SELECT time, id, concentration FROM air WHERE concentration > 60 AND distance(location, point(0.0, 700.0)) < 1500",
        0.4,
        1.0,
    ),
)


def field_of(sensors: int, seed: int) -> SimulatedField:
    """The monitors and the smoke."""
    return simulated_field(
        "plume",
        {
            "sensors": str(sensors),
            "seed": str(seed),
            "start": format_time(START),
            "jitter": "0.5",
            "plumes": "2",
        },
    )


def radio_of(field: SimulatedField, seed: int) -> Radio:
    """The field behind its radio."""
    return Radio(field, seed)
