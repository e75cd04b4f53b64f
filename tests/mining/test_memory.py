"""The state of every mining function stays within the bound that EXPLAIN prints, while sensors come and go."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import nilometer
from nilometer.dataflow import Run
from nilometer.engine import Query
from nilometer.engine.gateway import DatabaseSources
from nilometer.plan import physical

SECOND = 1_000_000
BASE = 1_767_225_600 * SECOND
SENSORS, LIFE = 5, 1_800
"""So many send every second; after so many seconds others take their place."""
KNOWN = 128
"""The sources of which an operator may have state: those that are gone are forgotten once they are half of them."""
HEADER = 1_200
"""The bytes of a pane without rows."""

CALLS = (
    "PERIODS(s, n BREAKS (1, 2) UP TO 10) [RANGE 1 MINUTE SLIDE 1 MINUTE]",
    "PERIODS(s, n UP TO 10 SEGMENTS) [RANGE 1 MINUTE SLIDE 1 MINUTE]",
    "PATTERNS(s, n PERIOD 5 MOST LETTERS 2) [RANGE 1 MINUTE SLIDE 1 MINUTE]",
    "PATTERNS(s, n PERIOD 2) [UNBOUNDED SLIDE 1 MINUTE]",
    "SUBSEQUENCES(s, n LENGTH 2 TO 3) [RANGE 1 MINUTE SLIDE 1 MINUTE]",
    "SUBSEQUENCES(s, n LENGTH 2 TO 3 GAPS 1 SUPPORT 9 APPROXIMATE 5) [RANGE 1 MINUTE SLIDE 1 MINUTE]",
    "MOTIFS(s, v LENGTH 8) [RANGE 1 MINUTE SLIDE 1 MINUTE]",
    "DISCORDS(s, v LENGTH 8) [RANGE 1 MINUTE]",
    "SIMILAR_TO(s, v, (0, 1, 2, 1, 0) WITHIN 1)",
    "SIMILAR_TO(s, v, (0, 1, 2, 1, 0) NEAREST 2) [RANGE 1 MINUTE SLIDE 1 MINUTE]",
    "CLUSTERS(s, v, n RADIUS 0.2 MOST 50 HALF LIFE 1 HOUR)",
    "OUTLIERS(s, v) [RANGE 1 MINUTE]",
)
SEGMENTS = 9
"""The different segments of two slots of `n`, which is 0, 1 or 2."""


def bound(query: Query, sources: int, panes: int) -> int:
    """The bytes that EXPLAIN prints, for so many sources; all readings of two evaluations wait."""
    things = {
        "": 1,
        "source": sources,
        "reading that waits": 2 * SENSORS * 60,
        "reading in the range": sources * 60,
        "different segment of a source, of at most 100,000": sources * SEGMENTS,
    }
    printed = query.explain("physical")
    found = 0
    for node in physical.walk_plan(query.physical):
        if isinstance(node, physical.TableFunction):
            kept = node.call.keeps(node.input.schema)
            assert kept
            assert f"-- keeps at most {', '.join(map(str, kept))}" in printed
            found += sum(each.bytes * things[each.of] for each in kept)
    return found + panes * HEADER


def sizes(text: str, seconds: int) -> tuple[Query, list[tuple[int, int]]]:
    """The query, and the bytes and panes of its state, ten times and more in a run."""
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
            panes = [pane for own in run.flow.snapshot().values() for pane in own.values()]
            found.append((sum(map(len, panes)), len(panes)))
    return query, found


def check(text: str, seconds: int) -> None:
    query, found = sizes(text, seconds)
    sources = SENSORS * (seconds // LIFE + 1)
    known = sources if "UNBOUNDED" in text else min(KNOWN, sources)
    for size, panes in found:
        assert size <= bound(query, known, panes)
    assert len(found) >= 10
    if seconds > 25 * LIFE and "UNBOUNDED" not in text:
        held = [size for size, _ in found]
        assert max(held[len(held) // 2 :]) <= 1.5 * max(held[: len(held) // 2]) + 10 * HEADER


@pytest.mark.parametrize("text", CALLS)
def test_bytes_of_twenty_minutes(text: str) -> None:
    check(text, 1_200)


@pytest.mark.long
@pytest.mark.parametrize("text", CALLS)
def test_bytes_of_a_day(text: str) -> None:
    check(text, 86_400)
