"""The owner of buckets: keeps the rows of their windows, and computes their part of every answer.

The laws: rows with the same position are one row, claims of the same bucket and tick one claim, in whatever order they
come. A bucket's part of a tick is computed once all sides have claimed the tick and as many rows are there as claimed.
Rows and claims are kept `slack` longer than the slowest side needs them, so that an heir can compute the parts again.
"""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl

from nilometer.overlay.names import KEY
from nilometer.overlay.stage import Owned
from nilometer.overlay.tally.arithmetic import ROWS, parts
from nilometer.overlay.tally.claims import BEGUN, COUNT, TICK
from nilometer.overlay.tally.tally_plan import TallyPlan
from nilometer.types import INT_MINIMUM

PARTS = "@parts"
"""How many rows a bucket's part of a tick has."""
POSITION, TIME = "@position", "@time"
TICKS_AT_ONCE = 64
ROWS_LABEL, CLAIMS_LABEL = "rows", "claims"


class TallyStore:
    """The rows and claims of one question at one peer."""

    def __init__(self, plan: TallyPlan, most_rows: int) -> None:
        self._plan, self._most = plan, most_rows
        self._rows: list[pl.DataFrame | None] = [None for _ in plan.sides]
        self._claims: list[pl.DataFrame | None] = [None for _ in plan.sides]
        self._done: pl.DataFrame | None = None
        self._horizon = INT_MINIMUM
        self._changed = False
        self._reached: list[tuple[int, int]] = []
        """When all sides had claimed which tick."""
        self.shed = 0

    @property
    def height(self) -> int:
        """How many rows are kept."""
        return sum(0 if rows is None else rows.height for rows in self._rows)

    def insert(self, at: int, label: str, rows: pl.DataFrame) -> None:
        """Keep rows or claims of a side."""
        self._changed = True
        if label == CLAIMS_LABEL:
            rows = rows.filter(pl.col(TICK) >= self._horizon)
            self._claims[at] = _with(self._claims[at], rows, [KEY, TICK])
            return
        rows = rows.filter(pl.col(TIME) > self._horizon - self._plan.sides[at].width)
        kept = _with(self._rows[at], rows, [POSITION])
        if kept is not None and kept.height > self._most:
            self.shed += kept.height - self._most
            kept = kept.sort(TIME, maintain_order=True).tail(self._most)
        self._rows[at] = kept

    def parts_of(self, owned: Owned) -> list[pl.DataFrame]:
        """The parts of buckets that are ours and complete now, each once."""
        if not self._changed:
            return []
        self._changed = False
        ready = self._claimed(owned)
        found = []
        if ready is not None and ready.height:
            ticks = ready.get_column(TICK).unique().sort().to_list()
            for tick in ticks[:TICKS_AT_ONCE]:
                part = self._evaluated(tick, ready.filter(pl.col(TICK) == tick))
                if part is not None:
                    found.append(part)
            self._changed = len(ticks) > TICKS_AT_ONCE
        return found

    def again(self) -> None:
        """Have all parts computed again that can be."""
        self._done, self._changed = None, True

    def look(self) -> None:
        """The arc has changed."""
        self._changed = True

    def expire(self, now: int, slack: int) -> None:
        """Drop the rows and claims that no tick needs any more: those `slack` before the tick that all sides had claimed
        for some bucket `slack` ago. Streams may jump ahead, and claims of other buckets take their time."""
        reached = [
            INT_MINIMUM if claims is None or not claims.height else int(claims.get_column(TICK).max())  # type: ignore[arg-type]
            for claims in self._claims
        ]
        if not self._reached or min(reached) > self._reached[-1][1]:
            self._reached.append((now, min(reached)))
        old = [tick for moment, tick in self._reached if moment <= now - slack]
        self._reached = self._reached[max(0, len(old) - 1) :]
        slowest = old[-1] if old else INT_MINIMUM
        horizon = slowest - slack
        # Not at every tick: a copy of all rows is made.
        if slowest == INT_MINIMUM or horizon < self._horizon + max(slack // 4, self._plan.slide):
            return
        self._horizon = horizon
        for at, side in enumerate(self._plan.sides):
            rows, claims = self._rows[at], self._claims[at]
            if rows is not None:
                self._rows[at] = rows.filter(pl.col(TIME) > horizon - side.width)
            if claims is not None:
                self._claims[at] = claims.filter(pl.col(TICK) >= horizon)
        if self._done is not None:
            self._done = self._done.filter(pl.col(TICK) >= horizon)

    def kept_of(self, arc: Owned) -> Iterator[tuple[int, str, pl.DataFrame]]:
        """The rows and claims of an arc, for another peer."""
        for at in range(len(self._plan.sides)):
            for label, kept in ((ROWS_LABEL, self._rows[at]), (CLAIMS_LABEL, self._claims[at])):
                if kept is not None and kept.height:
                    mine = kept.filter(arc(kept.get_column(KEY).to_numpy()))
                    if mine.height:
                        yield at, label, mine

    def _claimed(self, owned: Owned) -> pl.DataFrame | None:
        """Our buckets and ticks that all sides have claimed, with their counts, and that are not done."""
        ready: pl.DataFrame | None = None
        for at, claims in enumerate(self._claims):
            if claims is None or not claims.height:
                return None
            named = claims.rename({COUNT: f"{COUNT}{at}", BEGUN: f"{BEGUN}{at}"})
            if ready is None:
                ready = named.filter(owned(named.get_column(KEY).to_numpy()))
                if self._done is not None:
                    ready = ready.join(self._done, on=[KEY, TICK], how="anti")
            else:
                ready = ready.join(named, on=[KEY, TICK], how="inner")
        return ready

    def _evaluated(self, tick: int, wanted: pl.DataFrame) -> pl.DataFrame | None:
        windows = []
        for at, side in enumerate(self._plan.sides):
            rows = self._rows[at]
            count = f"{COUNT}{at}"
            if rows is None:
                wanted = wanted.filter(pl.col(count) == 0)
                continue
            rows = rows.filter((pl.col(TIME) > tick - side.width) & (pl.col(TIME) <= tick))
            there = rows.group_by(KEY).agg(pl.len().cast(pl.Int64).alias("there"))
            wanted = wanted.join(there, on=KEY, how="left").filter(
                pl.col("there").fill_null(0) >= pl.col(count)
            )
            wanted = wanted.drop("there")
            windows.append(rows)
        if not wanted.height:
            return None
        done = wanted.select(KEY, TICK)
        self._done = done if self._done is None else pl.concat([self._done, done])
        begun = wanted.select(
            KEY, pl.any_horizontal(f"{BEGUN}{at}" for at in range(len(self._plan.sides))).alias(BEGUN)
        )
        if len(windows) < len(self._plan.sides):
            found = begun
        else:
            mine = [rows.join(done.select(KEY), on=KEY, how="semi") for rows in windows]
            found = begun.join(parts(self._plan, mine), on=KEY, how="left")
        if f"{ROWS}.high" not in found.columns:
            found = found.with_columns(
                *(pl.lit(0, pl.Int64).alias(f"{ROWS}.{half}") for half in ("high", "low"))
            )
        return found.with_columns(
            pl.lit(tick, pl.Int64).alias(TICK),
            pl.len().over(KEY).cast(pl.Int64).alias(PARTS),
            *(pl.col(f"{ROWS}.{half}").fill_null(0) for half in ("high", "low")),
        )


def _with(kept: pl.DataFrame | None, rows: pl.DataFrame, ids: list[str]) -> pl.DataFrame | None:
    """The kept rows and those of the new ones that are not among them."""
    rows = rows.unique(ids, keep="first", maintain_order=True)
    if kept is None:
        return rows if rows.height else None
    rows = rows.join(kept.select(ids), on=ids, how="anti")
    if not rows.height:
        return kept
    joined = pl.concat([kept, rows.select(kept.columns)])
    return joined.rechunk() if joined.n_chunks() > 64 else joined
