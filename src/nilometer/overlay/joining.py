"""The owner of keys (SQP): joins the rows of its arc, and passes results on (section 3.3).

Rows come under an index: of a stream (`place, stream, column`, indexing.py), of a stage (`@flow, stage`: results of the
stage before), or as they are kept (`#flow, stage, port`: from a peer that gives them up, or keeps copies here). All
rows of the last `slack` are remembered, so that a question that is heard of late misses none.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from nilometer.overlay.flow import Flow, beyond, fell_in_gap
from nilometer.overlay.indexing import POSITION, TIME, Select, Use, keys_of
from nilometer.overlay.messages import Put
from nilometer.overlay.names import KEY, position, time, value
from nilometer.overlay.ring import Contact
from nilometer.overlay.stage import Owned
from nilometer.overlay.wanted import wanted

if TYPE_CHECKING:
    from nilometer.overlay.peer import Peer

BATCH = 16_384
CAREFUL = 4
"""For so many times the slack, rows are kept after a takeover."""


class Joining:
    """The joins of one peer's arc."""

    def __init__(self, peer: Peer, select: Select) -> None:
        self._peer, self._select = peer, select
        self._uses: dict[str, list[Use]] = {}
        self._recent: list[tuple[int, str, pl.DataFrame]] = []
        self._expired: dict[str, int] = {}
        self._careful_until = 0

    @property
    def kept(self) -> int:
        """How many rows are kept."""
        return sum(windows.height for flow in self._peer.flows.values() for windows in flow.windows)

    @property
    def shed(self) -> int:
        """How many rows were dropped for want of memory."""
        return sum(windows.shed for flow in self._peer.flows.values() for windows in flow.windows)

    @property
    def overdue(self) -> int:
        """How many rows came too late to be sure of their results."""
        return sum(windows.overdue for flow in self._peer.flows.values() for windows in flow.windows)

    def changed(self, uses: dict[str, list[Use]], grown: Flow | None) -> None:
        """The questions have changed; one of them needs more of a flow than was needed before."""
        self._uses = uses
        if grown is not None:
            for _, index, rows in self._recent:
                self._insert(index, rows, only=grown)

    def narrowed(self, flow: Flow) -> None:
        """A question has ended: drop the rows that it alone needed."""
        for windows in flow.windows:
            windows.expire(self._peer.streams.watermarks(), self._kept_after)

    @property
    def _kept_after(self) -> int:
        """How long after its window a row is kept. After a takeover rows come again: their partners wait longer."""
        peer = self._peer
        return peer.settings.slack * (CAREFUL if peer.now < self._careful_until else 1)

    def take_rows(self, put: Put) -> None:
        """Rows have come."""
        self._recent.append((self._peer.now, put.index, put.rows))
        if not put.copy:
            self._peer.send_copies(put.index, put.rows)
        # Rows of the last owner are as old as a window.
        self._insert(put.index, put.rows, in_time=not put.again and not put.index.startswith("#"))

    def tick(self) -> None:
        """Forget what is over; send on what was withheld for streams that are heard again."""
        peer = self._peer
        horizon = peer.now - peer.settings.slack
        self._recent = [one for one in self._recent if one[0] >= horizon]
        watermarks = peer.streams.watermarks()
        moved, self._expired = watermarks != self._expired, watermarks
        slack = self._kept_after
        for flow in list(peer.flows.values()):
            for windows in flow.windows if moved else ():
                windows.expire(watermarks, slack)
            if flow.withheld and not peer.indexing.silent_inputs(flow):
                withheld, flow.withheld = flow.withheld, {}
                for stage, parts in withheld.items():
                    # Rows that were found from different ports have their columns in different order.
                    rows = pl.concat([part.select(parts[0].columns) for part in parts])
                    self._send_on(flow, stage, rows)

    # ---- arcs change hands -------------------------------------------------------------------------------------------

    def hand_over(self, peer: Contact, arc: Owned) -> None:
        """Another peer owns these keys now."""
        for index, rows in self._rows(arc):
            self._peer.send_rows(peer, index, rows)

    def copy_all(self, peer: Contact) -> None:
        """Give a new successor copies of all our rows."""
        for index, rows in self._rows(self._peer.owned):
            self._peer.books.copies += rows.height
            self._peer._send(peer, Put(index, rows, copy=True))

    def take_over(self, arc: Owned) -> None:
        """These keys are ours now: find the results of the copies, which their last owner may not have sent."""
        self._careful_until = self._peer.now + CAREFUL * self._peer.settings.slack
        for flow in list(self._peer.flows.values()):
            for stage, windows in enumerate(flow.windows):
                found = windows.results_of(arc)
                if found is not None:
                    self._emit(flow, stage, found)
        for index, rows in self._rows(arc):
            self._peer.send_copies(index, rows)

    def send_again(self, arc: Owned) -> None:
        """Another peer has taken an arc over: send it the rows of our stages that belong there."""
        for flow in list(self._peer.flows.values()):
            for stage, windows in enumerate(flow.windows[:-1]):
                found = windows.results_of(self._peer.owned)
                if found is not None:
                    keyed = self._keyed(flow, stage, found)
                    keyed = keyed.filter(arc(keyed.get_column(KEY).to_numpy()))
                    if keyed.height:
                        self._peer.routes.put(f"@{flow.plan.identity}\n{stage + 1}", keyed, again=True)

    def results_again(self, query: str) -> None:
        """The one who asked has lost results: find all again that can still be found."""
        known = self._peer.queries.get(query)
        if known is not None:
            flow = self._peer.flows[known.plan.shared]
            found = flow.windows[-1].results_of(self._peer.owned)
            if found is not None:
                self._deliver(flow, found, only=query)

    def _rows(self, arc: Owned) -> list[tuple[str, pl.DataFrame]]:
        return [
            (f"#{name}\n{stage}\n{port}", part)
            for name, flow in self._peer.flows.items()
            for stage, windows in enumerate(flow.windows)
            for port in range(len(flow.plan.stages[stage].ports))
            if (rows := windows.rows_of(port, arc)) is not None
            for part in rows.iter_slices(BATCH)
        ]

    # ---- the join ----------------------------------------------------------------------------------------------------

    def _insert(
        self, index: str, rows: pl.DataFrame, only: Flow | None = None, *, in_time: bool = False
    ) -> None:
        """`in_time`: these rows should come in time, and are counted if they do not."""
        if index[0] in "@#":
            name, number, *port = index[1:].split("\n")
            flow = self._peer.flows.get(name)
            if flow is not None and only in (None, flow):
                self._join(flow, int(number), int(port[0]) if port else 0, rows, in_time)
            return
        for use in self._uses.get(index, []):
            if only in (None, use.flow):
                chosen = self._select(use.input, rows.filter(pl.col(TIME) >= use.flow.start))
                if chosen.height:
                    self._join(
                        use.flow, *use.flow.plan.stage_of(use.at), self._of_input(use, chosen), in_time
                    )

    def _of_input(self, use: Use, rows: pl.DataFrame) -> pl.DataFrame:
        columns = {name: value(use.at, name) for name in use.input.columns}
        return rows.select(
            KEY,
            pl.col(POSITION).alias(position(use.at)),
            pl.col(TIME).alias(time(use.at)),
            *(pl.col(name).alias(new) for name, new in columns.items()),
        )

    def _join(self, flow: Flow, stage: int, port: int, rows: pl.DataFrame, in_time: bool) -> None:
        windows, peer = flow.windows[stage], self._peer
        new, found = windows.insert(port, rows, peer.owned)
        if new.height and in_time:
            windows.count_overdue(port, new, peer.streams.watermarks(), peer.settings.slack)
        if found is not None:
            self._emit(flow, stage, found)

    def _emit(self, flow: Flow, stage: int, rows: pl.DataFrame) -> None:
        if stage == len(flow.windows) - 1:
            self._deliver(flow, rows)
        else:
            self._send_on(flow, stage, rows)

    def _deliver(self, flow: Flow, rows: pl.DataFrame, only: str | None = None) -> None:
        peer = self._peer
        asked = [query for query in flow.queries.values() if only in (None, query.id)]
        watermarks, kept = peer.streams.watermarks(), CAREFUL * peer.settings.slack
        for queries, found in wanted(flow, rows.drop(KEY), asked, watermarks, kept):
            for query in queries:
                for part in found.iter_slices(BATCH):
                    peer.send_results(query, part)

    def _send_on(self, flow: Flow, stage: int, rows: pl.DataFrame) -> None:
        peer, plan = self._peer, flow.plan
        members = tuple(sorted({one for before in plan.stages[: stage + 1] for one in before.members}))
        ahead = {at: said for at, said in peer.indexing.silent_inputs(flow).items() if at not in members}
        if ahead:
            late = beyond(plan, members, ahead)
            withheld = rows.filter(late)
            if withheld.height:
                peer.books.withheld += withheld.height
                flow.withheld.setdefault(stage, []).append(withheld)
                rows = rows.filter(~late)
        others = {
            at: said
            for at, one in enumerate(plan.inputs)
            if at not in members
            and (said := peer.streams.reached.get(one.stream.lower())) is not None
            and said.gap_from < said.gap_to
        }
        if others:
            rows = rows.filter(~fell_in_gap(plan, members, others))
        if rows.height:
            peer.books.intermediate += rows.height
            for part in self._keyed(flow, stage, rows).iter_slices(BATCH):
                peer.routes.put(f"@{plan.identity}\n{stage + 1}", part)

    def _keyed(self, flow: Flow, stage: int, rows: pl.DataFrame) -> pl.DataFrame:
        """Results of a stage under the key of the next. NULL joins nothing."""
        plan = flow.plan
        by = plan.stages[stage + 1].by
        members = plan.stages[stage + 1].ports[0]
        at = next(at for at, _ in plan.classes[by] if at in members)
        name = value(at, plan.key_column(by, at))
        rows = rows.filter(pl.col(name).is_not_null())
        keys = keys_of(plan.place_of(by), rows.get_column(name))
        return rows.with_columns(pl.Series(KEY, np.asarray(keys)))
