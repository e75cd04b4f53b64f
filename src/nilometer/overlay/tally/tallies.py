"""A peer's part in aggregates of joins: as home it sends rows and claims, as owner it computes the parts of its buckets,
as the one who asked it merges them.

    home: rows, then claims ─► owner: parts, once the rows are as many as claimed ─► the one who asked: answers

Rows and claims are `Put` under `%<query>\\n<side>\\n<rows or claims>`, parts come as `Results`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl

from nilometer.overlay.messages import Results
from nilometer.overlay.names import KEY
from nilometer.overlay.ring import Contact
from nilometer.overlay.stage import Owned
from nilometer.overlay.tally.asked_tally import TallyAsked
from nilometer.overlay.tally.claims import claims_of
from nilometer.overlay.tally.store import CLAIMS_LABEL, ROWS_LABEL, TallyStore
from nilometer.overlay.tally.tally_plan import JOINED, TallyPlan
from nilometer.types import INT_MINIMUM

if TYPE_CHECKING:
    from nilometer.overlay.peer import Peer

POSITION, TIME = "@position", "@time"
BATCH = 16_384
TICKS_AT_ONCE = 256
MARK = "%"


@dataclass(frozen=True)
class TallyQuery:
    """A question: who asked it, and the time from which readings take part."""

    id: str
    asker: Contact
    start: int
    plan: TallyPlan


Prepare = Callable[[TallyQuery, int, pl.DataFrame], pl.DataFrame]
"""Readings of a side's stream -> the rows that its condition lets through, with `key` and the side's columns."""


def as_they_are(query: TallyQuery, at: int, rows: pl.DataFrame) -> pl.DataFrame:
    """Readings that have the columns already."""
    return rows.select(POSITION, TIME, JOINED, *query.plan.sides[at].columns)


class Tallies:
    """The aggregates of one peer."""

    def __init__(self, peer: Peer, prepare: Prepare) -> None:
        self._peer, self._prepare = peer, prepare
        self.queries: dict[str, TallyQuery] = {}
        self.asked: dict[str, TallyAsked] = {}
        self._stores: dict[str, TallyStore] = {}
        self._next: dict[tuple[str, int], int] = {}
        self._begun: dict[tuple[str, int], int] = {}
        self._unknown: list[tuple[int, str, pl.DataFrame]] = []

    @property
    def kept(self) -> int:
        """How many rows are kept."""
        return sum(store.height for store in self._stores.values())

    @property
    def shed(self) -> int:
        """How many rows were dropped for want of memory."""
        return sum(store.shed for store in self._stores.values())

    @property
    def lost(self) -> int:
        """How many ticks of our own questions were given up."""
        return sum(asked.lost for asked in self.asked.values())

    def store(self, query: str) -> TallyStore | None:
        """The kept rows of a question."""
        return self._stores.get(query)

    # ---- questions ---------------------------------------------------------------------------------------------------

    def begin(self, query: TallyQuery) -> None:
        """A question was heard of."""
        if query.id in self.queries:
            return
        self.queries[query.id] = query
        self._stores[query.id] = TallyStore(query.plan, self._peer.settings.most_rows)
        for at, side in enumerate(query.plan.sides):
            self._begin_side(query, at, side.stream.lower())
        unknown, self._unknown = self._unknown, []
        for moment, index, rows in unknown:
            if index[1:].split("\n")[0] == query.id:
                self._insert(index, rows)
            else:
                self._unknown.append((moment, index, rows))

    def end(self, query: str) -> None:
        """A question is over."""
        self.asked.pop(query, None)
        self._stores.pop(query, None)
        known = self.queries.pop(query, None)
        for at in range(len(known.plan.sides) if known is not None else 0):
            self._next.pop((query, at), None)
            self._begun.pop((query, at), None)

    # ---- at home -----------------------------------------------------------------------------------------------------

    def home(self, stream: str) -> None:
        """A stream is ours from now on."""
        for query in self.queries.values():
            for at, side in enumerate(query.plan.sides):
                if side.stream.lower() == stream:
                    self._begin_side(query, at, stream)

    def offer(self, stream: str, rows: pl.DataFrame) -> None:
        """New readings of one of our streams."""
        for query in list(self.queries.values()):
            for at, side in enumerate(query.plan.sides):
                if side.stream.lower() == stream:
                    if rows.height:
                        self._put_rows(query, at, rows)
                    self._claim(query, at)

    def _begin_side(self, query: TallyQuery, at: int, stream: str) -> None:
        source = self._peer.indexing.source(stream)
        if source is None:
            return
        whole_since = source.whole_since
        first = query.start if query.start >= whole_since else whole_since + query.plan.sides[at].width
        self._next[query.id, at] = next(iter(query.plan.ticks(first, first + query.plan.slide)))
        rows = source.since(query.start)
        if rows.height:
            self._put_rows(query, at, rows)
        self._claim(query, at)

    def _put_rows(self, query: TallyQuery, at: int, rows: pl.DataFrame, arc: Owned | None = None) -> None:
        rows = rows.filter(pl.col(TIME) >= query.start)
        if not rows.height:
            return
        earliest = int(rows.get_column(TIME).min())  # type: ignore[arg-type]
        known = self._begun.get((query.id, at))
        self._begun[query.id, at] = earliest if known is None else min(known, earliest)
        chosen = self._keyed(query, at, rows)
        if arc is not None:
            chosen = chosen.filter(arc(chosen.get_column(KEY).to_numpy()))
        self._peer.books.indexed += chosen.height
        self._put(f"{MARK}{query.id}\n{at}\n{ROWS_LABEL}", chosen)

    def _keyed(self, query: TallyQuery, at: int, rows: pl.DataFrame) -> pl.DataFrame:
        prepared = self._prepare(query, at, rows)
        prepared = prepared.filter(pl.col(JOINED).is_not_null())
        keys = pl.Series(KEY, query.plan.keys_of(prepared.get_column(JOINED)), dtype=pl.UInt64)
        return prepared.select(keys, POSITION, TIME, JOINED, *query.plan.sides[at].columns)

    def _claim(self, query: TallyQuery, at: int, since: int | None = None, arc: Owned | None = None) -> None:
        """Claim the ticks that the watermark has passed: those after the last claimed, or again those since a moment."""
        plan, side = query.plan, query.plan.sides[at]
        source = self._peer.indexing.source(side.stream.lower())
        upto = self._next.get((query.id, at))
        if source is None or upto is None:
            return
        if since is None:
            ticks = plan.ticks(upto, self._peer.indexing.watermark(side.stream.lower()))[:TICKS_AT_ONCE]
        else:
            ticks = plan.ticks(max(since, query.start), upto)
        if not ticks:
            return
        rows = source.since(max(query.start, ticks[0] - side.width + 1))
        if rows.height:
            rows = self._keyed(query, at, rows.filter(pl.col(TIME) >= query.start))
        claims = claims_of(plan, at, rows, ticks, self._begun.get((query.id, at)))
        if arc is not None:
            claims = claims.filter(arc(claims.get_column(KEY).to_numpy()))
        if since is None:
            self._next[query.id, at] = ticks[-1] + plan.slide
        self._put(f"{MARK}{query.id}\n{at}\n{CLAIMS_LABEL}", claims)

    def send_again(self, arc: Owned) -> None:
        """Another peer has taken an arc over: send it the rows and claims of its buckets that can still count."""
        slack = self._peer.settings.slack
        for query in list(self.queries.values()):
            for at, side in enumerate(query.plan.sides):
                source = self._peer.indexing.source(side.stream.lower())
                upto = self._next.get((query.id, at))
                if source is None or upto is None:
                    continue
                since = max(min(upto, self._slowest(query)) - 2 * slack - query.plan.slide, INT_MINIMUM)
                since = max(
                    since, source.whole_since + side.width if source.whole_since > INT_MINIMUM else since
                )
                self._put_rows(query, at, source.since(since - side.width), arc)
                self._claim(query, at, since, arc)

    def _slowest(self, query: TallyQuery) -> int:
        """The watermark of the slowest stream, as far as it is known."""
        known = self._peer.streams.watermarks()
        return min(known.get(side.stream.lower(), query.start) for side in query.plan.sides)

    def _put(self, index: str, rows: pl.DataFrame) -> None:
        for part in rows.iter_slices(BATCH):
            if part.height:
                self._peer.routes.put(index, part)

    # ---- at the owner ------------------------------------------------------------------------------------------------

    def take_rows(self, index: str, rows: pl.DataFrame, *, copy: bool) -> None:
        """Rows or claims have come."""
        if not copy:
            self._peer.send_copies(index, rows)
        self._insert(index, rows)

    def _insert(self, index: str, rows: pl.DataFrame) -> None:
        name, at, label = index[1:].split("\n")
        store = self._stores.get(name)
        if store is not None:
            store.insert(int(at), label, rows)
        elif name not in self._peer.dropped:
            self._unknown.append((self._peer.now, index, rows))

    def tick(self) -> None:
        """Compute what is complete; forget what is over; claim what was left."""
        peer = self._peer
        horizon = peer.now - peer.settings.slack
        self._unknown = [one for one in self._unknown if one[0] >= horizon]
        for query in list(self.queries.values()):
            for at in range(len(query.plan.sides)):
                self._claim(query, at)
        self.compute()
        for store in self._stores.values():
            store.expire(peer.now, peer.settings.slack)

    def compute(self) -> None:
        """Send the parts of our buckets that are complete now."""
        for name, store in list(self._stores.items()):
            query = self.queries[name]
            for part in store.parts_of(self._peer.owned):
                self._peer.books.results += part.height
                for piece in part.iter_slices(BATCH):
                    self._send(query, piece)

    def _send(self, query: TallyQuery, rows: pl.DataFrame) -> None:
        if query.asker == self._peer.me:
            self.take_results(query.id, rows)
        else:
            self._peer.send_to(query.asker, Results(query.id, rows))

    def take_over(self) -> None:
        """Some buckets are ours now: their rows and claims may be here as copies."""
        for store in self._stores.values():
            store.look()

    def kept_of(self, arc: Owned) -> list[tuple[str, pl.DataFrame]]:
        """The rows and claims of an arc, for another peer."""
        return [
            (f"{MARK}{name}\n{at}\n{label}", part)
            for name, store in self._stores.items()
            for at, label, rows in store.kept_of(arc)
            for part in rows.iter_slices(BATCH)
        ]

    def results_again(self, query: str) -> None:
        """The one who asked has lost parts: compute all again that can be."""
        store = self._stores.get(query)
        if store is not None:
            store.again()
            self.compute()

    # ---- at the one who asked ----------------------------------------------------------------------------------------

    def take_results(self, query: str, rows: pl.DataFrame) -> bool:
        """Parts of a question of ours have come. Returns whether it is an aggregate."""
        asked = self.asked.get(query)
        if asked is not None:
            self._peer.books.doubles += asked.take(rows)
        return asked is not None
