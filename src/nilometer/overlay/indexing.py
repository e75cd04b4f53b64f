"""The home of streams (SRP): sends the rows that live questions need to the owners of their keys (section 3.2).

A row is sent once for each of its columns by which a live question joins, with the columns that any of them reads,
if the selection of any of them lets it through. Rows with a NULL key join nothing and are not sent.

Suspend and resume (section 4.2). While a stream that a question needs is silent, its results can only have readings
that the stream had sent before. Rows too late for those are withheld. When the stream is heard again, it says in which
gap it has no readings; withheld rows that can only meet that gap are never sent, the others now. As long as rows are
withheld, the stream's watermark stays below them, so that nobody drops their partners. So no answer changes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from nilometer.kernels.stable_hash import fold, hash_texts
from nilometer.operators.value_hashes import hashes_of
from nilometer.overlay.flow import Flow, beyond, fell_in_gap
from nilometer.overlay.join_plan import Input
from nilometer.overlay.messages import Put
from nilometer.overlay.names import KEY, time
from nilometer.overlay.ring import Contact
from nilometer.overlay.stage import Owned
from nilometer.overlay.streams import Reached
from nilometer.types import INT_MAXIMUM, INT_MINIMUM

if TYPE_CHECKING:
    from nilometer.overlay.peer import Peer, Source

Select = Callable[[Input, pl.DataFrame], pl.DataFrame]
"""Applies an input's condition to rows of its stream."""
POSITION, TIME = "@position", "@time"
BATCH = 16_384
"""The most rows of one message."""


@dataclass(frozen=True)
class Use:
    """An input of a flow that takes rows of an index."""

    flow: Flow
    at: int

    @property
    def input(self) -> Input:
        return self.flow.plan.inputs[self.at]


@dataclass
class _Home:
    source: Source
    reached: Reached
    said: bool = False
    withheld: dict[str, int] = field(default_factory=dict)
    """The earliest withheld time by index."""


def index_of(flow: Flow, at: int) -> str:
    """The name of the rows of an input: their place, stream and column. Questions that name the same share them."""
    stage, _ = flow.plan.stage_of(at)
    by = flow.plan.stages[stage].by
    return "\n".join(
        (flow.plan.place_of(by), flow.plan.inputs[at].stream.lower(), flow.plan.key_column(by, at))
    )


def keys_of(place: str, values: pl.Series) -> np.ndarray[tuple[int], np.dtype[np.uint64]]:
    """The keys of values at a place: those of another place are elsewhere (algorithms, section 6.5).

    >>> keys_of("b", pl.Series([1]))[0] == keys_of("b", pl.Series([1.0]))[0]
    True
    """
    text = np.frombuffer(place.encode(), dtype=np.uint8)
    name = hash_texts(text, np.array([0, len(text)], dtype=np.int64))
    return fold(np.full(len(values), name[0], dtype=np.uint64), hashes_of(values))


def warm_up() -> None:
    """Load the compiled kernels, which takes a second: otherwise the first rows of a question wait for it."""
    for values in (pl.Series([1]), pl.Series([0.5]), pl.Series(["a"])):
        keys_of("", values)


class Indexing:
    """The streams of one peer."""

    def __init__(self, peer: Peer, select: Select) -> None:
        self._peer, self._select = peer, select
        self._homes: dict[str, _Home] = {}
        self._uses: dict[str, list[Use]] = {}
        self._sent: list[tuple[Contact, pl.DataFrame, int]] = []

    def is_home(self, stream: str) -> bool:
        """Whether a stream is ours."""
        return stream in self._homes

    def source(self, stream: str) -> Source | None:
        """The readings of one of our streams."""
        home = self._homes.get(stream)
        return None if home is None else home.source

    def watermark(self, stream: str) -> int:
        """How far one of our streams has come."""
        return self._homes[stream].reached.watermark

    def home(self, stream: str, source: Source, greatest: int | None) -> None:
        """A stream is ours from now on."""
        before = INT_MINIMUM if greatest is None else greatest
        home = self._homes[stream] = _Home(
            source, Reached(0, greatest=before, gap_from=before, gap_to=before)
        )
        for index, uses in self._uses_of(stream):
            rows = source.since(min(use.flow.start for use in uses))
            if rows.height:
                self._index(home, index, uses, rows, again=True)

    def end(self, stream: str) -> None:
        """No question needs the stream any more."""
        self._homes.pop(stream, None)

    def offer(self, stream: str, rows: pl.DataFrame, watermark: int) -> None:
        """New readings of one of our streams."""
        home = self._homes[stream]
        was = home.reached
        greatest = int(rows.get_column(TIME).max()) if rows.height else INT_MINIMUM  # type: ignore[arg-type]
        gap_to = was.gap_to
        if not home.said:
            first = int(rows.get_column(TIME).min()) if rows.height else watermark  # type: ignore[arg-type]
            gap_to, home.said = min(first, watermark), True
        home.reached = Reached(
            0, max(was.watermark, watermark), max(was.greatest, greatest), was.gap_from, gap_to
        )
        if rows.height:
            for index, uses in self._uses_of(stream):
                self._index(home, index, uses, rows)

    def reached(self) -> dict[str, Reached]:
        """How far our streams have come. Rows that are withheld, or that their owner may not have, are still to come."""
        under_way = self._under_way()
        return {
            stream: Reached(
                self._peer.now,
                min([home.reached.watermark, *home.withheld.values(), under_way.get(stream, INT_MAXIMUM)]),
                home.reached.greatest,
                home.reached.gap_from,
                home.reached.gap_to,
            )
            for stream, home in self._homes.items()
            if home.said
        }

    def changed(self, start: int, grown: Flow | None) -> None:
        """The questions have changed; one of them takes readings from `start` on, and needs more of a flow than was needed
        before."""
        self._uses = {}
        for flow in self._peer.flows.values():
            for at in range(len(flow.plan.inputs)):
                self._uses.setdefault(index_of(flow, at), []).append(Use(flow, at))
        self._peer.joining.changed(self._uses, grown)
        if grown is None:
            return
        for stream, home in self._homes.items():
            for index, uses in self._uses_of(stream):
                if any(use.flow is grown for use in uses):
                    rows = home.source.since(start)
                    if rows.height:
                        # An earlier life of this peer may have sent the first of them. If not, they are in time all the same:
                        # the watermark that it said stays below them.
                        before = pl.col(TIME) <= home.reached.gap_from
                        self._index(home, index, uses, rows.filter(before), again=True)
                        self._index(home, index, uses, rows.filter(~before))

    def tick(self) -> None:
        """Send what was withheld for streams that are heard again."""
        for home in self._homes.values():
            for index, earliest in list(home.withheld.items()):
                uses = self._uses.get(index, [])
                if uses and all(self.silent_inputs(use.flow) for use in uses):
                    continue
                del home.withheld[index]
                if uses:
                    self._index(home, index, uses, home.source.since(earliest), back=True, again=True)
            if not self._peer.settings.replicas:
                # It takes a while until a failure is noticed.
                horizon = home.reached.watermark - self._peer.settings.slack
                self._sent = [one for one in self._sent if one[1].get_column(TIME).max() >= horizon - one[2]]  # type: ignore[operator]

    def send_again(self, arc: Owned) -> None:
        """Another peer has taken an arc over: send it the rows that can still join."""
        reached = self._peer.streams.watermarks()
        for stream, home in self._homes.items():
            for index, uses in self._uses_of(stream):
                flows = [use.flow for use in uses]
                known = [reached.get(one, INT_MINIMUM) for flow in flows for one in flow.streams]
                reach = max(flow.plan.reach for flow in flows)
                since = max(min(known) - 2 * (reach + self._peer.settings.slack), INT_MINIMUM)
                self._index(home, index, uses, home.source.since(since), again=True, arc=arc)

    def silent_inputs(self, flow: Flow) -> dict[int, Reached]:
        """The inputs of a flow whose streams are silent."""
        peer = self._peer
        if not peer.settings.suspends:
            return {}
        return {
            at: peer.streams.reached.get(one.stream.lower(), Reached(0))
            for at, one in enumerate(flow.plan.inputs)
            if not self.is_home(one.stream.lower()) and peer.streams.silent(peer.now, one.stream.lower())
        }

    def note_sent(self, owner: Contact, index: str, rows: pl.DataFrame) -> None:
        """Remember rows that only their owner has."""
        uses = self._uses.get(index)
        if uses:
            reach = max(use.flow.plan.reach for use in uses)
            self._sent.append((owner, rows.select(POSITION, TIME), reach))

    def lost_with(self, peer: Contact) -> int:
        """How many rows were lost with a peer."""
        gone = [rows for owner, rows, _ in self._sent if owner == peer]
        self._sent = [one for one in self._sent if one[0] != peer]
        return sum(rows.height for rows in gone)

    def _under_way(self) -> dict[str, int]:
        """The earliest time of the rows of each of our streams that no owner has acknowledged."""
        sent = [
            (message.index, message.rows)
            for message in self._peer.delivery.unacknowledged()
            if isinstance(message, Put) and not message.copy
        ]
        found: dict[str, int] = {}
        for index, rows in [*sent, *self._peer.routes.unsent()]:
            _, _, rest = index.partition("\n")
            stream = rest.partition("\n")[0]
            if index[0] not in "@#%" and stream in self._homes and rows.height:
                earliest = int(rows.get_column(TIME).min())  # type: ignore[arg-type]
                found[stream] = min(found.get(stream, earliest), earliest)
        return found

    def _uses_of(self, stream: str) -> Iterator[tuple[str, list[Use]]]:
        for index, uses in self._uses.items():
            if uses[0].input.stream.lower() == stream:
                yield index, uses

    def _index(
        self,
        home: _Home,
        index: str,
        uses: list[Use],
        rows: pl.DataFrame,
        *,
        back: bool = False,
        again: bool = False,
        arc: Owned | None = None,
    ) -> None:
        place, _, column = index.split("\n")
        rows = rows.filter(pl.col(column).is_not_null())
        parts = [self._wanted(home, index, use, rows, back=back) for use in uses]
        chosen = parts[0] if len(parts) == 1 else pl.concat(parts).unique(POSITION, maintain_order=True)
        if not chosen.height:
            return
        columns = sorted({name for use in uses for name in use.input.columns})
        keys = pl.Series(KEY, keys_of(place, chosen.get_column(column)))
        chosen = chosen.select(keys, POSITION, TIME, *columns)
        if arc is not None:
            chosen = chosen.filter(arc(keys.to_numpy()))
        self._peer.books.indexed += chosen.height
        for start in range(0, chosen.height, BATCH):
            self._peer.routes.put(index, chosen.slice(start, BATCH), again=again)

    def _wanted(self, home: _Home, index: str, use: Use, rows: pl.DataFrame, *, back: bool) -> pl.DataFrame:
        flow, at = use.flow, use.at
        chosen = self._select(use.input, rows.filter(pl.col(TIME) >= flow.start))
        if not self._peer.settings.suspends or not chosen.height:
            return chosen
        chosen = chosen.with_columns(pl.col(TIME).alias(time(at)))
        silent = self.silent_inputs(flow)
        if silent:
            late = chosen.filter(beyond(flow.plan, (at,), silent))
            if late.height:
                self._peer.books.withheld += late.height
                earliest = int(late.get_column(TIME).min())  # type: ignore[arg-type]
                home.withheld[index] = min(home.withheld.get(index, earliest), earliest)
                chosen = chosen.filter(~beyond(flow.plan, (at,), silent))
        if back:
            others = {
                other: self._peer.streams.reached[one.stream.lower()]
                for other, one in enumerate(flow.plan.inputs)
                if other != at and one.stream.lower() in self._peer.streams.reached
            }
            chosen = chosen.filter(~fell_in_gap(flow.plan, (at,), others))
        return chosen.drop(time(at))
