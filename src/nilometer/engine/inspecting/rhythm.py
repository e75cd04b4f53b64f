"""Measures when readings come: the interval, disorder, doubles and gaps, for each sensor and in the file's order.

All is columnar, over the times and ids in the order of the data.
"""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from nilometer.types import DAY, HOUR, MINUTE, SECOND

REGULAR = 0.95
"""The share of times on the grid of the interval from which on a stream counts as sensed."""
STEADY = 2.0
"""How far the quartiles of the intervals may be apart if an interval is to be expected."""
MEASURED = HOUR
"""Disorder beyond this is not the delay of a network, but the order in which files were put together."""
LONG = 3
"""A gap is longer than so many intervals."""


@dataclass(frozen=True)
class Rhythm:
    """`interval` is the usual time from one reading of a sensor to the next; `regular` whether the times lie on
    its multiples. `displaced` rows come after a later one, the most by `disorder` microseconds. `grouped`: the
    rows of each sensor stand together. `doubles` have the sensor and the time of another row, `copies` are equal to
    it in everything."""

    rows: int
    sensors: int
    first: int
    last: int
    interval: int | None
    regular: bool
    steady: bool
    displaced: int
    disorder: int
    grouped: bool
    doubles: int
    copies: int
    gaps: int
    longest_gap: int
    longest_of: str | None
    crowded: int
    """The most rows of one sensor in one interval."""


def rhythm_of(times: pl.Series, ids: pl.Series | None, rows: pl.DataFrame) -> Rhythm | None:
    """The rhythm of readings; None if none has a time."""
    source = ids if ids is not None else pl.Series([None], dtype=pl.Int64).new_from_index(0, times.len())
    whole = pl.DataFrame({"time": times, "id": source})
    sound = whole.filter(pl.col("time").is_not_null())
    if not sound.height:
        return None
    latest = sound["time"].cum_max()
    behind = latest - sound["time"]
    ordered = sound.sort("id", "time", nulls_last=False)
    steps = ordered.with_columns(
        step=pl.col("time").diff(), same=pl.col("id").eq_missing(pl.col("id").shift(1))
    )
    apart = steps.filter(pl.col("same").fill_null(False) & (pl.col("step") > 0))
    interval, steady = _interval(apart["step"])
    grid = interval is not None and _share(ordered["time"] % interval == 0) >= REGULAR
    changes = int((sound["id"].ne_missing(sound["id"].shift(1))).sum())
    sensors = sound["id"].n_unique()
    doubles = sound.height - sound.unique(["time", "id"]).height
    gaps = apart.filter(pl.col("step") > LONG * (interval or DAY))
    longest = gaps.sort("step", descending=True).head(1)
    crowded = 1
    if interval is not None:
        crowded = int(ordered.group_by(pl.col("time") // interval, "id").len()["len"].max() or 1)  # type: ignore[arg-type]
    times_sorted = ordered["time"]
    return Rhythm(
        rows=sound.height,
        sensors=sensors,
        first=int(times_sorted.min()),  # type: ignore[arg-type]
        last=int(times_sorted.max()),  # type: ignore[arg-type]
        interval=interval,
        regular=grid,
        steady=steady,
        displaced=int((behind > 0).sum()),
        disorder=int(behind.max() or 0),  # type: ignore[arg-type]
        grouped=sensors > 1 and changes <= sensors + 1,
        doubles=doubles,
        copies=rows.height - rows.unique().height if doubles else 0,
        gaps=gaps.height,
        longest_gap=int(longest["step"][0]) if longest.height else 0,
        longest_of=str(longest["id"][0]) if longest.height and longest["id"][0] is not None else None,
        crowded=crowded,
    )


def _share(marks: pl.Series) -> float:
    return float(marks.sum()) / max(1, marks.len())


def _interval(steps: pl.Series) -> tuple[int | None, bool]:
    """The usual step, and whether most steps are near it."""
    if steps.len() < 2:
        return None, False
    low, middle, high = (steps.quantile(share, "nearest") for share in (0.25, 0.5, 0.75))
    if not low or not middle or not high:
        return None, False
    return rounded(int(middle)), high / low <= STEADY


def rounded(duration: int) -> int:
    """The duration in whole units: of two digits of the largest unit that it has."""
    for unit in (DAY, HOUR, MINUTE, SECOND, SECOND // 1_000):
        if duration >= unit:
            near = round(duration / unit) * unit
            # 31.2 s is 31 s; 90 s is not 2 min
            if abs(near - duration) * 50 <= duration:
                return near
    return max(1, duration)


def rounded_up(duration: int) -> int:
    """The least of some usual lengths of time that is not shorter."""
    usual = [n * unit for unit in (SECOND, MINUTE, HOUR) for n in (1, 2, 5, 10, 15, 20, 30)] + [DAY, 7 * DAY]
    return next((length for length in sorted(usual) if length >= duration), -(-duration // DAY) * DAY)
