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


def score(found: pl.DataFrame, labelled: Labelled) -> float:
    """The score of detections (time, id), from 0 (none) to 100 (perfect)."""
    raw, windows = 0.0, 0
    for series, spans in labelled.windows.items():
        times = np.sort(labelled.readings.filter(pl.col("id") == series)["time"].to_numpy())
        first = min(int(PROBATION * len(times)), MOST_PROBATION)
        own = np.sort(found.filter(pl.col("id") == series)["time"].to_numpy())
        # A detection counts at the reading at or after it: a subsequence may end between two.
        places = np.unique(np.searchsorted(times, own))
        places = places[(places >= first) & (places < len(times))]
        raw += _of_series(times, places, spans)
        windows += len(spans)
    return 100.0 * (raw + windows) / (2.0 * windows) if windows else 0.0


def _of_series(times: np.ndarray, places: np.ndarray, spans: list[tuple[int, int]]) -> float:
    edges = [
        (int(np.searchsorted(times, a)), int(np.searchsorted(times, b, side="right")) - 1) for a, b in spans
    ]
    total = 0.0
    inside = np.zeros(len(places), dtype=np.bool_)
    for begin, end in edges:
        here = (places >= begin) & (places <= end)
        inside |= here
        if here.any():
            place = (int(places[here][0]) - end - 1) / (end - begin + 1)
            total += sigmoid(place) / sigmoid(-1.0)
        else:
            total -= 1.0
    for place in places[~inside].tolist():
        before = [(begin, end) for begin, end in edges if end < place]
        if not before:
            total -= FALSE
            continue
        begin, end = max(before, key=lambda edge: edge[1])
        total += FALSE * sigmoid((place - end) / max(end - begin, 1))
    return total


def best_score(found: pl.DataFrame, labelled: Labelled, steps: int = 40) -> tuple[float, float]:
    """The best score over thresholds of `score`, one for all series, and that threshold."""
    known = found.filter(pl.col("score").is_not_null())
    if not known.height:
        return 0.0, math.inf
    thresholds = np.unique(np.quantile(known["score"].to_numpy(), np.linspace(0.5, 1.0, steps)))
    scored = [(score(known.filter(pl.col("score") >= each), labelled), float(each)) for each in thresholds]
    return max(scored)
