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
from nilometer.live.peers.inner_logs import InnerLogs
from nilometer.live.peers.status import status_of
from nilometer.live.peers.streams import results_stream, selection_stream
from nilometer.live.starts import NOW, Start, is_now
from nilometer.log.local_files import LocalFiles
from nilometer.optimizer import OptimizerContext
from nilometer.optimizer.load import rate_of
from nilometer.overlay.delivery import Patience
from nilometer.overlay.join_plan import JoinPlan
from nilometer.overlay.messages import Message, Shipped, Subscribe
from nilometer.overlay.names import position, time, value
from nilometer.overlay.ordering import order_of
from nilometer.overlay.overlaid import Conditions, join_of, results_of, text_of, without_join
from nilometer.overlay.peer import Peer, Settings
from nilometer.overlay.ring import Contact, contact
from nilometer.overlay.selections import selection_of
from nilometer.overlay.tally.overlaid_tally import Compiled, Tally, node_of
from nilometer.overlay.tally.tally_plan import TallyPlan
from nilometer.overlay.tcp import TcpPeer, split_address
from nilometer.overlay.ways import Counts, Joins, Ships, note_of, remote_leaves, way_of
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


@dataclass(frozen=True)
class _Begun:
    """When a query of ours began. Its key is the same in each life of this process; the ring knows it by its id, which no
    other question ever has. A standing query goes on from its start, `again` and again; any other begins now."""

    key: str
    start: int
    again: bool

    @property
    def id(self) -> str:
        return _digest(f"{self.key}\0{self.start}")


@dataclass
class _Question:
    """A question of ours to the ring."""

    name: str
    key: str
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
        self._asked_again = self._closed = False
        self._keys: dict[str, str] = {}
        """The key of each query that reads streams of others, by its name."""
        self._going_on: set[str] = set()
        """The streams that a standing query read in an earlier life of this process: it wants all that came meanwhile."""
        self._standing = {_Begun(key, start, again=True).id for key, start in self._kept["starts"].items()}
        self._selections: dict[str, tuple[Stream, str]] = {}
        """The other gateway's stream, and the selection of it, by the name that its rows have here."""
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
        self._inner = InnerLogs(station, self._forget)
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
            for aggregate in self._aggregates.values():
                if aggregate.key == query:
                    aggregate.take_adapter(made)
            for question in self._questions.values():
                if question.key == query:
                    question.adapter = made
                    for rows in question.waiting:
                        made.came(rows)
                    question.waiting.clear()
            return made
        found = self._adapters[stream.name.lower()] = RemoteAdapter(
            stream, clock, self._subscribe, lambda name: name.lower() in self._going_on
        )
        return found

    def overlay(
        self, name: str, query: CompiledQuery, start: Start = NOW, *, standing: bool = False
    ) -> CompiledQuery:
        """The query as it runs here: if peers can join its streams, over the results of their join; else over the streams
        that are shipped. `start`: where it begins in their logs."""
        streams = physical.streams_of(query.physical)
        if not any(home_of(stream) for stream in streams.values()):
            return query
        way = way_of(query.physical)
        self.notes[name] = note_of(way, query.physical)
        begun = self._begun(name, query, standing=standing)
        match way:
            case Joins(node):
                return self._overlay_join(name, begun, query, node, streams)
            case Counts(aggregate, tally):
                return self._overlay_aggregate(name, begun, query, aggregate, tally, streams)
            case Ships():
                found = self._over_selections(name, begun, query, way, start)
                if begun.again:
                    self._going_on |= set(physical.streams_of(found.physical))
                return found

    def _begun(self, name: str, query: CompiledQuery, *, standing: bool) -> _Begun:
        key = _digest(f"{self.options.address}\0{name}\0{query.text}")
        self._keys[name] = key
        starts = self._kept["starts"]
        if not standing:
            return _Begun(key, self._station.clock(), again=False)
        begun = _Begun(key, starts.get(key) or self._station.clock(), key in starts)
        if not begun.again:
            starts[key] = begun.start
            self._keep()
        return begun

    def _over_selections(
        self, name: str, begun: _Begun, query: CompiledQuery, way: Ships, start: Start
    ) -> CompiledQuery:
        """The query over the selections that it makes of other gateways' streams: only rows that match are shipped. A query
        that begins with what the whole copies have reads these, now and later."""
        selects, station = self._kept["selects"], self._station
        streams = physical.streams_of(query.physical)
        logs = {key: station.logs.log(stream) for key, stream in streams.items()}
        if begun.key not in selects if begun.again else not is_now(start, logs):
            self.notes[name] = note_of(way, query.physical, lambda _: False)
            return query
        plan = query.physical
        for leaf in remote_leaves(plan):
            text = selection_of(leaf)
            if text is not None:
                selection = selection_stream(leaf, text)
                self._selections[selection.name] = leaf.stream, text
                if station.database.catalog.extent(selection.name) is None:
                    station.database.catalog.add_stream(selection)
                plan = without_join(plan, leaf, replace(leaf, stream=selection))
        if plan is query.physical:
            return query
        if begun.key in self._kept["starts"] and begun.key not in selects:
            selects.append(begun.key)
            self._keep()
        return Overlaid(query, plan)

    def _overlay_join(
        self,
        name: str,
        begun: _Begun,
        query: CompiledQuery,
        node: physical.WindowJoin,
        streams: dict[str, Stream],
    ) -> CompiledQuery:
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
        stream = results_stream(begun.key, node, plan, peer.settings.slack)
        if self._station.database.catalog.extent(stream.name) is None:
            self._station.database.catalog.add_stream(stream)
        self._questions[begun.id] = _Question(name, begun.key, node, plan)
        fields = self._fields(query, text_of(node), plan.identity, streams)
        fields["order"] = list(order)

        def ask() -> None:
            peer.ask(self._station.clock(), begun.id, plan, begun.start, fields)
            if begun.again and self._asked_again:
                peer.ask_again(self._station.clock(), begun.id)

        self._tcp.call(ask)
        columns = tuple(column for column in stream.columns if column.name.startswith("c"))
        leaf = physical.SpAcquire(stream, "J", columns)
        return Overlaid(query, without_join(query.physical, node, results_of(node, leaf)))

    def _overlay_aggregate(
        self,
        name: str,
        begun: _Begun,
        query: CompiledQuery,
        node: physical.AggregateInit,
        tally: Tally,
        streams: dict[str, Stream],
    ) -> CompiledQuery:
        """The query over the answers of the ring."""
        peer = self._peer
        plan = self._tallies.know(begun.id, tally)
        stream = answers_stream(begun.key, node)
        if self._station.database.catalog.extent(stream.name) is None:
            self._station.database.catalog.add_stream(stream)
        self._aggregates[begun.id] = TallyQuestion(name, begun.key, node, plan, stream)
        fields = self._fields(query, explain_text(node), plan.identity, streams)
        self._tcp.call(
            lambda: peer.ask_tally(
                self._station.clock(), begun.id, plan, begun.start, fields, again=begun.again
            )
        )
        return Overlaid(query, without_join(query.physical, node, over_answers(node, plan, stream)))

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
        """A query has ended. If all do because this process ends, the ring goes on with them."""
        self.notes.pop(name, None)
        if self._closed:
            return
        key = self._keys.pop(name, "")
        if self._kept["starts"].pop(key, None) is not None:
            self._kept["selects"] = [one for one in self._kept["selects"] if one != key]
            self._keep()
        asked: dict[str, _Question | TallyQuestion] = {**self._questions, **self._aggregates}
        for identity, question in asked.items():
            if question.name == name:
                self._questions.pop(identity, None)
                self._aggregates.pop(identity, None)
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
            self._inner.look(now)
            self._tcp.post(lambda: self._inbox.append(("news", self._news())))

    def close(self) -> None:
        """End the questions that end with this process, hand over, and leave the ring."""
        self._closed = True
        asked: dict[str, _Question | TallyQuestion] = {**self._questions, **self._aggregates}
        ended = [one for one, question in asked.items() if question.key not in self._kept["starts"]]
        for identity in ended:
            self._tcp.post(lambda gone=identity: self._peer.drop(self._station.clock(), gone))  # type: ignore[misc]
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

    def _forget(self, stream: str) -> None:
        """The log of a stream that peers made for a question is gone."""
        self._selections.pop(stream, None)
        self._adapters.pop(stream, None)
        self._going_on.discard(stream)

    def _subscribe(self, stream: str, place: int) -> None:
        selected = self._selections.get(stream)
        found = self._station.database.catalog.extent(stream) if selected is None else selected[0]
        home = home_of(found) if isinstance(found, Stream) else None
        if home is None:
            return
        if selected is None:
            asked = Subscribe(stream, place)
        else:
            asked = Subscribe(selected[0].name, place, stream, selected[1])
        self._send(Contact(0, "", home), asked)

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
            self._take_up_questions()
        if moved:
            self._station.manager.bell.set()

    def _take_up_questions(self) -> None:
        """We are in the ring: our standing questions go on. What else was asked in an earlier life nobody waits for."""
        peer, now = self._peer, self._station.clock()
        waited_for = {*peer.asked, *peer.tallies.asked}
        for identity in waited_for:
            peer.ask_again(now, identity)
        known = [(one.id, one.asker.address) for one in peer.queries.values()]
        known += [(one.id, one.asker.address) for one in peer.tallies.queries.values()]
        for identity, asker in known:
            if asker == peer.me.address and identity not in waited_for | self._standing:
                peer.drop(now, identity)

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
            return {
                "streams": list(kept["streams"]),
                "starts": dict(kept["starts"]),
                "selects": list(kept.get("selects", [])),
            }
        except (FileNotFoundError, ValueError, KeyError, TypeError):
            return {"streams": [], "starts": {}, "selects": []}

    def _keep(self) -> None:
        """Standing queries over streams of other gateways begin before those are heard of again."""
        self._kept["streams"] = [
            [self._texts.text_of(_plain(one)), home]
            for one in self._station.database.catalog.streams()
            if (home := home_of(one)) is not None
        ]
        self._files.replace(FILE, json.dumps(self._kept).encode())


def _digest(text: str) -> str:
    return hashlib.blake2b(text.encode(), digest_size=6).hexdigest()


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
