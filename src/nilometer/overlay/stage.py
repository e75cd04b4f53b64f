"""One stage of a join at one peer: the rows of each port, and the results of new rows with those that are kept.

A row has `@key`, and per input i in it `@position<i>`, `@time<i>` and its columns `<i>.<column>`. The laws: rows with the
same positions are one row, however often they come; so are results, which their reader drops by the same rule. A result
is found when its last row comes, in whatever order they come. A row is kept until no row that it could join with can
come any more, and `slack` longer, so that another peer can take over.

Only rows whose key this peer owns join. The others are copies; when their keys become ours, `results_of` finds all
results of them again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import numpy.typing as npt
import polars as pl

from nilometer.kernels.arrays import Words
from nilometer.overlay.join_plan import JoinPlan
from nilometer.overlay.names import KEY, position, time, value
from nilometer.overlay.worth import WORTH, worth_of

CHUNKS = 64
"""A frame in more chunks than this is copied into one: a join looks at each of them."""
Owned = Callable[[Words], npt.NDArray[np.bool_]]


class StageWindows:
    """The kept rows of a stage, by port."""

    def __init__(self, plan: JoinPlan, number: int, most_rows: int) -> None:
        self._plan, self._stage = plan, plan.stages[number]
        self._most = [plan.most_rows(port, most_rows) for port in self._stage.ports]
        self._kept: list[pl.DataFrame | None] = [None for _ in self._stage.ports]
        self.shed = self.overdue = 0
        """Rows that were dropped because memory is bounded, and rows that came too late to be sure of their results."""

    def use(self, plan: JoinPlan) -> None:
        """Join by other windows from now on. Rows that were dropped do not come back by themselves."""
        self._plan = plan

    @property
    def height(self) -> int:
        """How many rows are kept."""
        return sum(0 if kept is None else kept.height for kept in self._kept)

    def insert(self, port: int, rows: pl.DataFrame, owned: Owned) -> tuple[pl.DataFrame, pl.DataFrame | None]:
        """Keep rows. Returns those that are new and ours, and their results."""
        ids = [position(one) for one in self._stage.ports[port]]
        rows = rows.unique(ids, keep="first", maintain_order=True)
        kept = self._kept[port]
        if kept is not None:
            rows = rows.join(kept.select(ids), on=ids, how="anti")
        new = rows.filter(owned(rows.get_column(KEY).to_numpy())) if rows.height else rows
        found = self._join(port, new) if new.height else None
        if rows.height:
            kept = rows if kept is None else pl.concat([kept, rows.select(kept.columns)])
            if kept.n_chunks() > CHUNKS:
                kept = kept.rechunk()
            self._kept[port] = self._bounded(port, kept, owned)
        return new, found

    def results_of(self, owned: Owned) -> pl.DataFrame | None:
        """All results of the keys that are in an arc."""
        first = self._kept[0]
        if first is None or not first.height:
            return None
        mine = first.filter(owned(first.get_column(KEY).to_numpy()))
        return self._join(0, mine) if mine.height else None

    def rows_of(self, port: int, owned: Owned) -> pl.DataFrame | None:
        """The kept rows of the keys in an arc."""
        kept = self._kept[port]
        if kept is None or not kept.height:
            return None
        mine = kept.filter(owned(kept.get_column(KEY).to_numpy()))
        return mine if mine.height else None

    def expire(self, watermarks: Mapping[str, int], slack: int) -> None:
        """Drop the rows that no new row of this stage can join. A new row has a new reading of at least one input j, whose
        time is at least W_j: it is out of reach of a row with an i for which t_i + widths[i][j] < W_j."""
        for port, kept in enumerate(self._kept):
            if kept is not None and kept.height:
                over = self._over(port, watermarks, slack)
                if over is not None:
                    self._kept[port] = kept.filter(~over)

    def count_overdue(self, port: int, rows: pl.DataFrame, watermarks: Mapping[str, int], slack: int) -> None:
        """Count the rows that come so long after their stream's watermark that their partners may be gone."""
        late = [
            pl.col(time(one)) < reached - slack
            for one in self._stage.ports[port]
            if (reached := watermarks.get(self._plan.inputs[one].stream.lower())) is not None
        ]
        if late:
            self.overdue += rows.select(pl.any_horizontal(late).sum()).item()

    def _over(self, port: int, watermarks: Mapping[str, int], slack: int) -> pl.Expr | None:
        members = self._stage.ports[port]
        parts = []
        for other in set(self._stage.members) - set(members):
            reached = watermarks.get(self._plan.inputs[other].stream.lower())
            if reached is None:
                return None
            parts.append(
                pl.any_horizontal(
                    pl.col(time(one)) < reached - slack - self._plan.widths[one][other] for one in members
                )
            )
        return pl.all_horizontal(parts)

    def _bounded(self, port: int, kept: pl.DataFrame, owned: Owned) -> pl.DataFrame:
        """At most so many rows of our own, and as many copies: those that are worth most by the plan's policy."""
        most = self._most[port]
        if kept.height <= most:
            return kept
        mine = owned(kept.get_column(KEY).to_numpy())
        ours, copies = kept.filter(mine), kept.filter(~mine)
        self.shed += max(0, ours.height - most)
        return pl.concat([self._best(port, rows, most) for rows in (ours, copies)])

    def _best(self, port: int, rows: pl.DataFrame, most: int) -> pl.DataFrame:
        if rows.height <= most:
            return rows
        members = self._stage.ports[port]
        others = [kept for at, kept in enumerate(self._kept) if at != port and kept is not None]
        worth = worth_of(self._plan, members, rows, others)
        return rows.with_columns(worth.alias(WORTH)).sort(WORTH, maintain_order=True).tail(most).drop(WORTH)

    def _join(self, port: int, new: pl.DataFrame) -> pl.DataFrame | None:
        found = new
        members = list(self._stage.ports[port])
        others = [one for one in range(len(self._kept)) if one != port]
        for other in others:
            kept = self._kept[other]
            if kept is None or not kept.height:
                return None
            found = found.join(kept, on=KEY, how="inner")
            if not found.height:
                return None
            found = found.filter(self._condition(members, self._stage.ports[other]))
            members += self._stage.ports[other]
        return found if found.height else None

    def _condition(self, left: Sequence[int], right: Sequence[int]) -> list[pl.Expr]:
        """The widths and equalities between two sets of inputs. Keys are hashes, so the values are compared too."""
        widths = self._plan.widths
        parts = [
            (pl.col(time(j)) - pl.col(time(i)) <= widths[i][j])
            & (pl.col(time(i)) - pl.col(time(j)) <= widths[j][i])
            for i in left
            for j in right
        ]
        for one in self._plan.classes:
            mine = [value(at, column) for at, column in one if at in left]
            theirs = [value(at, column) for at, column in one if at in right]
            parts += [pl.col(mine[0]) == pl.col(name) for name in theirs if mine]
        return parts
