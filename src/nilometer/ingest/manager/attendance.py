"""Counts the readings that are expected of each sensor and those that are missing, and finds silent sensors.

Each sensor is expected to send one reading per interval (EVERY or EXPECT, or the interval last demanded of
it), from the moment it was declared or first sent. A reading counts as missing when one interval has passed
after the interval in which it was due. A sensor is silent when it has sent nothing for three intervals
(language.md, SILENT). Times are of a clock that does not jump. The work is columnar: batches wait, and are
grouped together when somebody asks, or when there are many. So a batch of one reading costs next to nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

SILENCES = 3
_BATCHES, _IDS = 256, 65_536
"""So many batches, or so many ids in them, wait to be grouped."""
_ID, _FIRST, _LAST, _COUNT, _INTERVAL = "id", "first", "last", "count", "interval"


@dataclass(frozen=True)
class Attended:
    """The attendance of a stream: readings expected and missing so far, the number of sensors known, and the
    silent ones."""

    expected: int | None
    missing: int | None
    sensors: int
    silent: tuple[int | str, ...]


class Attendance:
    """The sensors of one stream. `interval` holds for every sensor without an interval of its own; None:
    nothing is expected of them."""

    def __init__(self, interval: int | None, now: int, declared: pl.Series | None = None) -> None:
        self.interval = interval
        self._waiting: list[tuple[pl.Series, int, int]] = []
        self._ids = 0
        self._known: pl.DataFrame | None = None
        self._since = now
        self._expected: pl.DataFrame | None = None
        self._each: pl.DataFrame | None = None
        if declared is not None and len(declared):
            self._note(declared.alias(_ID), now, 0)

    def heard(self, ids: pl.Series, now: int) -> None:
        """Count one reading for each of these ids."""
        if len(ids):
            self._note((ids.drop_nulls() if ids.null_count() else ids).alias(_ID), now, 1)

    def expect(self, interval: int | None, now: int, each: pl.DataFrame | None = None) -> None:
        """Expect a reading per `interval` from now on; for the sensors in `each` (id, interval), per their
        own interval. Readings that were expected before stay expected."""
        same = (each is None and self._each is None) or (
            each is not None and self._each is not None and each.equals(self._each)
        )
        if interval != self.interval or not same:
            self._expected = self._due(now)
            self._since, self.interval, self._each = now, interval, each

    def report(self, now: int) -> Attended:
        """The attendance up to now."""
        sensors = self._sensors()
        nothing = self.interval is None and self._each is None and self._expected is None
        if sensors is None or nothing:
            return Attended(None, None, 0 if sensors is None else sensors.height, ())
        due = self._due(now).join(sensors, on=_ID, how="left")
        expected = int(due["due"].sum())
        missing = int((due["due"] - due[_COUNT]).clip(lower_bound=0).sum())
        late = (now - pl.max_horizontal(_LAST, pl.lit(self._since, dtype=pl.Int64))) > SILENCES * pl.col(
            _INTERVAL
        )
        silent = tuple(self._with_intervals(sensors).filter(late).get_column(_ID).sort().to_list())
        return Attended(expected, missing, sensors.height, silent)

    def _due(self, now: int) -> pl.DataFrame:
        """How many readings of each sensor were due before now."""
        sensors = self._sensors()
        if sensors is None:
            return pl.DataFrame(schema={_ID: pl.Int64(), "due": pl.Int64()})
        since = pl.max_horizontal(pl.col(_FIRST), pl.lit(self._since, dtype=pl.Int64))
        added = ((now - since) // pl.col(_INTERVAL)).clip(lower_bound=0).fill_null(0)
        due = self._with_intervals(sensors).select(_ID, added.cast(pl.Int64).alias("due"))
        if self._expected is None or not self._expected.height:
            return due
        both = due.join(self._expected, on=_ID, how="left", suffix="_before")
        return both.select(_ID, pl.col("due") + pl.col("due_before").fill_null(0))

    def _with_intervals(self, sensors: pl.DataFrame) -> pl.DataFrame:
        """The sensors with their intervals; NULL for a sensor of which nothing is expected."""
        common = pl.lit(self.interval, dtype=pl.Int64)
        if self._each is None or not self._each.height:
            return sensors.with_columns(common.alias(_INTERVAL))
        known = self._each.with_columns(pl.lit(True).alias("@known"))
        joined = sensors.join(known, on=_ID, how="left")
        return joined.with_columns(
            pl.when(pl.col("@known")).then(pl.col(_INTERVAL)).otherwise(common).alias(_INTERVAL)
        )

    def _note(self, ids: pl.Series, now: int, count: int) -> None:
        self._waiting.append((ids, now, count))
        self._ids += len(ids)
        if len(self._waiting) >= _BATCHES or self._ids >= _IDS:
            self._sensors()

    def _sensors(self) -> pl.DataFrame | None:
        """Each sensor with its first and last moment and the number of its readings."""
        if self._waiting:
            lengths = [len(ids) for ids, _, _ in self._waiting]
            moments = pl.Series(
                _FIRST, np.repeat([now for _, now, _ in self._waiting], lengths), dtype=pl.Int64
            )
            counts = pl.Series(
                _COUNT, np.repeat([count for *_, count in self._waiting], lengths), dtype=pl.Int64
            )
            ids = pl.concat([ids for ids, _, _ in self._waiting])
            fresh = pl.DataFrame([ids, moments, moments.alias(_LAST), counts])
            both = fresh if self._known is None else pl.concat([self._known, fresh])
            self._known = both.group_by(_ID).agg(
                pl.col(_FIRST).min(), pl.col(_LAST).max(), pl.col(_COUNT).sum()
            )
            self._waiting, self._ids = [], 0
        return self._known
