"""The MQTT extension (OGC 18-088, sections 13 and 14), with a broker of its own right: Mosquitto, EMQX, any other.

    in    v1.1/Datastreams(1)/Observations, v1.1/Observations     an Observation as JSON, acknowledged once it is durable
    out   v1.1/Datastreams(1)/Observations, v1.1/Observations     each new Observation, from wherever it came
          v1.1/Things(1), v1.1/Things                             an entity that was made or changed
          v1.1/Things(1)/Datastreams                              the same, for those who watch what belongs to another
          v1.1/Things(1)/name                                     {"name": ...}, when it is made or changed

The standard uses one topic in both directions. The broker does not send us what we publish (No Local), but other
subscribers of a topic see what clients send there, and then the Observation with its id.

The laws: a message is acknowledged after its readings are durable, or are dead letters; until then the broker keeps
it, and at most RECEIVE of them are unacknowledged. New observations wait in the log, not in memory, while the broker
is away. They are published at least once while the server runs; after a restart from then on.
"""

from __future__ import annotations

import contextlib
import json
import queue
import sys
import threading
from collections import OrderedDict
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

import polars as pl
from paho.mqtt.client import Client, MQTTMessage, MQTTMessageInfo, MQTTv5
from paho.mqtt.enums import CallbackAPIVersion
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties
from paho.mqtt.subscribeoptions import SubscribeOptions

from nilometer.catalog.address import Address
from nilometer.errors import NilometerError, ResourceError
from nilometer.ingest.adapters.push import Offer
from nilometer.ingest.payloads import Decoded, Format, Garbled
from nilometer.live.identity import identity_of
from nilometer.operators.logic import POSITION
from nilometer.server.problems import NotFoundError
from nilometer.server.routes.readings import open_source
from nilometer.server.sensorthings import own, paths
from nilometer.server.sensorthings.batch import parse_body
from nilometer.server.sensorthings.intake import datastream_in
from nilometer.server.sensorthings.kinds import DATASTREAMS, KINDS, OBSERVATIONS, Kind
from nilometer.server.sensorthings.model import Entity, Model
from nilometer.server.sensorthings.names import Id
from nilometer.server.sensorthings.observation import Row, entity_of
from nilometer.server.sensorthings.observations import Reader
from nilometer.server.sensorthings.options import NOTHING
from nilometer.server.sensorthings.selection import Part
from nilometer.server.sensorthings.service import Service
from nilometer.server.sensorthings.writing import as_json, self_link
from nilometer.server.settings import DURABLE_SECONDS
from nilometer.types import SECOND

if TYPE_CHECKING:
    from nilometer.server.sensorthings.sources import Source

VERSION = "v1.1"
RECEIVE = 1_000
"""The most messages that are unacknowledged."""
LIMIT = 256 << 10
"""The largest message, in bytes."""
SESSION = 7 * 24 * 3_600
"""For how many seconds the broker keeps messages for us."""
PART = 1_000
"""How many messages are published before their acknowledgements are waited for."""
LOOK = 0.1
"""Seconds between two looks for new observations."""
CHANGED = 10_000
"""The most changed entities that wait to be published; the oldest are left out beyond that."""
NEIGHBOURS = 100
"""To so many entities of a link a change of this one is told at most."""
REMEMBERED = 10_000
"""Of so many entities it is known which properties were published."""


class Bridge:
    """Connects the service with a broker. `root` is the address that links in messages have."""

    def __init__(self, service: Service, address: str, root: str) -> None:
        self._service = service
        self._address = Address.parse(address)
        self._root = root
        self._over = threading.Event()
        self._fresh = threading.Event()
        self._inbox: queue.SimpleQueue[tuple[int, MQTTMessage] | None] = queue.SimpleQueue()
        self._changed: queue.Queue[tuple[Kind, Id]] = queue.Queue(CHANGED)
        self._told: OrderedDict[tuple[str, Id], dict[str, int]] = OrderedDict()
        """The hash of each property of an entity as it was published last."""
        self._connection = 0
        self._positions: dict[str, int] = {}
        self.connected = threading.Event()
        """Set while subscribed."""
        self._client = self._make_client()
        self._threads = [
            threading.Thread(
                target=self._guarded, args=(work,), name=f"nilometer-sensorthings-{name}", daemon=True
            )
            for name, work in (("in", self._take), ("out", self._publish))
        ]
        self._began = threading.Event()

    @property
    def endpoint(self) -> str:
        """Where the broker is, without the password."""
        port = self._port
        return f"{self._address.scheme}://{self._address.host}:{port}"

    @property
    def _port(self) -> int:
        return self._address.port or (8883 if self._address.scheme == "mqtts" else 1883)

    def _make_client(self) -> Client:
        name = f"nilometer-sensorthings-{identity_of(self._service.desk.directory)}"
        client = Client(CallbackAPIVersion.VERSION2, name, protocol=MQTTv5, manual_ack=True)
        if self._address.user is not None:
            client.username_pw_set(self._address.user, self._address.password)
        if self._address.scheme == "mqtts":
            client.tls_set(ca_certs=self._address.options.get("ca"))
        client.on_connect = self._on_connect
        client.on_disconnect = self._on_disconnect
        client.on_subscribe = lambda *_: self.connected.set()
        client.on_message = self._on_message
        return client

    def start(self) -> None:
        """Connect; if the broker is away, again and again."""
        properties = Properties(PacketTypes.CONNECT)  # type: ignore[no-untyped-call]
        properties.ReceiveMaximum = RECEIVE
        properties.MaximumPacketSize = LIMIT
        properties.SessionExpiryInterval = SESSION
        keepalive = self._address.duration("keepalive", 60 * SECOND) // SECOND
        self._client.connect_async(
            self._address.host, self._port, keepalive, clean_start=False, properties=properties
        )
        self._client.loop_start()
        for thread in self._threads:
            thread.start()

    def look(self) -> None:
        """There may be new observations; must not wait."""
        self._fresh.set()

    def changed(self, entities: list[tuple[Kind, Id]]) -> None:
        """Entities were made or changed."""
        for entity in entities:
            with contextlib.suppress(queue.Full):
                self._changed.put_nowait(entity)
        self._fresh.set()

    def stop(self) -> list[threading.Thread]:
        """End it. Returns the threads that may still wait for the station's loop."""
        self._over.set()
        self._fresh.set()
        self._inbox.put(None)
        self._client.disconnect()
        self._client.loop_stop()
        client = self._client
        client.on_connect = client.on_disconnect = client.on_subscribe = client.on_message = None
        return self._threads

    def _guarded(self, work: Any) -> None:
        while not self._over.is_set():
            try:
                work()
            except NilometerError as error:
                if not self._over.is_set():
                    print(f"SensorThings by MQTT: {error}", file=sys.stderr)
            self._over.wait(1.0)

    # ---- the network thread ------------------------------------------------------------------------------------------

    def _on_connect(self, client: Client, _: Any, __: Any, reason: Any, ___: Any) -> None:
        if reason.is_failure:
            print(f"SensorThings: the broker {self.endpoint} refused: {reason}", file=sys.stderr)
            return
        self._connection += 1
        options = SubscribeOptions(qos=1, noLocal=True, retainHandling=2)
        client.subscribe(
            [(f"{VERSION}/{OBSERVATIONS.name}", options), (f"{VERSION}/+/{OBSERVATIONS.name}", options)]
        )

    def _on_disconnect(self, *_: Any) -> None:
        self._connection += 1
        self.connected.clear()

    def _on_message(self, _: Client, __: Any, message: MQTTMessage) -> None:
        self._inbox.put((self._connection, message))

    # ---- observations in ---------------------------------------------------------------------------------------------

    def _take(self) -> None:
        while not self._over.is_set():
            first = self._inbox.get()
            if first is None:
                return
            messages = [first]
            while len(messages) < RECEIVE and not self._inbox.empty():
                following = self._inbox.get()
                if following is None:
                    return
                messages.append(following)
            left = [message for _, message in messages]
            while left and not self._over.is_set():
                left = self._admit(left)
                if left:
                    self._over.wait(1.0)  # the disk or the queue is full: the broker keeps them until then
            if left:
                return
            for connection, message in messages:
                if message.qos and connection == self._connection:
                    self._client.ack(message.mid, message.qos)

    def _admit(self, messages: list[MQTTMessage]) -> list[MQTTMessage]:
        """Take messages in. Returns those that could not be made durable now."""
        model = self._service.model()
        asked: list[tuple[Id, Any]] = []
        whose: list[MQTTMessage] = []
        left: list[MQTTMessage] = []
        for message in messages:
            try:
                asked.append(self._observation(model, message))
                whose.append(message)
            except NilometerError as error:
                left += self._letter(model, message, error.message)
        outcomes = self._service.intake.take(model, asked, "mqtt")
        for message, outcome in zip(whose, outcomes, strict=True):
            if isinstance(outcome, ResourceError):
                left.append(message)
            elif isinstance(outcome, NilometerError):
                left += self._letter(model, message, outcome.message)
        return left

    def _observation(self, model: Model, message: MQTTMessage) -> tuple[Id, Any]:
        body = parse_body(bytes(message.payload))
        target = paths.resolve(model, Reader(model), unquote(message.topic.removeprefix(f"{VERSION}/")))
        if target.kind is not OBSERVATIONS or target.entity is not None:
            raise NotFoundError(f"'{message.topic[:80]}' is no topic for Observations")
        if target.parent is not None and target.parent.kind is DATASTREAMS:
            return target.parent.id, body
        return datastream_in(body), body

    def _letter(self, model: Model, message: MQTTMessage, reason: str) -> list[MQTTMessage]:
        """A message that is no observation becomes a dead letter of the stream `observations`. Returns it if that was
        not possible now."""
        if model.own is None:
            print(f"SensorThings by MQTT: {message.topic[:80]}: {reason}", file=sys.stderr)
            return []
        desk = self._service.desk
        adapter = desk.pushes.find(own.NAME) or open_source(desk, own.NAME)
        letter = Garbled(bytes(message.payload), reason, f"mqtt {message.topic}")
        decoded = Decoded(adapter.nothing().rows, (letter,))
        offer = Offer([], Format.JSON, "mqtt", desk.owner.station.clock(), len(message.payload), decoded)
        try:
            adapter.put(offer)
            offer.done.result(DURABLE_SECONDS)
        except (ResourceError, TimeoutError):
            return [message]
        return []

    # ---- observations and entities out -------------------------------------------------------------------------------

    def _publish(self) -> None:
        if not self._began.is_set():
            for name, source in self._sources(self._service.model()):
                self._positions[name] = source.latest.position
            self._began.set()
        while not self._over.is_set():
            self._fresh.wait()
            self._fresh.clear()
            if self.connected.is_set():
                self._publish_new()
            self._over.wait(LOOK)

    @staticmethod
    def _sources(model: Model) -> list[tuple[str, Source]]:
        found = [*model.sources.items()]
        return found if model.own is None else [*found, (own.NAME, model.own)]

    def _publish_new(self) -> None:
        model = self._service.model()
        for name, source in self._sources(model):
            position = self._positions.get(name, 0)
            if position > source.latest.position:
                position = 0  # the stream was dropped and made again
            while position < source.latest.position:
                position, sent = self._publish_part(model, source, position)
                if not sent:
                    return
                self._positions[name] = position
            self._positions.setdefault(name, position)
        self._publish_entities(model)

    def _publish_part(self, model: Model, source: Source, position: int) -> tuple[int, bool]:
        """Publish the next rows. Returns the position after them, and whether the broker has them."""
        latest = source.latest
        rows = latest.since(position)
        if not rows.height or int(rows.get_column(POSITION)[0]) > position:
            names = rows.columns if rows.width > 1 else [POSITION, latest.time, latest.id, *latest.kept]
            rows = next(iter(latest.log.scan(position, names, on_damage=lambda _: None)), rows)
        rows = rows.sort(POSITION).head(PART)
        if not rows.height:
            return latest.position, True
        sent: list[MQTTMessageInfo] = []
        for entity in _entities(model, source, rows):
            assert entity.origin is not None
            payload = json.dumps(as_json(self._root, entity, NOTHING), allow_nan=False)
            above = self_link(VERSION, DATASTREAMS, entity.origin[0])
            for topic in (f"{above}/{OBSERVATIONS.name}", f"{VERSION}/{OBSERVATIONS.name}"):
                sent.append(self._client.publish(topic, payload, qos=1))
        return int(rows.get_column(POSITION)[-1]) + 1, self._delivered(sent)

    def _publish_entities(self, model: Model) -> None:
        sent = []
        while not self._changed.empty():
            kind, identity = self._changed.get()
            entity = model.find(kind, identity)
            if entity is None:
                continue
            found = as_json(self._root, entity, NOTHING)
            payload = json.dumps(found, allow_nan=False)
            for topic in _topics(model, entity):
                sent.append(self._client.publish(topic, payload, qos=1))
            for name, text in self._new_properties(entity, found):
                sent.append(self._client.publish(f"{self_link(VERSION, kind, identity)}/{name}", text, qos=1))
        self._delivered(sent)

    def _new_properties(self, entity: Entity, found: dict[str, Any]) -> Iterator[tuple[str, str]]:
        """The properties that are others than those that were published last, each as a JSON object."""
        key = (entity.kind.name.value, entity.id)
        before = self._told.pop(key, {})
        self._told[key] = now = {}
        if len(self._told) > REMEMBERED:
            self._told.popitem(last=False)
        for name in entity.kind.properties:
            if name in found:
                text = json.dumps({name: found[name]}, allow_nan=False)
                now[name] = hash(text)
                if before.get(name) != now[name]:
                    yield name, text

    def _delivered(self, sent: list[MQTTMessageInfo]) -> bool:
        for info in sent:
            try:
                while not info.is_published():
                    if self._over.is_set() or not self.connected.is_set():
                        return False
                    info.wait_for_publish(0.2)
            except (RuntimeError, ValueError):
                return False
        return True


def _topics(model: Model, entity: Entity) -> Iterator[str]:
    """Where an entity is published: itself, its set, and its set seen from the entities that it belongs to."""
    yield self_link(VERSION, entity.kind, entity.id)
    yield f"{VERSION}/{entity.kind.name}"
    for link in entity.kind.links:
        other = KINDS[link.to.value]
        if (
            entity.kind is not OBSERVATIONS
            and link.to is not OBSERVATIONS.name
            and entity.kind.name in other.by_name
        ):
            for identity in model.link_of(entity, link.name)[:NEIGHBOURS]:
                yield f"{self_link(VERSION, other, identity)}/{entity.kind.name}"


def _entities(model: Model, source: Source, rows: pl.DataFrame) -> Iterator[Entity]:
    """The observations of rows: of each column that has a value."""
    latest = source.latest
    for row in rows.iter_rows(named=True):
        sensor, time, position = row[latest.id], row[latest.time], row[POSITION]
        if source is model.own:
            if model.store.get(DATASTREAMS.name, sensor) is not None:
                yield entity_of(model, Row(Part(source, None, None), sensor, time, position, row))
            continue
        for column in source.columns:
            if row[column] is not None:
                yield entity_of(model, Row(Part(source, column, None), sensor, time, position, row))
