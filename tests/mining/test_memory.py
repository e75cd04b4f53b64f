"""The state of every mining function stays within the bound that docs/mining.md prints, while sensors come and go."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import polars as pl
import pytest

import nilometer
from nilometer.dataflow import Run
from nilometer.engine.gateway import DatabaseSources

SECOND = 1_000_000
BASE = 1_767_225_600 * SECOND
SENSORS, LIFE = 5, 1_800
"""So many send every second; after so many seconds others take their place."""
KNOWN = 128
"""The sources of which an operator may have state: those that are gone are forgotten once they are half of them."""
FRAME = 40_000
"""The bytes of the files' own headers, of the sources' names, and of the rows that wait."""

BOUNDS: dict[str, Callable[[int], int]] = {
    "PERIODS(s, n UP TO 10) [RANGE 1 MINUTE SLIDE 1 MINUTE]": lambda sources: sources * 4 * (60 + 3 * 55),
    "PERIODS(s, n UP TO 10 SEGMENTS) [RANGE 1 MINUTE SLIDE 1 MINUTE]": lambda sources: (
        sources * 4 * (60 + 10)
    ),
    "PATTERNS(s, n PERIOD 5 MOST LETTERS 2) [RANGE 1 MINUTE SLIDE 1 MINUTE]": lambda sources: (
        sources * (4 * 5 + 24) * 13
    ),
    "PATTERNS(s, n PERIOD 2) [UNBOUNDED SLIDE 1 MINUTE]": lambda sources: (
        24 * 10 * sources * (4 * 2 + 24) * 16
    ),
    "SUBSEQUENCES(s, n LENGTH 2 TO 3) [RANGE 1 MINUTE SLIDE 1 MINUTE]": lambda sources: sources * 60 * 40 * 3,
    "MOTIFS(s, v LENGTH 8) [RANGE 1 MINUTE SLIDE 1 MINUTE]": lambda sources: sources * 80 * 60,
    "DISCORDS(s, v LENGTH 8) [RANGE 1 MINUTE]": lambda sources: sources * 80 * 60,
    "SIMILAR_TO(s, v, (0, 1, 2, 1, 0) WITHIN 1)": lambda sources: sources * 8 * 5,
    "SIMILAR_TO(s, v, (0, 1, 2, 1, 0) NEAREST 2) [RANGE 1 MINUTE SLIDE 1 MINUTE]": lambda sources: (
        sources * (8 * 5 + 24 * 60)
    ),
    "CLUSTERS(s, v, n RADIUS 0.2 MOST 50 HALF LIFE 1 HOUR)": lambda _: 51 * (16 * 2 + 32),
    "OUTLIERS(s, v) [RANGE 1 MINUTE]": lambda sources: sources * 48 * 60,
}


def sizes(text: str, seconds: int) -> list[int]:
    """The bytes of the state, ten times and more in a run."""
    random = np.random.default_rng(11)
    moments = np.repeat(np.arange(1, seconds + 1), SENSORS)
    ids = np.tile(np.arange(SENSORS), seconds) + SENSORS * (moments // LIFE)
    readings = {
        "time": BASE + moments * SECOND,
        "id": ids,
        "n": random.integers(0, 3, len(ids)),
        "v": np.sin(moments / 3 + ids) + random.normal(0, 0.1, len(ids)),
    }
    database = nilometer.connect()
    database.execute("CREATE STREAM s (n INT, v FLOAT) PUSHED EXPECT EVERY 1 SECOND")
    database.append("s", pl.DataFrame(readings))
    query = database.sql(f"SELECT * FROM {text}")
    run = Run(query.physical, DatabaseSources(database, query.physical), SENSORS * 60)
    found = []
    for number in range(seconds // 60):
        if run.over:
            break
        run.step()
        if number % max(seconds // 1_200, 1) == 0:
            found.append(sum(len(pane) for panes in run.flow.snapshot().values() for pane in panes.values()))
    return found


def check(text: str, seconds: int) -> None:
    found = sizes(text, seconds)
    sources = SENSORS * (seconds // LIFE + 1)
    assert max(found) <= BOUNDS[text](sources if "UNBOUNDED" in text else min(KNOWN, sources)) + FRAME
    assert len(found) >= 10
    if seconds > 25 * LIFE and "UNBOUNDED" not in text:
        assert max(found[len(found) // 2 :]) <= 1.5 * max(found[: len(found) // 2]) + FRAME


@pytest.mark.parametrize("text", BOUNDS)
def test_bytes_of_twenty_minutes(text: str) -> None:
    check(text, 1_200)


@pytest.mark.long
@pytest.mark.parametrize("text", BOUNDS)
def test_bytes_of_a_day(text: str) -> None:
    check(text, 86_400)
