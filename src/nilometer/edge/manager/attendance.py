"""Who was heard when -> what was to be expected of each sensor, what is missing, and who has fallen silent.

A sensor is expected to be heard once an interval (EVERY or EXPECT, or what was last demanded), from when it was declared or first heard on; a
reading counts as missing when an interval has passed beyond the one it was due in. Silent is who was not heard for three (language.md,
SILENT). Times are those of a clock that does not jump. Columnar: a batch costs one grouping of its ids.
"""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

SILENCES = 3
_PIECES = 64
_ID, _FIRST, _LAST, _COUNT = "id", "first", "last", "count"


@dataclass(frozen=True)
class Attended:
    """Of all sensors of a stream: the readings expected and missing so far, how many were heard, and who is silent."""

    expected: int | None
    missing: int | None
    sensors: int
    silent: tuple[int | str, ...]


class Attendance:
    """The sensors of one stream. `interval` is None while nothing is expected of them."""

    def __init__(self, interval: int | None, now: int, declared: pl.Series | None = None) -> None:
        self.interval = interval
        self._pieces: list[pl.DataFrame] = []
        self._since = now
        self._expected: pl.DataFrame | None = None
        if declared is not None and len(declared):
            self._note(declared.alias(_ID), now, 0)

    def heard(self, ids: pl.Series, now: int) -> None:
        """Readings of these sensors came."""
        if len(ids):
            self._note(ids.drop_nulls().alias(_ID), now, 1)

    def expect(self, interval: int | None, now: int) -> None:
        """From now on they are heard so often; what was expected before stays so."""
        if interval != self.interval:
            self._expected = self._due(now)
            self._since, self.interval = now, interval

    def report(self, now: int) -> Attended:
        """Where things stand."""
        sensors = self._sensors()
        if sensors is None or (self.interval is None and self._expected is None):
            return Attended(None, None, 0 if sensors is None else sensors.height, ())
        due = self._due(now).join(sensors, on=_ID, how="left")
        expected = int(due["due"].sum())
        missing = int((due["due"] - due[_COUNT]).clip(lower_bound=0).sum())
        silent: tuple[int | str, ...] = ()
        if self.interval is not None:
            late = (now - pl.max_horizontal(_LAST, pl.lit(self._since))) > SILENCES * self.interval
            silent = tuple(sensors.filter(late).get_column(_ID).sort().to_list())
        return Attended(expected, missing, sensors.height, silent)

    def _due(self, now: int) -> pl.DataFrame:
        """How many readings of each sensor were due before now."""
        sensors = self._sensors()
        if sensors is None:
            return pl.DataFrame(schema={_ID: pl.Int64(), "due": pl.Int64()})
        since = pl.max_horizontal(pl.col(_FIRST), pl.lit(self._since))
        added = pl.lit(0) if self.interval is None else ((now - since) // self.interval).clip(lower_bound=0)
        due = sensors.select(_ID, added.cast(pl.Int64).alias("due"))
        if self._expected is None or not self._expected.height:
            return due
        both = due.join(self._expected, on=_ID, how="left", suffix="_before")
        return both.select(_ID, pl.col("due") + pl.col("due_before").fill_null(0))

    def _note(self, ids: pl.Series, now: int, count: int) -> None:
        found = ids.to_frame().group_by(_ID).len(_COUNT)
        piece = found.select(
            _ID,
            pl.lit(now).alias(_FIRST),
            pl.lit(now).alias(_LAST),
            (pl.col(_COUNT) * count).cast(pl.Int64),
        )
        self._pieces.append(piece)
        if len(self._pieces) >= _PIECES:
            self._sensors()

    def _sensors(self) -> pl.DataFrame | None:
        if len(self._pieces) > 1:
            whole = pl.concat(self._pieces).group_by(_ID)
            self._pieces = [whole.agg(pl.col(_FIRST).min(), pl.col(_LAST).max(), pl.col(_COUNT).sum())]
        return self._pieces[0] if self._pieces else None
