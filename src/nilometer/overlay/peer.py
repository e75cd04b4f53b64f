"""A peer: its place on the ring, the streams it is the home of, its part in all joins, and the questions asked of it.

    receive(now, packet)   tick(now)   offer(now, stream, rows, watermark)   ask(...)   ->   take(): packets to send

In the words of the paper it is SRP for its own streams, SQP for the keys of its arc, and UQP for its own questions. It
does no input or output and has no clock: a simulator and a TCP shell drive the same code.

The laws: an answer has exactly the results of the reference over all readings since the question began, each once, as
long as no more than `replicas` neighbours fail at once and no message is later than `slack`. Beyond that, `books` count
every row that may be missing.

How rows survive: a home can read its stream again (`Source`); the owner of a key gives copies to its successors; and
rows and results are one by their positions, however often they are sent. So whoever takes over an arc joins its copies
again, and has the homes send the arc's rows again.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import polars as pl

from nilometer.kernels.arrays import Words
from nilometer.overlay.asking import Asked
from nilometer.overlay.chord import Chord, Times
from nilometer.overlay.delivery import Delivery, Packet, Patience
from nilometer.overlay.dissemination import Dissemination
from nilometer.overlay.flow import Flow, Query
from nilometer.overlay.indexing import Indexing, Select
from nilometer.overlay.join_plan import JoinPlan
from nilometer.overlay.joining import Joining
from nilometer.overlay.loads import Load, Loads
from nilometer.overlay.messages import (
    Find,
    Heartbeat,
    Message,
    Moved,
    Notice,
    Pull,
    Put,
    Results,
    Shipped,
    Subscribe,
)
from nilometer.overlay.names import KEY
from nilometer.overlay.ring import Contact, in_arc, in_arcs
from nilometer.overlay.routes import Routes
from nilometer.overlay.stage import Owned
from nilometer.overlay.streams import Reached, Streams
from nilometer.overlay.tally.asked_tally import TallyAsked
from nilometer.overlay.tally.tallies import MARK, Prepare, Tallies, TallyQuery, as_they_are
from nilometer.overlay.tally.tally_plan import TallyPlan
from nilometer.types import SECOND


class Source(Protocol):
    """A stream's readings at its home: `@position`, `@time` and the columns."""

    def since(self, moment: int) -> pl.DataFrame:
        """All readings of this time and later, as far as they were offered."""

    @property
    def whole_since(self) -> int:
        """The time from which on no reading is missing here."""


@dataclass(frozen=True)
class Settings:
    """What a person may choose. Times are in microseconds."""

    replicas: int = 1
    slack: int = 10 * SECOND
    most_rows: int = 2_000_000
    suspends: bool = True
    silent: int = 6 * SECOND
    heartbeat: int = SECOND
    times: Times = field(default_factory=Times)
    patience: Patience = field(default_factory=Patience)
    successors: int = 8
    most_dropped: int = 100_000
    """So many questions are known to have ended, the last ones."""


@dataclass
class Books:
    """What a peer has done with rows, and what may be missing."""

    indexed: int = 0
    """Rows of our own streams that were sent to the owners of their keys."""
    withheld: int = 0
    """Rows that were not sent because a stream that they need was silent."""
    intermediate: int = 0
    results: int = 0
    copies: int = 0
    doubles: int = 0
    lost: int = 0
    """Rows that a failed owner had, and nobody has now; only without replicas."""
    refused: list[str] = field(default_factory=list)


class Peer:
    """One peer. `plan_of` reads the join of a notice; it raises if this peer cannot run it."""

    def __init__(
        self,
        me: Contact,
        incarnation: int,
        settings: Settings | None = None,
        *,
        select: Select = lambda _, rows: rows,
        plan_of: Callable[[dict[str, Any]], JoinPlan] = lambda notice: JoinPlan.from_json(notice["plan"]),
        prepare: Prepare = as_they_are,
        tally_of: Callable[[dict[str, Any]], TallyPlan] = lambda notice: TallyPlan.from_json(notice["plan"]),
    ) -> None:
        self.settings = settings = settings or Settings()
        self.me = me
        self.chord = Chord(me, successors=settings.successors, times=settings.times)
        self.delivery = Delivery(me, incarnation, settings.patience)
        self.notices = Dissemination(self.chord)
        self.streams = Streams(settings.silent)
        self.loads = Loads()
        self.routes = Routes(self.chord, self._put)
        self.books = Books()
        self.queries: dict[str, Query] = {}
        self.flows: dict[str, Flow] = {}
        self.asked: dict[str, Asked] = {}
        self.dropped: dict[str, None] = {}
        """The questions that have ended, in that order: a notice of one that comes late begins nothing."""
        self.others: list[dict[str, Any]] = []
        """Notices for the shell: questions, their ends, and whatever else is told."""
        self.mail: list[tuple[Contact, Message]] = []
        """Messages about whole streams, for the shell."""
        self.now = 0
        self.indexing = Indexing(self, select)
        self.joining = Joining(self, select)
        self.tallies = Tallies(self, prepare)
        self._plan_of, self._tally_of = plan_of, tally_of
        self._early: list[tuple[Contact, Put]] = []
        self._arc: int | None = None
        self._heir: Contact | None = None
        self._held: list[tuple[Contact, Results]] = []
        self._copies_at: list[Contact] = []
        self._beaten = self._numbers = 0

    # ---- what the shell calls ----------------------------------------------------------------------------------------

    def begin(self) -> None:
        """Be the first peer."""
        self.chord.begin()
        self.notices.pulled = True

    def join(self, via: Contact) -> None:
        """Join the ring of another peer."""
        self.chord.join(via)

    def leave(self, now: int) -> None:
        """Hand over all rows, and go."""
        self.now = max(now, self.now)
        self._heir = self.chord.successors[0] if self.chord.successors else None
        self.chord.leave()
        self._work()
        if self._heir is not None:
            self._hand_over(self._heir, lambda keys: np.ones(len(keys), dtype=np.bool_))
        self._work()

    def receive(self, now: int, packet: Packet) -> None:
        """A packet has come."""
        self.now = max(now, self.now)
        for message in self.delivery.received(now, packet):
            self._handle(packet.sender, message)
        self._work()

    def tick(self, now: int) -> None:
        """Time has passed."""
        self.now = max(now, self.now)
        self.delivery.tick(now)
        self.chord.tick(now)
        self.notices.tick(now)
        if self.chord.member and not self.notices.pulled and self.chord.successors:
            self._send(self.chord.successors[0], Pull())
        self.indexing.tick()
        self.joining.tick()
        self.tallies.tick()
        for asked in self.asked.values():
            asked.forget(self.streams.watermarks(), self.settings.slack)
        if now - self._beaten >= self.settings.heartbeat:
            self._beaten = now
            self._beat()
            self._send_held()
        self._work()

    def offer(self, now: int, stream: str, rows: pl.DataFrame, watermark: int) -> None:
        """Readings of a stream whose home this is, which `Source.since` has from now on, and its watermark after them."""
        self.now = max(now, self.now)
        self.indexing.offer(stream.lower(), rows, watermark)
        self.tallies.offer(stream.lower(), rows)
        self._work()

    def home(self, stream: str, source: Source, greatest: int | None = None) -> None:
        """This peer is the home of a stream; `greatest` is the greatest time that it sent in an earlier life."""
        self.indexing.home(stream.lower(), source, greatest)
        self.tallies.home(stream.lower())

    def ask(
        self, now: int, query: str, plan: JoinPlan, start: int, fields: dict[str, Any] | None = None
    ) -> None:
        """Ask the ring a question, from a time on. `fields` go along with it."""
        self.now = max(now, self.now)
        self.asked.setdefault(query, Asked(plan))
        me = [self.me.id, self.me.name, self.me.address]
        notice = {"id": query, "kind": "query", "asker": me, "start": start, "plan": plan.as_json()}
        self.notices.publish(notice | (fields or {}))
        self._work()

    def ask_tally(
        self,
        now: int,
        query: str,
        plan: TallyPlan,
        start: int,
        fields: dict[str, Any] | None = None,
        *,
        again: bool = False,
    ) -> None:
        """Ask the ring for an aggregate of a join. `again`: it was asked in an earlier life of this peer."""
        self.now = max(now, self.now)
        first = None if again else plan.ticks(start, start + plan.slide)[0]
        self.tallies.asked.setdefault(query, TallyAsked(plan, first, self.settings.slack))
        me = [self.me.id, self.me.name, self.me.address]
        notice = {"id": query, "kind": "tally", "asker": me, "start": start, "plan": plan.as_json()}
        self.notices.publish(notice | (fields or {}))
        self._work()

    def ask_again(self, now: int, query: str) -> None:
        """Have all results that the ring still knows sent again: this peer may have lost some."""
        self.now = max(now, self.now)
        self._recover({"query": query})
        self._work()

    def drop(self, now: int, query: str) -> None:
        """End a question everywhere. The notice stays ten times as long as the longest window."""
        self.now = max(now, self.now)
        reach = self.queries[query].plan.reach if query in self.queries else 0
        if query in self.tallies.queries:
            reach = self.tallies.queries[query].plan.width
        until = now + 10 * max(reach, self.settings.slack)
        self.notices.publish({"id": f"drop {query}", "kind": "drop", "query": query, "until": until})
        self._work()

    def tell(self, now: int, notice: dict[str, Any]) -> None:
        """Tell all peers something else, such as a declaration."""
        self.now = max(now, self.now)
        self.notices.publish(notice)
        self._work()

    def send_mail(self, now: int, peer: Contact, message: Message) -> None:
        """Send a message to the shell of another peer."""
        self.now = max(now, self.now)
        self._send(peer, message)
        self._work()

    def take(self) -> list[tuple[Contact, Packet]]:
        """The packets to be sent."""
        taken, self.delivery.packets = self.delivery.packets, []
        return taken

    @property
    def load(self) -> Load:
        """What this peer says of itself."""
        books, joining, tallies = self.books, self.joining, self.tallies
        counts = {
            "rows kept": joining.kept + tallies.kept,
            "rows indexed": books.indexed,
            "rows withheld": books.withheld,
            "intermediate": books.intermediate,
            "results": books.results,
            "copies": books.copies,
            "doubles": books.doubles,
            "overdue": joining.overdue,
            "shed": joining.shed + tallies.shed,
            "lost": books.lost,
            "lost ticks": tallies.lost,
        }
        return Load(self.now, self.me.id, self.me.name, self.chord.after, counts)

    # ---- for the parts -----------------------------------------------------------------------------------------------

    def owned(self, keys: Words) -> npt.NDArray[np.bool_]:
        """Which keys are in our arc."""
        return in_arcs(keys, self.chord.after, self.me.id)

    def send_copies(self, index: str, rows: pl.DataFrame) -> None:
        """Give copies of our rows to our successors."""
        for peer in self.chord.successors[: self.settings.replicas]:
            self.send_copy(peer, index, rows)

    def send_copy(self, peer: Contact, index: str, rows: pl.DataFrame) -> None:
        """Give copies of rows to a certain peer."""
        self.books.copies += rows.height
        self._send(peer, Put(index, rows, copy=True))

    def send_results(self, query: Query, rows: pl.DataFrame) -> None:
        """Send results to the one who asked."""
        self.books.results += rows.height
        if query.asker == self.me:
            self._take_results(query.id, rows)
        else:
            self._send(query.asker, Results(query.id, rows))

    def send_rows(self, peer: Contact, index: str, rows: pl.DataFrame) -> None:
        """Send rows to a certain peer."""
        self._send(peer, Put(index, rows))

    def send_to(self, peer: Contact, message: Message) -> None:
        """Send a message of a part."""
        self._send(peer, message)

    # ---- events ------------------------------------------------------------------------------------------------------

    def _handle(self, sender: Contact, message: Message) -> None:
        if self.chord.handle(self.now, sender, message) or self.notices.handle(sender, message):
            return
        match message:
            case Put() if self._heir is not None:
                self._send(self._heir, message)  # from one who does not know yet that we have left
            case Put() if not self.notices.pulled or not self.chord.member:
                self._early.append((sender, message))
            case Put():
                self._take_rows(sender, message)
            case Moved():
                self.routes.moved(message.key)
            case Subscribe() | Shipped():
                self.mail.append((sender, message))
            case Results():
                self._take_results(message.query, message.rows)
            case Heartbeat():
                for stream, said in message.watermarks.items():
                    if not self.indexing.is_home(stream):
                        self.streams.hear(self.now, stream, Reached(*said))
                for address, load in message.loads.items():
                    if address != self.me.address:
                        self.loads.hear(self.now, address, Load(*load))

    def _work(self) -> None:
        """Act on what has changed, until nothing is left to do."""
        while True:
            for peer, message in [*self.chord.take(), *self.notices.take()]:
                self._send(peer, message)
            news, self.notices.news = self.notices.news, []
            failures, self.delivery.failures = self.delivery.failures, []
            for notice in news:
                self._act_on(notice)
            for peer, messages in failures:
                self._failed(peer, messages)
            if self.chord.member and self.notices.pulled and self._early:
                early, self._early = self._early, []
                for sender, message in early:
                    self._take_rows(sender, message)
            self._look_at_arc()
            if not (self.chord.outbox or self.notices.outbox or self.notices.news or self.delivery.failures):
                return

    def _act_on(self, notice: dict[str, Any]) -> None:
        match notice["kind"]:
            case "query" if notice["id"] not in self.dropped:
                try:
                    plan = self._plan_of(notice)
                except Exception as error:
                    self.books.refused.append(f"{notice['id']}: {error}")
                    return
                query = Query(notice["id"], Contact(*notice["asker"]), notice["start"], plan)
                self.queries[query.id] = query
                flow = self.flows.setdefault(plan.shared, Flow(plan, self.settings.most_rows))
                grown = flow.begin(query)
                self.indexing.changed(query.start, flow if grown else None)
                # We may hear of it late, and have joined for others what it wants, too.
                self.joining.results_again(query.id)
            case "tally" if notice["id"] not in self.dropped:
                try:
                    tally = self._tally_of(notice)
                except Exception as error:
                    self.books.refused.append(f"{notice['id']}: {error}")
                    return
                self.tallies.begin(
                    TallyQuery(notice["id"], Contact(*notice["asker"]), notice["start"], tally)
                )
            case "drop":
                self._drop(notice["query"])
            case "recover":
                self._send_again(notice)
        if notice["kind"] not in ("drop", "recover"):
            self.others.append(notice)

    def _drop(self, name: str) -> None:
        self.dropped.pop(name, None)
        self.dropped[name] = None
        while len(self.dropped) > self.settings.most_dropped:
            del self.dropped[next(iter(self.dropped))]
        self.notices.known.pop(name, None)
        query = self.queries.pop(name, None)
        self.asked.pop(name, None)
        self.tallies.end(name)
        self.others.append({"kind": "dropped", "id": name})
        if query is not None:
            flow = self.flows[query.plan.shared]
            flow.end(name)
            if flow.queries:
                self.joining.narrowed(flow)
            else:
                del self.flows[query.plan.shared]
            self.indexing.changed(query.start, None)

    def _failed(self, peer: Contact, messages: list[Message]) -> None:
        self.routes.forget(peer)
        self.chord.failed(peer)
        self.notices.failed(peer)
        if not self.settings.replicas:
            self.books.lost += self.indexing.lost_with(peer)
        for message in messages:
            match message:
                case Put() if not message.copy:
                    self.routes.put(message.index, message.rows, again=message.again)
                case Notice():
                    self.notices.undelivered(peer, message)
                case Results():
                    self._hold(peer, message)
                case Find() if message.origin != self.me:
                    self.chord.handle(self.now, peer, message)

    def _hold(self, asker: Contact, results: Results) -> None:
        """The one who asked is not reached: it gets its results when it is, within bounds."""
        self._held.append((asker, results))
        while sum(one.rows.height for _, one in self._held) > self.settings.most_rows:
            self.books.lost += self._held.pop(0)[1].rows.height

    def _send_held(self) -> None:
        held, self._held = self._held, []
        for asker, results in held:
            if results.query in self.queries or results.query in self.tallies.queries:
                self._send(asker, results)

    def _look_at_arc(self) -> None:
        chord = self.chord
        if not chord.member:
            return
        if self._arc != chord.after:
            before, self._arc = self._arc, chord.after
            new = chord.after
            if before is not None and chord.predecessor is not None and _shrank(before, new, self.me.id):
                # The one that came between us and our old predecessor owns those keys now.
                self._hand_over(chord.predecessor, lambda keys: in_arcs(keys, before, new))
            else:
                upto = self.me.id if before is None or before == self.me.id else before
                self._take_over(lambda keys: in_arcs(keys, new, upto))
                if self.settings.replicas and chord.successors:
                    self._recover({"after": new, "upto": upto})
        copies_at = chord.successors[: self.settings.replicas]
        if copies_at != self._copies_at:
            for peer in copies_at:
                if peer not in self._copies_at:
                    self.joining.copy_all(peer)
                    for index, rows in self.tallies.kept_of(self.owned):
                        self.send_copy(peer, index, rows)
            self._copies_at = copies_at

    def _hand_over(self, peer: Contact, arc: Owned) -> None:
        self.joining.hand_over(peer, arc)
        for index, rows in self.tallies.kept_of(arc):
            self._send(peer, Put(index, rows))

    def _take_over(self, arc: Owned) -> None:
        self.joining.take_over(arc)
        self.tallies.take_over()
        for index, rows in self.tallies.kept_of(arc):
            self.send_copies(index, rows)

    def _recover(self, what: dict[str, Any]) -> None:
        self._numbers += 1
        name = f"recover {self.me.address} {self.delivery.incarnation} {self._numbers}"
        until = self.now + 3 * self.settings.slack
        self.notices.publish({"id": name, "kind": "recover", "until": until} | what)

    def _send_again(self, notice: dict[str, Any]) -> None:
        if "query" in notice:
            self.joining.results_again(notice["query"])
            self.tallies.results_again(notice["query"])
            return
        after, upto = int(notice["after"]), int(notice["upto"])
        self.indexing.send_again(lambda keys: in_arcs(keys, after, upto))
        self.joining.send_again(lambda keys: in_arcs(keys, after, upto))
        self.tallies.send_again(lambda keys: in_arcs(keys, after, upto))

    def _beat(self) -> None:
        for stream, said in self.indexing.reached().items():
            self.streams.hear(self.now, stream, said)
        self.loads.forget(self.now)
        self.loads.hear(self.now, self.me.address, self.load)
        view = self.chord.view
        if view:
            self._numbers += 1
            message = Heartbeat(self.streams.as_fields(), self.loads.as_fields())
            for turn in range(min(2, len(view))):
                self._send(view[(2 * self._numbers + turn) % len(view)], message)

    # ---- rows --------------------------------------------------------------------------------------------------------

    def _put(self, owner: Contact, index: str, rows: pl.DataFrame, again: bool) -> None:
        put = Put(index, rows, again=again)
        if owner == self.me:
            self._keep_rows(put)
        else:
            if not self.settings.replicas:
                self.indexing.note_sent(owner, index, rows)
            self._send(owner, put)

    def _take_rows(self, sender: Contact, put: Put) -> None:
        rows = put.rows
        mine = self.owned(rows.get_column(KEY).to_numpy())
        if not put.copy and not mine.all():
            stray = rows.filter(~mine)
            self._send(sender, Moved(int(stray.get_column(KEY)[0])))
            self.routes.put(put.index, stray, again=put.again)
            rows = rows.filter(mine)
        if rows.height:
            self._keep_rows(replace(put, rows=rows))

    def _keep_rows(self, put: Put) -> None:
        if put.index.startswith(MARK):
            self.tallies.take_rows(put.index, put.rows, copy=put.copy)
        else:
            self.joining.take_rows(put)

    def _take_results(self, query: str, rows: pl.DataFrame) -> None:
        asked = self.asked.get(query)
        if not self.tallies.take_results(query, rows) and asked is not None:
            self.books.doubles += asked.take(rows)

    def _send(self, peer: Contact, message: Message) -> None:
        if peer == self.me:
            self._handle(self.me, message)
        else:
            self.delivery.send(self.now, peer, message)


def _shrank(before: int, after: int, me: int) -> bool:
    """Whether the arc (after, me] is part of (before, me]."""
    return before == me or (after != me and in_arc(after, before, me))
