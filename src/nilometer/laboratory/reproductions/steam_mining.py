"""STEAM's mining (sections 3.1 and 7.2): the series by which its references define periods and patterns, the daily period
of the Intel Lab's motes, and how well outliers and discords find the anomalies that NAB's authors labelled.

Measurements are read from the folder that NILOMETER_EXAMPLE_DATA names (`intel_lab`, `nab`). Without it, these figures are
not made, and the result says so.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from nilometer.engine import Database, connect
from nilometer.laboratory.nab_peers import random_scores, windowed_gaussian
from nilometer.laboratory.nab_score import best_score, read_labelled, score
from nilometer.laboratory.reproductions.verdict import claimed, exact
from nilometer.types import DAY, SECOND

SERIES = "abcabbabcb"
PERIODS = {("a", 3, 0): (2, 3), ("b", 3, 1): (2, 2), ("b", 4, 1): (2, 2), ("b", 5, 4): (1, 1)}
"""Elfeky et al., with a confidence of 0.6: symbol, period, position -> count, of."""
PATTERNS = {"a**": (2, 3), "*b*": (3, 3), "ab*": (2, 3), "a*c": (1, 3), "abc": (1, 3)}
"""Some patterns of the first three segments of that series, abc abb abc, and in how many they are."""


@dataclass(frozen=True)
class Detector:
    """A question that gives scores. `usual` is the threshold of a user who says nothing; None: there is none."""

    question: str
    usual: float | None = None


DETECTORS = {
    "OUTLIERS": Detector(
        "SELECT time, id, deviation AS score FROM OUTLIERS(nab, value DEVIATIONS 2 AFTER 100) [RANGE 60 DAYS]",
        5.0,
    ),
    "OUTLIERS of DISCORDS by value": Detector(
        "SELECT time, id, deviation AS score FROM OUTLIERS((SELECT time, id, distance FROM DISCORDS(nab, value "
        "LENGTH 6 EVERY 10 MINUTES FILL 3 RAW) [RANGE 60 DAYS]) profile, distance DEVIATIONS 2 AFTER 100) [RANGE 60 DAYS]",
        5.0,
    ),
    "DISCORDS by shape": Detector(
        "SELECT time, id, distance AS score FROM DISCORDS(nab, value LENGTH 24 EVERY 1 HOUR FILL 3) [RANGE 60 DAYS]"
    ),
}
"""Chosen without labels: all that came before in most of the series, an hour as the shortest event, a day as a shape."""

DRAWS = 20
"""How often chance is tried."""
SIMPLE = 17.7
"""The published score of a simple detector."""


def steam_mining() -> dict[str, Any]:
    """All figures."""
    given = os.environ.get("NILOMETER_EXAMPLE_DATA")
    figures: dict[str, Any] = {
        "Section 7.2, periods": _periods(),
        "Section 7.2, partial periodic patterns": _patterns(),
    }
    missing = []
    for name, figure, make in (
        ("intel_lab", "Section 7.2, daily periods of real sensors", _daily),
        ("nab", "Anomalies that NAB labels", _anomalies),
    ):
        folder = None if given is None else Path(given) / name
        if folder is not None and folder.is_dir():
            figures[figure] = make(folder)
        else:
            missing.append(f"{figure}: not made, because NILOMETER_EXAMPLE_DATA names no folder with {name}")
    return {
        "name": "steam-mining",
        "title": "STEAM, mining operators inside the query processor",
        "figures": figures,
        "assumptions": [
            "temperatures are cut into slots of an hour (the last reading) and 8 levels between 15 and 35 degrees; the "
            "period is the one of greatest confidence among 12 ... 36 hours",
            "NAB: the 10 series at hand of its 58, its scoring function, windows and standard profile, and one threshold for all "
            "series, the best of all, as NAB does; chance has such a threshold, too, and so more than 0; published scores are "
            "of all 58 series",
            *missing,
        ],
    }


def _letters(text: str) -> Database:
    database = connect()
    database.execute("CREATE STREAM letters (x STRING) PUSHED EXPECT EVERY 1 SECOND")
    database.append("letters", [{"time": SECOND * (n + 1), "id": 1, "x": x} for n, x in enumerate(text)])
    return database


def _periods() -> dict[str, Any]:
    query = _letters(SERIES).sql(
        "SELECT * FROM PERIODS(letters, x UP TO 5 CONFIDENCE 0.6) [RANGE 10 SECONDS SLIDE 10 SECONDS]"
    )
    rows = query.run("gateway").given
    names = ("symbol", "period", "position", "count", "of")
    ours = {(row[0], row[1], row[2]): (row[3], row[4]) for row in rows.select(names).rows()}  # type: ignore[union-attr]
    return exact(_shown(PERIODS), _shown(ours), ours == PERIODS)


def _shown(found: dict[tuple[str, int, int], tuple[int, int]]) -> str:
    return ", ".join(f"({a}, {p}, {at}) {count}/{of}" for (a, p, at), (count, of) in sorted(found.items()))


def _patterns() -> dict[str, Any]:
    query = _letters("abcabbabc").sql(
        "SELECT * FROM PATTERNS(letters, x PERIOD 3 CONFIDENCE 0.3) [RANGE 9 SECONDS SLIDE 9 SECONDS]"
    )
    rows = query.run("gateway").given.select("pattern", "count", "segments").rows()  # type: ignore[union-attr]
    ours = {pattern: (count, segments) for pattern, count, segments in rows}
    expected = _enumerated("abcabbabc", 3, 0.3)
    return exact(
        f"{len(expected)} patterns, by enumeration of all sets of letters",
        f"{len(ours)} patterns",
        ours == expected,
        data=ours,
    )


def _enumerated(text: str, period: int, least: float) -> dict[str, tuple[int, int]]:
    """Every way to put stars for letters of every segment, and in how many segments it is."""
    segments = [text[at : at + period] for at in range(0, len(text), period)]
    masks = range(1, 2**period)
    texts = {
        "".join(c if mask >> n & 1 else "*" for n, c in enumerate(s)) for s in segments for mask in masks
    }
    counts = {p: sum(all(a in ("*", b) for a, b in zip(p, s, strict=True)) for s in segments) for p in texts}
    return {p: (count, len(segments)) for p, count in counts.items() if count / len(segments) >= least}


def _daily(folder: Path) -> dict[str, Any]:
    readings = pl.read_csv(folder / "readings.csv.gz").select(
        pl.col("ts").str.to_datetime("%Y-%m-%d %H:%M:%S%.f").dt.epoch("us").alias("time"),
        pl.col("moteid").alias("id"),
        pl.col("temperature").cast(pl.Float64),
    )
    database = connect()
    database.execute("CREATE STREAM readings (temperature FLOAT) PUSHED DELAY 1 HOUR")
    database.append("readings", readings.sort("time"))
    query = database.sql(
        "SELECT * FROM PERIODS(readings, temperature LEVELS 8 BETWEEN 15 AND 35 EVERY 1 HOUR UP TO 36 SEGMENTS ALL "
        "CONFIDENCE 0) [RANGE 3 DAYS SLIDE 1 DAY]"
    )
    rows = query.run("gateway").given
    assert isinstance(rows, pl.DataFrame)
    days = rows.filter(pl.col("tick") == _end_of_day(readings["time"].to_numpy()))
    best = (
        days.filter(pl.col("period") >= 12)
        .sort("id", "confidence", "period", descending=[False, True, False])
        .group_by("id", maintain_order=True)
        .first()
    )
    daily = best.filter(pl.col("period").is_between(23, 25)).height
    low, *_, high = sorted(best["confidence"].to_list())
    return claimed(
        "no figure; our bar is a day, 23 to 25 hours, for 44 of 52 motes",
        f"{daily} of {best.height} motes; confidences {low:.2f} to {high:.2f}",
        daily >= 44,
        data=best.select("id", "period", "confidence").rows(),
    )


def _end_of_day(times: np.ndarray) -> int:
    """The midnight after the last reading."""
    return (int(times.max()) // DAY + 1) * DAY


def _anomalies(folder: Path) -> dict[str, Any]:
    labelled = read_labelled(folder)
    database = connect()
    database.execute("CREATE STREAM nab (id STRING, value FLOAT) PUSHED DELAY 1 HOUR")
    readings = labelled.readings.sort("time")
    database.append("nab", readings)
    ours, least = [], 100.0
    for name, detector in DETECTORS.items():
        found = database.sql(detector.question).run("gateway").given
        assert isinstance(found, pl.DataFrame)
        best, threshold = best_score(found, labelled)
        least = min(least, best)
        text = f"{name} {best:.1f} (threshold {threshold:.1f})"
        if detector.usual is not None:  # a deviation of NULL is beyond every threshold
            usual = found.filter(pl.col("score").is_null() | (pl.col("score") > detector.usual))
            text += f", {score(usual, labelled):.1f} at the default of {detector.usual:g}"
        ours.append(text)
    gaussian, _ = best_score(windowed_gaussian(labelled), labelled)
    chance = [best_score(random_scores(labelled, seed), labelled)[0] for seed in range(DRAWS)]
    ours.append(
        f"on the same series a windowed Gaussian has {gaussian:.1f}, and chance {np.mean(chance):.1f} on average"
    )
    return claimed(
        "published scores of all 58 series, standard profile: Numenta HTM 70.1, Twitter ADVec 47.1, windowed Gaussian 39.6, "
        f"Etsy Skyline 35.7, Bayesian change point {SIMPLE}, EXPoSE 16.4, random 11.0, no detector 0; each of ours should be "
        f"better than {SIMPLE}",
        "; ".join(ours),
        least > SIMPLE,
    )
