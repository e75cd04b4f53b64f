"""The ids that nobody has declared and that only send readings: when each was heard, and its latest reading.

They get no proxy and no command: garbage may invent any number of them, and a command over MQTT is a retained message
for each. The fleet must know of them all the same, because a heartbeat must not overtake what they may still send. The
work is columnar, and a batch costs a grouping of its own ids. One that says something about itself gets a proxy; what is
known of it here only makes promises more careful, until it is old.
"""

from __future__ import annotations

import polars as pl

from nilometer.types import INT_MAXIMUM

MOST = 100_000
"""Of more ids, those that were heard last are kept."""
_PIECES = 64
_ID, _LATEST, _HEARD = "id", "latest", "heard"


class Strangers:
    """Those of one stream."""

    def __init__(self) -> None:
        self._pieces: list[pl.DataFrame] = []

    def __len__(self) -> int:
        return self._whole().height

    def hear(self, found: pl.DataFrame, identity: str, time: str, now: int) -> None:
        """Note the latest reading of each id."""
        if not found.height:
            return
        heard = pl.lit(now, dtype=pl.Int64).alias(_HEARD)
        times = pl.col(time).cast(pl.Int64).alias(_LATEST)
        self._pieces.append(found.select(pl.col(identity).alias(_ID), times, heard))
        if len(self._pieces) >= _PIECES:
            self._whole()

    def latest(self, since: int) -> int:
        """The least of the latest times of those that were heard after `since`; the greatest INT if there are none."""
        whole = self._whole()
        active = whole.filter(pl.col(_HEARD) > since).get_column(_LATEST) if whole.height else None
        least = None if active is None else active.min()
        return INT_MAXIMUM if least is None else int(least)  # type: ignore[arg-type]

    def _whole(self) -> pl.DataFrame:
        if len(self._pieces) > 1:
            groups = pl.concat(self._pieces).group_by(_ID)
            whole = groups.agg(pl.col(_LATEST).max(), pl.col(_HEARD).max())
            self._pieces = [whole if whole.height <= MOST else whole.sort(_HEARD).tail(MOST)]
        return self._pieces[0] if self._pieces else pl.DataFrame()
