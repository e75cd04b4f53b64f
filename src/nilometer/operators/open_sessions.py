"""The open sessions of a stream: tuples in the order of time -> the number of each one's session.

    tuples of a key at t1 <= t2 <= ... <= tn with no pause longer than d are one session

The tuples of a round are all those between two watermarks, so an earlier tuple can no longer join two sessions into
one. The state is a row for each session that is not over.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

import polars as pl

from nilometer.operators import frames
from nilometer.operators.limits import check_kept
from nilometer.operators.logic import TIME

SESSION = "@session"
FIRST = "@first"
END = "@end"
_RUN = "@run"
_ROW = "@row"


class OpenSessions:
    """Keys, first and last times and numbers of the sessions that are not over."""

    def __init__(self, keys: Sequence[str], columns: frames.Dtypes, pause: int) -> None:
        self._keys = list(keys)
        self._pause = pause
        self._columns: frames.Dtypes = {key: columns[key] for key in self._keys} | {
            FIRST: pl.Int64(),
            TIME: pl.Int64(),
            SESSION: pl.Int64(),
        }
        self._open = frames.empty(self._columns)
        self._next = 0
        self._saved = frames.Saved()

    def assign(self, new: pl.DataFrame) -> pl.Series:
        """The session of every new row, old or new. Its rows have `@time` and the keys."""
        moments = pl.concat(
            [
                self._open.with_columns(pl.lit(None, pl.Int64).alias(_ROW)),
                new.select(
                    *self._keys,
                    pl.col(TIME).alias(FIRST),
                    TIME,
                    pl.lit(None, pl.Int64).alias(SESSION),
                    pl.int_range(pl.len(), dtype=pl.Int64).alias(_ROW),
                ),
            ]
        ).sort(*self._keys, TIME)
        same = pl.all_horizontal(pl.col(key).eq_missing(pl.col(key).shift()) for key in self._keys)
        follows = same & (pl.col(TIME) - pl.col(TIME).shift() <= self._pause)
        first = pl.int_range(pl.len()) == 0
        runs = moments.with_columns((first | ~follows.fill_null(False)).cum_sum().alias(_RUN))
        found = runs.group_by(_RUN, maintain_order=True).agg(
            *(pl.col(key).first() for key in self._keys),
            pl.col(FIRST).min(),
            pl.col(TIME).max(),
            pl.col(SESSION).max(),
        )
        number = pl.int_range(pl.len(), dtype=pl.Int64) + self._next
        found = found.with_columns(pl.col(SESSION).fill_null(number))
        self._next += found.height
        self._open = found.select(*self._columns)
        check_kept(self._open.height)
        of_row = runs.filter(pl.col(_ROW).is_not_null()).join(
            found.select(_RUN, pl.col(SESSION).alias("@number")), on=_RUN, maintain_order="left"
        )
        return of_row.sort(_ROW).get_column("@number").alias(SESSION)

    def end(self, watermark: int) -> pl.DataFrame:
        """The sessions that are over, each with its first time and its end. They are open no longer."""
        late = pl.col(TIME) + self._pause < watermark
        over = self._open.filter(late)
        if over.height:
            self._open = self._open.filter(~late)
        return over.select(SESSION, FIRST, (pl.col(TIME) + self._pause).alias(END))

    def snapshot(self) -> dict[str, bytes]:
        """Returns the open sessions."""
        return {"open": self._saved(self._open), "meta": json.dumps({"next": self._next}).encode()}

    def restore(self, panes: dict[str, bytes]) -> None:
        """Take back a snapshot."""
        self._open = self._saved.load(panes["open"])
        self._next = json.loads(panes["meta"])["next"]
