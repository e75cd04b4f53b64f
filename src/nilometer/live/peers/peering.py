"""This gateway as a peer of a ring (docs/overlay.md): a TCP peer in its own thread, and the station's loop.

    peer's thread: notices, mail, results ─► [inbox] ─► look, in the station's loop
    station's loop: our streams' readings, questions ─► post ─► the peer's thread

The laws: only the station's loop touches the station, only the peer's thread the peer. A stream of another gateway is
declared here as soon as that gateway says so, under its own name; ours come first. A query that joins streams of several
gateways by WINDOW and equality is joined by the ring; for any other, the streams themselves are shipped here.
"""

from __future__ import annotations

import hashlib
import json
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from nilometer.catalog import Stream
from nilometer.catalog.answer_streams import is_answers
from nilometer.catalog.measured import kept
from nilometer.catalog.peer_streams import home_of, is_of_peers, query_of, remote
from nilometer.errors import CatalogError, ConfigurationError
from nilometer.ingest.adapters import Adapter, Clock
from nilometer.live.declarations import CompiledQuery
from nilometer.live.identity import identity_of
from nilometer.live.peers.adapters import RemoteAdapter, ResultsAdapter
from nilometer.live.peers.answers import TallyQuestion, answers_stream, over_answers
from nilometer.live.peers.homes import Homes, JoinHome
from nilometer.live.peers.status import status_of
from nilometer.live.peers.streams import results_stream
from nilometer.log.local_files import LocalFiles
from nilometer.optimizer import OptimizerContext
from nilometer.optimizer.load import rate_of
from nilometer.overlay.delivery import Patience
from nilometer.overlay.join_plan import JoinPlan
from nilometer.overlay.messages import Message, Shipped, Subscribe
from nilometer.overlay.names import position, time, value
from nilometer.overlay.no_join import no_join
from nilometer.overlay.ordering import order_of
from nilometer.overlay.overlaid import (
    Conditions,
    join_in,
    join_of,
    results_of,
    text_of,
    why_not,
    without_join,
)
from nilometer.overlay.peer import Peer, Settings
from nilometer.overlay.ring import Contact, contact
from nilometer.overlay.tally.overlaid_tally import Compiled, NotTalliedError, Tally, aggregate_in, node_of
from nilometer.overlay.tally.tally_plan import TallyPlan
from nilometer.overlay.tcp import TcpPeer, split_address
from nilometer.overlay.wire import key_of
from nilometer.plan import logical, physical
from nilometer.plan.explain import explain_text
from nilometer.types import DAY, SECOND, Schema

if TYPE_CHECKING:
    from nilometer.dataflow.sources import Extents
    from nilometer.live.station import Station

FILE = "peers.json"


@dataclass(frozen=True)
class PeerOptions:
    """Where this peer listens, the ring it joins (None: it begins one), its name, and the file of the shared key."""

    address: str
    join: str | None
    key_file: Path
    name: str
    replicas: int = 1
    rows: int = 2_000_000
    """The most rows that this peer keeps of each input of a join."""


@dataclass(frozen=True)
class Texts:
    """How streams are written and read: CREATE STREAM."""

    text_of: Callable[[Stream], str]
    stream_of: Callable[[str], Stream]


@dataclass(frozen=True)
class Overlaid:
    """A query whose join peers run; the rest runs here over the stream of results."""

    query: CompiledQuery
    physical: physical.Node

    @property
    def text(self) -> str:
        return self.query.text

    @property
    def logical(self) -> logical.Deliver:
        return self.query.logical

    @property
    def schema(self) -> Schema:
        return self.query.schema

    @property
    def extents(self) -> Extents:
        return self.query.extents

    def with_profile(self, profile: str) -> CompiledQuery:
        return Overlaid(self.query.with_profile(profile), self.physical)

    def standing(self) -> CompiledQuery:
        return self


@dataclass(frozen=True)
class _Declared:
    """The streams that a notice declares."""

    streams: dict[str, Stream]

    def extent(self, name: str) -> Stream | None:
        return self.streams.get(name.lower())


@dataclass
class _Question:
    """A question of ours to the ring."""

    name: str
    node: physical.WindowJoin
    plan: JoinPlan
    waiting: list[pl.DataFrame] = field(default_factory=list)
    adapter: ResultsAdapter | None = None


class Peering:
    """A station among peers."""

    def __init__(
        self,
        station: Station,
        options: PeerOptions,
        texts: Texts,
        say: Callable[[str], None] = lambda _: None,
    ) -> None:
        split_address(options.address)
        self.options = options
        self._station, self._texts = station, texts
        self._files = LocalFiles(station.directory / ".nilometer")
        self._kept = self._read_kept()
        self._conditions, self._tallies = Conditions(), Compiled()
        self._inbox: deque[tuple[str, Any]] = deque()
        self._questions: dict[str, _Question] = {}
        self._aggregates: dict[str, TallyQuestion] = {}
        self._adapters: dict[str, RemoteAdapter] = {}
        self._joins: dict[str, set[str]] = {}
        self._lives: dict[str, tuple[int, int]] = {}
        self._announced: list[str] = []
        self._announcements = self._looked = 0
        self._asked_again = False
        self._say, self._said = say, dict[str, str]()
        self.notes: dict[str, str] = {}
        """How the streams of a query come, by its name."""
        now = station.clock()
        me = contact(options.name, options.address)
        self._peer = peer = Peer(
            me,
            now,
            # A busy machine is slow; one that is gone refuses connections, which is noticed at once.
            Settings(
                replicas=options.replicas,
                most_rows=options.rows,
                patience=Patience(SECOND, 10),
                silent=15 * SECOND,
            ),
            select=self._conditions,
            plan_of=self._plan_of,
            prepare=self._tallies,
            tally_of=self._tally_of,
        )
        for text, home in self._kept["streams"]:
            self._declare(texts.stream_of(text), home)
        self._tcp = TcpPeer(peer, key_of(options.key_file), station.clock, self._turn)
        self._homes = Homes(station, identity_of(station.directory), self._send)
        if options.join is None:
            self._tcp.call(peer.begin)
        else:
            split_address(options.join)
            via = Contact(0, "", options.join)
            self._tcp.call(lambda: peer.join(via))

    # ---- for the station ---------------------------------------------------------------------------------------------

    def adapter(self, stream: Stream, clock: Clock) -> Adapter:
        """The source of a stream that comes from peers."""
        query = query_of(stream)
        if query is not None:
            made = ResultsAdapter(stream, clock)
            if query in self._aggregates:
                self._aggregates[query].take_adapter(made)
            question = self._questions.get(query)
            if question is not None:
                question.adapter = made
                for rows in question.waiting:
                    made.came(rows)
                question.waiting.clear()
            return made
        found = self._adapters[stream.name.lower()] = RemoteAdapter(
            stream, clock, self._subscribe, self._goes_on
        )
        return found

    def overlay(self, name: str, query: CompiledQuery) -> CompiledQuery:
        """The query as it runs here: if peers can join its streams, over the results of their join."""
        streams = physical.streams_of(query.physical)
        if not any(home_of(stream) for stream in streams.values()):
            return query
        aggregate = aggregate_in(query.physical)
        if aggregate is not None:
            return self._overlay_aggregate(name, query, aggregate, streams)
        node = join_in(query.physical)
        reason = no_join(query.physical) if node is None else why_not(node)
        if node is None or reason is not None:
            self.notes[name] = f"streams are shipped here: {reason}"
            return query
        identity = self._identity(name, query)
        plan = self._conditions.know(node)
        measured = {
            key: found for key in streams if (found := kept(self._station.directory, key)) is not None
        }
        context = OptimizerContext(self._station.database.catalog, statistics=measured)
        rates = [rate_of(streams[one.stream.lower()], context) for one in plan.inputs]
        order = order_of(plan, rates)
        if order:
            plan = self._conditions.know(node, order)
        peer = self._peer
        stream = results_stream(identity, node, plan, peer.settings.slack)
        if self._station.database.catalog.extent(stream.name) is None:
            self._station.database.catalog.add_stream(stream)
        self._questions[identity] = _Question(name, node, plan)
        started = self._kept["starts"].setdefault(identity, self._station.clock())
        self._keep()
        fields = self._fields(query, text_of(node), plan.identity, streams)
        fields["order"] = list(order)
        self._tcp.call(lambda: peer.ask(self._station.clock(), identity, plan, started, fields))
        self.notes[name] = f"peers join its streams (type {plan.kind})"
        columns = tuple(column for column in stream.columns if column.name.startswith("c"))
        leaf = physical.SpAcquire(stream, "J", columns)
        return Overlaid(query, without_join(query.physical, node, results_of(node, leaf)))

    def _overlay_aggregate(
        self, name: str, query: CompiledQuery, node: physical.AggregateInit, streams: dict[str, Stream]
    ) -> CompiledQuery:
        """The query over the answers of the ring, if peers can compute its aggregate from counts and sums per key."""
        try:
            tally = Tally(node)
        except NotTalliedError as error:
            self.notes[name] = f"streams are shipped here: {error}"
            return query
        identity, peer = self._identity(name, query), self._peer
        plan = self._tallies.know(identity, tally)
        stream = answers_stream(identity, node)
        if self._station.database.catalog.extent(stream.name) is None:
            self._station.database.catalog.add_stream(stream)
        self._aggregates[identity] = TallyQuestion(name, node, plan, stream)
        again = identity in self._kept["starts"]
        started = self._kept["starts"].setdefault(identity, self._station.clock())
        self._keep()
        fields = self._fields(query, explain_text(node), plan.identity, streams)
        self._tcp.call(
            lambda: peer.ask_tally(self._station.clock(), identity, plan, started, fields, again=again)
        )
        self.notes[name] = "peers compute its aggregates from counts and sums per key"
        return Overlaid(query, without_join(query.physical, node, over_answers(node, plan, stream)))

    def _identity(self, name: str, query: CompiledQuery) -> str:
        text = f"{self.options.address}\0{name}\0{query.text}"
        return hashlib.blake2b(text.encode(), digest_size=6).hexdigest()

    def _fields(
        self, query: CompiledQuery, text: str, identity: str, streams: dict[str, Stream]
    ) -> dict[str, Any]:
        return {
            "text": query.text,
            "join": text,
            "identity": identity,
            "declarations": [self._texts.text_of(_plain(one)) for one in streams.values()],
        }

    def removed(self, name: str) -> None:
        """A query has ended."""
        self.notes.pop(name, None)
        asked: dict[str, _Question | TallyQuestion] = {**self._questions, **self._aggregates}
        for identity, question in asked.items():
            if question.name == name:
                self._questions.pop(identity, None)
                self._aggregates.pop(identity, None)
                self._kept["starts"].pop(identity, None)
                self._keep()
                self._tcp.post(lambda gone=identity: self._peer.drop(self._station.clock(), gone))  # type: ignore[misc]

    def look(self) -> None:
        """Once in every turn of the station's loop; does not wait."""
        while self._inbox:
            kind, what = self._inbox.popleft()
            match kind:
                case "notice":
                    self._act_on(what)
                case "mail":
                    self._take_mail(*what)
                case "results":
                    self._take_results(*what)
                case "news":
                    self._report(what)
                case "answer":
                    identity, tick, rows = what
                    if identity in self._aggregates:
                        self._aggregates[identity].came(tick, rows)
        self._homes.look(self._offer)
        for adapter in self._adapters.values():
            adapter.ask_again()
            if adapter.promised:
                self._station.manager.heartbeat(adapter.stream.name, adapter.promised)
                adapter.promised = 0
        for aggregate in self._aggregates.values():
            answers = aggregate.adapter
            if answers is not None and answers.promised:
                self._station.manager.heartbeat(aggregate.stream.name, answers.promised)
                answers.promised = 0
        now = self._station.clock()
        if now - self._looked >= SECOND:
            self._looked = now
            self._announce(now)
            self._tcp.post(lambda: self._inbox.append(("news", self._news())))

    def close(self) -> None:
        """Hand over and leave the ring."""
        self._tcp.close()

    def status(self) -> dict[str, Any]:
        """What `nilometer peers` shows."""
        return self._tcp.call(self._status)

    # ---- in the station's loop ---------------------------------------------------------------------------------------

    def _act_on(self, notice: dict[str, Any]) -> None:
        match notice["kind"]:
            case "streams":
                life = (notice["life"], notice["number"])
                place = notice["home"][2]
                if place != self.options.address and self._lives.get(place, (0, 0)) < life:
                    self._lives[place] = life
                    for text in notice["streams"]:
                        with suppress(CatalogError):
                            self._declare(self._texts.stream_of(text), place)
                    self._keep()
            case "query" | "tally":
                catalog = self._station.database.catalog
                found = [catalog.extent(one) for one in notice.get("streams", ())]
                ours = [one for one in found if isinstance(one, Stream) and not is_of_peers(one)]
                self._joins[notice["id"]] = {stream.name.lower() for stream in ours}
                for stream in ours:
                    home = self._homes.begin_join(stream)
                    self._tcp.post(lambda home=home: self._begin(home))  # type: ignore[misc]
            case "dropped":
                left = self._joins.pop(notice["id"], set())
                for name in left - {one for streams in self._joins.values() for one in streams}:
                    self._homes.end_join(name)
                    self._tcp.post(lambda name=name: self._peer.indexing.end(name))  # type: ignore[misc]

    def _take_mail(self, sender: Contact, message: Message) -> None:
        match message:
            case Subscribe():
                stream = self._station.database.catalog.extent(message.stream)
                if isinstance(stream, Stream) and not is_of_peers(stream):
                    self._homes.subscribe(sender, message, stream)
            case Shipped():
                adapter = self._adapters.get(message.stream.lower())
                if adapter is not None:
                    adapter.came(message)

    def _take_results(self, identity: str, rows: pl.DataFrame) -> None:
        question = self._questions.get(identity)
        if question is None:
            return
        named = rows.select(
            pl.max_horizontal(time(at) for at in range(len(question.plan.inputs))).alias("time"),
            *(pl.col(position(at)).alias(f"p{at}") for at in range(len(question.plan.inputs))),
            *(pl.col(name).alias(f"c{at}") for at, name in enumerate(_values(question.node))),
        )
        if question.adapter is None:
            question.waiting.append(named)
        else:
            question.adapter.came(named)

    def _declare(self, stream: Stream, home: str) -> None:
        """Declare a stream of another gateway here. One of our own, or of a third, keeps its name."""
        catalog = self._station.database.catalog
        found, wanted = catalog.extent(stream.name), remote(stream, home)
        if found is None:
            catalog.add_stream(wanted)
        elif isinstance(found, Stream) and home_of(found) == home and found != wanted:
            catalog.replace_stream(wanted)

    def _announce(self, now: int) -> None:
        """Say which streams are ours, if that has changed."""
        streams = [
            one
            for one in self._station.database.catalog.streams()
            if not is_of_peers(one) and not is_answers(one)
        ]
        texts = [self._texts.text_of(_plain(stream)) for stream in streams]
        if texts == self._announced:
            return
        self._announced = texts
        self._announcements += 1
        peer = self._peer
        me = peer.me
        notice = {
            "id": f"streams {me.address} {peer.delivery.incarnation} {self._announcements}",
            "kind": "streams",
            "home": [me.id, me.name, me.address],
            "life": peer.delivery.incarnation,
            "number": self._announcements,
            "streams": texts,
            "until": now + 30 * DAY,
        }
        self._tcp.post(lambda: peer.tell(now, notice))

    def _report(self, news: dict[str, str]) -> None:
        """Say what has changed about the ring, to whoever runs this gateway."""
        for what, now in news.items():
            if self._said.get(what) != now:
                self._say(f"{what}: {now}")
        self._said = news

    def _subscribe(self, stream: str, place: int) -> None:
        found = self._station.database.catalog.extent(stream)
        home = home_of(found) if isinstance(found, Stream) else None
        if home is not None:
            self._send(Contact(0, "", home), Subscribe(stream, place))

    def _goes_on(self, stream: str) -> bool:
        """Whether a standing query reads a stream: it wants all that came while this process was away."""
        station = self._station
        return any(
            station.is_standing(name) and stream.lower() in physical.streams_of(live.query.physical)
            for name, live in station.queries.items()
        )

    def _offer(self, home: JoinHome, rows: pl.DataFrame, watermark: int) -> None:
        def offer() -> None:
            home.readings.add(rows, watermark)
            if self._peer.indexing.is_home(home.stream.name.lower()):
                self._peer.offer(self._station.clock(), home.stream.name, rows, watermark)

        self._tcp.post(offer)

    def _send(self, peer: Contact, message: Message) -> None:
        self._tcp.post(lambda: self._peer.send_mail(self._station.clock(), peer, message))

    # ---- in the peer's thread ----------------------------------------------------------------------------------------

    def _turn(self) -> None:
        peer = self._peer
        moved = bool(peer.others or peer.mail)
        notices, peer.others = peer.others, []
        for notice in notices:
            named: set[str] = set()
            if notice["kind"] == "query" and notice["id"] in peer.queries:
                named = {one.stream for one in peer.queries[notice["id"]].plan.inputs}
            elif notice["kind"] == "tally" and notice["id"] in peer.tallies.queries:
                named = {one.stream for one in peer.tallies.queries[notice["id"]].plan.sides}
            elif notice["kind"] == "dropped":
                self._tallies.forget(notice["id"])
            if named:
                notice = notice | {"streams": sorted(named)}
            self._inbox.append(("notice", notice))
        mail, peer.mail = peer.mail, []
        self._inbox.extend(("mail", one) for one in mail)
        for identity, asked in peer.asked.items():
            for rows in asked.taken():
                self._inbox.append(("results", (identity, rows)))
                moved = True
        for identity, tally in peer.tallies.asked.items():
            for tick, rows in tally.taken():
                self._inbox.append(("answer", (identity, tick, rows)))
                moved = True
        if not self._asked_again and peer.chord.member and peer.notices.pulled:
            self._asked_again = True
            for identity in [*peer.asked, *peer.tallies.asked]:
                peer.ask_again(self._station.clock(), identity)
        if moved:
            self._station.manager.bell.set()

    def _begin(self, home: JoinHome) -> None:
        """Readings of one of our streams go to joins from now on, beginning with those of the recent past."""
        peer, name = self._peer, home.stream.name
        if peer.indexing.is_home(name.lower()):
            return
        for rows in home.before:
            home.readings.add(rows, home.door.watermark)
        home.before = []
        peer.home(name, home.readings, home.door.greatest_time)
        if home.door.greatest_time is not None:
            peer.offer(self._station.clock(), name, pl.DataFrame(), home.door.watermark)

    def _plan_of(self, notice: dict[str, Any]) -> JoinPlan:
        """The join of a notice. A peer that understands another join by the same text refuses it."""
        node = join_of(notice["join"], self._declared(notice))
        plan = self._conditions.know(node, tuple(map(int, notice.get("order", ()))))
        if plan.identity != notice["identity"]:
            raise ConfigurationError("another release understands this join otherwise")
        return plan

    def _tally_of(self, notice: dict[str, Any]) -> TallyPlan:
        """The aggregate of a notice."""
        plan = self._tallies.know(notice["id"], Tally(node_of(notice["join"], self._declared(notice))))
        if plan.identity != notice["identity"]:
            raise ConfigurationError("another release understands this aggregate otherwise")
        return plan

    def _declared(self, notice: dict[str, Any]) -> _Declared:
        streams = map(self._texts.stream_of, notice["declarations"])
        return _Declared({stream.name.lower(): stream for stream in streams})

    def _news(self) -> dict[str, str]:
        """What whoever runs this gateway is told, when it changes."""
        chord = self._peer.chord
        others = ", ".join(sorted(one.name or one.address for one in chord.view))
        troubles = {f"peer at {address}": why for address, why in self._tcp.troubles.items()}
        return troubles if not chord.member else {"in the ring": others or "nobody else"} | troubles

    def _status(self) -> dict[str, Any]:
        peer, wire = self._peer, self._tcp.wire
        streams = self._station.database.catalog.streams()
        return status_of(peer, streams, self._homes.streams, self._homes.shipped) | {
            "refused": dict(wire.refused) | dict.fromkeys(peer.books.refused, 1),
            "troubles": dict(self._tcp.troubles),
            "notes": dict(self.notes),
        }

    # ---- kept beside the logs ----------------------------------------------------------------------------------------

    def _read_kept(self) -> dict[str, Any]:
        try:
            kept = json.loads(bytes(self._files.read(FILE)))
            return {"streams": list(kept["streams"]), "starts": dict(kept["starts"])}
        except (FileNotFoundError, ValueError, KeyError, TypeError):
            return {"streams": [], "starts": {}}

    def _keep(self) -> None:
        """Standing queries over streams of other gateways begin before those are heard of again."""
        self._kept["streams"] = [
            [self._texts.text_of(_plain(one)), home]
            for one in self._station.database.catalog.streams()
            if (home := home_of(one)) is not None
        ]
        self._files.replace(FILE, json.dumps(self._kept).encode())


def _plain(stream: Stream) -> Stream:
    """A stream without its address, which is nobody else's business."""
    return replace(stream, url=None)


def _values(node: physical.WindowJoin) -> list[str]:
    """The columns of results, in the order of the join's schema."""
    return [
        value(at, column.name)
        for at, leaf in enumerate(node.streams)
        if isinstance(leaf, physical.SpAcquire)
        for column in leaf.columns
    ]
