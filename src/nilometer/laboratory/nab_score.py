"""The score of the Numenta Anomaly Benchmark (Lavin, Ahmad 2015), standard profile.

Each labelled window gives up to 1 for its earliest detection, by a sigmoid of the place in the window, and -1 if there is
none. A detection elsewhere costs up to 0.11, less shortly behind a window. Readings in the first 15 % of a series (at most
750) are probation and count for nothing. The sum is scaled so that no detections give 0 and perfect ones 100.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl

FALSE = 0.11
"""The cost of a false positive in the standard profile."""
PROBATION, MOST_PROBATION = 0.15, 750


@dataclass(frozen=True)
class Labelled:
    """Readings (time, id, value) of several series, and the windows of each."""

    readings: pl.DataFrame
    windows: dict[str, list[tuple[int, int]]]


def read_labelled(folder: Path) -> Labelled:
    """The series and windows of a folder."""
    form = "%Y-%m-%d %H:%M:%S%.f"
    readings = pl.read_csv(folder / "series.csv.gz", schema_overrides={"value": pl.Float64}).select(
        pl.col("timestamp").str.to_datetime(form).dt.epoch("us").alias("time"),
        pl.col("series").alias("id"),
        pl.col("value").cast(pl.Float64),
    )
    known = set(readings["id"].unique())
    windows: dict[str, list[tuple[int, int]]] = {}
    for name, spans in json.loads((folder / "anomaly_windows.json").read_text()).items():
        series = name.removesuffix(".csv")
        if series in known:
            ends = pl.Series([end for span in spans for end in span], dtype=pl.String)
            moments = ends.str.to_datetime(form).dt.epoch("us").to_list()
            windows[series] = list(zip(moments[::2], moments[1::2], strict=True))
    return Labelled(readings, windows)


def sigmoid(place: float) -> float:
    """1 well before the end of a window (place -1), 0 at its end, -1 well behind it."""
    return -1.0 if place > 3.0 else 2.0 / (1.0 + math.exp(5.0 * place)) - 1.0


def _worths(labelled: Labelled) -> pl.DataFrame:
    """What a detection at each reading is worth, and the number of the window it is in (-1: in none). Those of the probation
    are left out."""
    parts, windows = [], 0
    for series, spans in labelled.windows.items():
        times = np.sort(labelled.readings.filter(pl.col("id") == series)["time"].to_numpy())
        places = np.arange(len(times))
        edges = [
            (int(np.searchsorted(times, a)), int(np.searchsorted(times, b, side="right")) - 1)
            for a, b in spans
        ]
        worth, window = np.full(len(times), -FALSE), np.full(len(times), -1)
        for begin, end in sorted(edges):
            worth[end + 1 :] = FALSE * _sigmoids((places[end + 1 :] - end) / max(end - begin, 1))
        for begin, end in edges:
            inside = slice(begin, end + 1)
            worth[inside] = _sigmoids((places[inside] - end - 1) / (end - begin + 1)) / sigmoid(-1.0)
            window[inside] = windows
            windows += 1
        found = pl.DataFrame({"time": times, "worth": worth, "window": window}).with_columns(
            pl.lit(series).alias("id")
        )
        parts.append(found[min(int(PROBATION * len(times)), MOST_PROBATION) :])
    return pl.concat(parts).unique(["id", "time"], keep="first", maintain_order=True)


def _sigmoids(places: np.ndarray) -> np.ndarray:
    return np.array([sigmoid(place) for place in places.tolist()])


def at_readings(found: pl.DataFrame, labelled: Labelled) -> pl.DataFrame:
    """Detections (time, id, score) at the reading at or after their time: a subsequence may end between two. Of several, the
    greatest score counts."""
    readings = labelled.readings.select("id", "time", pl.col("time").alias("at")).sort("id", "time")
    return (
        found.sort("id", "time")
        .join_asof(readings, on="time", by="id", strategy="forward", check_sortedness=False)
        .drop_nulls("at")
        .group_by("id", pl.col("at").alias("time"))
        .agg(pl.col("score").max())
    )


def best_score(found: pl.DataFrame, labelled: Labelled) -> tuple[float, float]:
    """The best score of detections (time, id, score) over all thresholds, one for all series, and that threshold: as NAB
    chooses it. A threshold that nothing reaches has the score 0."""
    known = at_readings(found.filter(pl.col("score").is_not_null()), labelled)
    ordered = known.join(_worths(labelled), on=["id", "time"]).sort("score", descending=True)
    windows = sum(map(len, labelled.windows.values()))
    hits: dict[int, float] = {}
    raw, best = -float(windows), (0.0, math.inf)
    scores = [*ordered["score"].to_list(), None]
    for place, (worth, window) in enumerate(ordered.select("worth", "window").iter_rows()):
        if window < 0:
            raw += worth
        else:  # of all detections in a window the best one counts; without any it was -1
            raw += max(worth - hits.get(window, -1.0), 0.0)
            hits[window] = max(worth, hits.get(window, -1.0))
        if scores[place] != scores[place + 1]:
            best = max(best, (100.0 * (raw + windows) / (2.0 * windows), scores[place]))
    return best


def score(found: pl.DataFrame, labelled: Labelled) -> float:
    """The score of detections (time, id), from 0 (none) to 100 (perfect). Bad ones are below 0."""
    known = at_readings(found.select("time", "id", pl.lit(1.0).alias("score")), labelled)
    counted = known.join(_worths(labelled), on=["id", "time"])
    windows = sum(map(len, labelled.windows.values()))
    inside = pl.col("window") >= 0
    hits = counted.filter(inside).group_by("window").agg(pl.col("worth").max())["worth"]
    raw = float(counted.filter(~inside)["worth"].sum()) + float(hits.sum()) - (windows - len(hits))
    return 100.0 * (raw + windows) / (2.0 * windows) if windows else 0.0
