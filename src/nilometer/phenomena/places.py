"""Where each source is: the place of its last reading at or before an evaluation.

A source that stays where it was costs one comparison a reading; only new places are kept.
"""

from __future__ import annotations

import polars as pl

from nilometer.operators import frames
from nilometer.operators.logic import ID, POSITION, TIME
from nilometer.operators.order import source_order
from nilometer.operators.waiting import Waiting

FIRST = "@first"
X, Y = "@x", "@y"
_KNOWN_X, _KNOWN_Y = "@known_x", "@known_y"


class Places:
    """The places of sources; `release` gives those that have changed."""

    def __init__(self, id_dtype: pl.DataType) -> None:
        place: frames.Dtypes = {X: pl.Float64(), Y: pl.Float64()}
        self._where = frames.empty({ID: id_dtype} | place)
        seen: frames.Dtypes = {ID: id_dtype, TIME: pl.Int64(), POSITION: pl.Int64(), FIRST: pl.Int64()}
        self._seen = seen | place
        self._waiting = Waiting(self._seen, gate=FIRST)
        self._changed = frames.empty({ID: id_dtype, FIRST: pl.Int64()} | place)
        self._saved = frames.Saved()

    def add(self, rows: pl.DataFrame) -> None:
        """Take readings with their places, and the evaluation (FIRST) from which each counts."""
        self._waiting.add(rows)

    def release(self, watermark: int, since: int) -> pl.DataFrame:
        """The sources that are elsewhere from an evaluation below the watermark on: (ID, FIRST, X, Y), by source.
        No evaluation comes before `since`."""
        rows = self._waiting.release(watermark)
        self._changed = self._changed.clear()
        if not rows.height:
            return self._changed
        known = self._where.rename({X: _KNOWN_X, Y: _KNOWN_Y}).with_columns(pl.lit(True).alias("@known"))
        beside = rows.select(ID, X, Y).join(known, on=ID, how="left", maintain_order="left")
        moved = beside.select(
            (pl.col(X).ne_missing(pl.col(_KNOWN_X)) | pl.col(Y).ne_missing(pl.col(_KNOWN_Y)))
            | pl.col("@known").is_null()
        ).to_series()
        if not moved.any():
            return self._changed
        movers = rows.filter(moved).get_column(ID).unique()
        mine = rows.filter(pl.col(ID).is_in(movers.implode()))
        mine = mine.with_columns(pl.col(FIRST).clip(lower_bound=since))
        last = source_order(mine, [X, Y]).group_by(ID, FIRST, maintain_order=True).last().sort(ID, FIRST)
        known = self._where.filter(pl.col(ID).is_in(movers.implode()))
        known = known.with_columns(pl.lit(None, dtype=pl.Int64).alias(FIRST)).select(self._changed.columns)
        every = pl.concat([known, last.select(self._changed.columns)]).sort(ID, FIRST, nulls_last=False)
        same = pl.all_horizontal(pl.col(name).eq_missing(pl.col(name).shift(1)) for name in (ID, X, Y))
        self._changed = every.filter(pl.col(FIRST).is_not_null() & ~same)
        now = last.group_by(ID, maintain_order=True).last().select(self._where.columns)
        kept = self._where.filter(~pl.col(ID).is_in(movers.implode()))
        self._where = pl.concat([kept, now]).sort(ID)
        return self._changed

    def at(self, asked: pl.DataFrame, tick: str, before: pl.DataFrame) -> pl.DataFrame:
        """`asked` with X and Y: where each ID was at its tick. `before` are the places before this round."""
        held = before.rename({X: _KNOWN_X, Y: _KNOWN_Y})
        found = asked.join(held, on=ID, how="left", maintain_order="left")
        if not self._changed.height:
            return found.rename({_KNOWN_X: X, _KNOWN_Y: Y})
        events = self._changed.with_columns(pl.lit(True).alias("@event")).sort(FIRST)
        found = found.with_row_index("@row").sort(tick)
        found = found.join_asof(events, left_on=tick, right_on=FIRST, by=ID, check_sortedness=False)
        changed = pl.col("@event").is_not_null()
        return (
            found.with_columns(
                pl.when(changed).then(pl.col(X)).otherwise(pl.col(_KNOWN_X)).alias(X),
                pl.when(changed).then(pl.col(Y)).otherwise(pl.col(_KNOWN_Y)).alias(Y),
            )
            .sort("@row")
            .drop(_KNOWN_X, _KNOWN_Y, "@event", "@row", *([FIRST] if tick != FIRST else []), strict=False)
        )

    @property
    def where(self) -> pl.DataFrame:
        """(ID, X, Y) of every source heard."""
        return self._where

    def snapshot(self) -> dict[str, bytes]:
        """Returns the places as panes."""
        return self._waiting.snapshot("moves") | {"where": self._saved(self._where)}

    def restore(self, panes: dict[str, bytes]) -> None:
        """Take back what `snapshot` gave."""
        self._waiting.restore("moves", panes)
        self._where = self._saved.load(panes["where"])
