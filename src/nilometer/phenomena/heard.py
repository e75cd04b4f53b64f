"""How many readings of each source are in the window, whatever their class, for STRENGTH p PERCENT with GUIDE.

A sensor that is asked often must have more alike readings than one that is asked rarely. The readings of a window say
how often it was asked: they are in the log, and they change with the window, not all at once with a command. Readings
that count at the same evaluations are folded into a slice, as those of a class (candidates.py).
"""

from __future__ import annotations

import numpy as np
import polars as pl

from nilometer.kernels.arrays import Integers
from nilometer.operators import frames
from nilometer.operators.logic import ID, TICK
from nilometer.operators.panes import Panes
from nilometer.phenomena.places import FIRST
from nilometer.types import INT_MINIMUM

LAST = "@last"
_N = "n"


class Heard:
    """The readings of sources, counted. Slices of this round are kept until its evaluations are made."""

    def __init__(self, id_dtype: pl.DataType) -> None:
        columns: frames.Dtypes = {ID: id_dtype, FIRST: pl.Int64(), LAST: pl.Int64(), _N: pl.Int64()}
        self._slices = Panes(LAST, columns, None)
        self._bound: int | None = None

    def __len__(self) -> int:
        return len(self._slices)

    def add(self, readings: pl.DataFrame, watermark: int) -> pl.DataFrame:
        """Take readings (ID, FIRST, LAST). Returns the sources whose count can change, and the evaluations (ID, FIRST)."""
        keys = [ID, FIRST, LAST]
        kept = readings.filter(pl.col(LAST) > pl.col(FIRST)).select(keys)
        made = kept.group_by(keys).len(_N).with_columns(pl.col(_N).cast(pl.Int64)).sort(keys)
        self._slices.append(made)
        leaving = self._slices.between(None, watermark - 1).select(ID, pl.col(LAST).alias(FIRST))
        return pl.concat([made.select(ID, FIRST), leaving]).unique().sort(ID, FIRST)

    def at(self, asked: pl.DataFrame) -> Integers:
        """The counts for rows of (ID, TICK)."""
        held = self._slices.between(None, 2**63 - 1)
        counts = np.zeros(asked.height, dtype=np.int64)
        rows = asked.select(ID, TICK).with_row_index("@row").sort(TICK)
        for edge, sign in ((FIRST, 1), (LAST, -1)):
            # What has come in or gone out up to a tick.
            events = held.group_by(ID, edge).agg(pl.col(_N).sum()).sort(edge, ID)
            events = events.with_columns(pl.col(_N).cum_sum().over(ID))
            found = rows.join_asof(events, left_on=TICK, right_on=edge, by=ID, check_sortedness=False)
            counts[found["@row"].to_numpy()] += sign * found[_N].fill_null(0).to_numpy()
        return counts

    def forget(self, watermark: int) -> None:
        """Drop the slices that no evaluation to come can see."""
        self._slices.expire(watermark)
        self._bound = watermark

    def snapshot(self) -> dict[str, bytes]:
        """Returns the slices as panes."""
        panes = self._slices.snapshot("heard")
        return panes | {"heard from": str(INT_MINIMUM if self._bound is None else self._bound).encode()}

    def restore(self, panes: dict[str, bytes]) -> None:
        """Take back what `snapshot` gave."""
        self._bound = int(panes["heard from"])
        self._slices.restore("heard", panes, self._bound)
