"""Readings in time order -> readings as they arrive: lost, silent, duplicated, shuffled within a bound, late.

The law: the same seed gives the same frame; with `late` 0 no reading arrives more than `delay` behind one
with a later time, so a stream declared with that DELAY has no late tuple.

>>> import polars as pl
>>> calm = pl.DataFrame({"time": [0, 1, 2], "id": [1, 1, 1], "value": [1.0, 2.0, 3.0]})
>>> disorder(calm, Disorder(), seed=7).equals(calm)
True
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import polars as pl

from nilometer.types import MINUTE

_ARRIVAL = "@arrival"


@dataclass(frozen=True, slots=True)
class Disorder:
    """The parameters. Fractions are shares of the readings, except `silent`: the share of its time in which a
    sensor is silent, in runs of `silence`. Durations are microseconds. Late readings come up to `lateness`
    (default: `delay` plus a minute) too late."""

    delay: int = 0
    drop: float = 0.0
    duplicate: float = 0.0
    late: float = 0.0
    null: float = 0.0
    silent: float = 0.0
    silence: int = 10 * MINUTE
    lateness: int | None = None

    def __post_init__(self) -> None:
        for name in ("drop", "duplicate", "late", "null", "silent"):
            if not 0 <= getattr(self, name) <= 1:
                raise ValueError(f"{name} is a fraction between 0 and 1")
        if self.delay < 0 or self.silence <= 0 or (self.lateness is not None and self.lateness < 0):
            raise ValueError("a duration below zero")


def disorder(frame: pl.DataFrame, dials: Disorder, seed: int) -> pl.DataFrame:
    """The frame (time, id, values) as it arrives."""
    random = np.random.default_rng((seed, 1))
    rows = _silenced(frame, dials, random)
    rows = rows.filter(pl.Series(random.random(rows.height) >= dials.drop)) if dials.drop else rows
    rows = _nulled(rows, dials, random)
    if not (dials.delay or dials.late or dials.duplicate):
        return rows
    times = rows["time"].to_numpy()
    rows = rows.with_columns(pl.Series(_ARRIVAL, times + _delays(len(times), dials, random)))
    copies = rows.filter(pl.Series(random.random(rows.height) < dials.duplicate))
    again = copies["time"].to_numpy() + random.integers(0, dials.delay + 1, copies.height)
    copies = copies.with_columns(pl.Series(_ARRIVAL, np.maximum(copies[_ARRIVAL].to_numpy(), again)))
    return pl.concat([rows, copies]).sort(_ARRIVAL, maintain_order=True).drop(_ARRIVAL)


def _delays(count: int, dials: Disorder, random: np.random.Generator) -> npt.NDArray[np.int64]:
    delays = random.integers(0, dials.delay + 1, count)
    lateness = dials.delay + MINUTE if dials.lateness is None else dials.lateness
    late = random.random(count) < dials.late
    delays[late] = dials.delay + random.integers(lateness // 2, lateness + 1, int(late.sum()))
    return delays


def _nulled(rows: pl.DataFrame, dials: Disorder, random: np.random.Generator) -> pl.DataFrame:
    if not dials.null:
        return rows
    values = [name for name in rows.columns if name not in ("time", "id")]
    holes = {name: pl.Series(random.random(rows.height) < dials.null) for name in values}
    return rows.with_columns(pl.when(~holes[name]).then(pl.col(name)).alias(name) for name in values)


def _silenced(frame: pl.DataFrame, dials: Disorder, random: np.random.Generator) -> pl.DataFrame:
    """The frame without the readings that fall into a silent run of their sensor."""
    if not dials.silent or not frame.height:
        return frame
    first, last = int(frame["time"].min() or 0), int(frame["time"].max() or 0)  # type: ignore[arg-type]
    sensors = frame["id"].unique(maintain_order=True)
    # Runs that start at rate r and last s leave a sensor heard for exp(-r s) of its time.
    rate = -np.log1p(-min(dials.silent, 1 - 1e-9)) / dials.silence
    span = last - first + dials.silence
    counts = random.poisson(rate * span, len(sensors))
    starts = random.integers(first - dials.silence, last + 1, int(counts.sum()))
    runs = pl.DataFrame(
        {"id": sensors.gather(np.repeat(np.arange(len(sensors)), counts)), "start": starts}
    ).sort("start")
    joined = frame.sort("time", maintain_order=True).join_asof(
        runs, left_on="time", right_on="start", by="id", strategy="backward", check_sortedness=False
    )
    heard = pl.col("start").is_null() | (pl.col("time") - pl.col("start") >= dials.silence)
    return joined.filter(heard).drop("start")
