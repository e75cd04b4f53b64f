"""MQTT: QoS 1, acknowledged only after a durable append; sensor status; commands back to the sensors.

`mqtt://user:password@host:1883/air/{id}?format=senml`. The session is persistent: clean start is off, and the
client id is made from the stream's name, the identity of the data directory and the topic filter. So
unacknowledged messages come again. After a restart of ours or the broker's, readings can come twice but none
is lost, and the stream's KEY removes the duplicates. A broker that does not know a session that it had
(CONNACK without "session present") has lost what it kept for us: this is counted.

Two clients with one id would take the session from each other, and each would acknowledge messages that the
other never saw. A client whose session was taken over reports it, and waits longer and longer before it
connects again. At most `receive` messages are unacknowledged (MQTT 5's Receive Maximum), and the broker keeps
the rest. Unread messages take bounded memory (inbox.py). The broker discards a message larger than `limit` (Maximum
Packet Size). Configure the broker to keep enough: Mosquitto drops messages beyond `max_queued_messages`, 1000 by
default.

`<topic>/status` carries presence, retained and as last will (presence.py). `<topic>/summary` carries summaries of
readings, for sensors that were asked for them (payloads/summaries.py). `<topic>/command` takes commands,
retained: it is a mailbox that the sensor reads when it listens.

This uses paho, not aiomqtt: aiomqtt wraps paho in a coroutine for each message, and neither its queue nor its
iterator can acknowledge later. Here the network thread only appends bytes to a list.

The law: a PUBACK goes out only on the connection that its PUBLISH came in on, because a packet id means
nothing on another connection.
"""

from __future__ import annotations

import contextlib
import hashlib
import threading
import time
from dataclasses import dataclass, replace
from typing import Any

import polars as pl
from paho.mqtt.client import (
    Client,
    ConnectFlags,
    DisconnectFlags,
    MQTTMessage,
    MQTTMessageInfo,
    MQTTv5,
)
from paho.mqtt.enums import CallbackAPIVersion
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties
from paho.mqtt.reasoncodes import ReasonCode
from paho.mqtt.subscribeoptions import SubscribeOptions

from nilometer.catalog.address import Address
from nilometer.catalog.extents import Stream
from nilometer.ingest.adapters.adapter import Adapter, Clock, Command, Presence, ReadResult, Status
from nilometer.ingest.adapters.inbox import Inbox
from nilometer.ingest.adapters.presence import read_status
from nilometer.ingest.payloads import Decoder, Format, Garbled, Messages, Times, TopicPattern
from nilometer.ingest.payloads.summaries import read_summaries
from nilometer.memory import budget
from nilometer.types import DAY, SECOND

STATUS, COMMAND, SUMMARY = "/status", "/command", "/summary"
SPECIAL = (STATUS, SUMMARY)
RECEIVE = 20_000
SESSION = 7 * DAY
COMMANDS = 10_000
FAREWELL = 10 * SECOND
"""The time that the last commands may take to reach the broker when a source is closed."""
SESSION_TAKEN_OVER = 0x8E
"""MQTT 5, section 3.14.2.1: another client connected with the same id."""
RETREAT, LONGEST_RETREAT = 5 * SECOND, 5 * 60 * SECOND
"""The first and the longest wait after another client took our session; the wait doubles each time."""
SHORT, SHORT_LIVES = 5 * SECOND, 5
"""A connection that the broker ends within SHORT is short-lived. After SHORT_LIVES of them in a row we assume
that another client takes our session: the broker may not say so (Mosquitto 2.0 does not)."""
LIMIT = 64 << 20
"""The largest message, in bytes, if the memory of the process allows it."""
OPTIONS = "format time receive limit client_id session keepalive ca retry".split()


_Item = tuple[bytes, str, int, int, int]
"""Payload, topic, arrival, connection, packet id (0 for QoS 0)."""


@dataclass(frozen=True, slots=True)
class Acknowledgement:
    """The packets of one read, by the connection they came in on."""

    packets: tuple[tuple[int, int], ...]


class MqttAdapter(Adapter):
    """One subscription."""

    mailbox = True

    def __init__(self, stream: Stream, address: Address, clock: Clock, identity: str | None = None) -> None:
        """`identity` is that of the data directory: the session belongs to its log alone."""
        super().__init__(stream, clock)
        address.check(OPTIONS)
        self.address = address
        self.pattern = TopicPattern.parse(address.path)
        self._decoder = Decoder(
            stream,
            topic=self.pattern,
            format=address.word("format", Format.AUTO),
            times=address.word("time", Times.EITHER),
        )
        receive = min(address.count("receive", RECEIVE), 65_535)
        self._inbox: Inbox[_Item] = Inbox(receive, lambda item: len(item[0]))
        self._left: list[_Item] = []
        self.wake = self._inbox.wake
        self.connected = threading.Event()
        """Set while subscribed."""
        self.client_id = address.options.get("client_id") or _client_id(stream, identity, self.pattern)
        self.session = self.client_id if address.duration("session", SESSION) >= SECOND else None
        self._connection = 0
        self._since: int | None = None
        self._short_lives = self._taken_over = 0
        self._lock = threading.Lock()
        self._trouble: str | None = "not opened yet"
        self._open = False
        self._topics: dict[str, str] = {}
        self._commands: dict[str, MQTTMessageInfo] = {}
        self._most_commands = COMMANDS
        plain = self.pattern.plain
        self._anywhere = plain == "#" or plain.endswith("/#")
        self._status_levels = plain.count("/") + 1
        self._client = self._make_client(receive)

    @staticmethod
    def connection(client_id: str) -> Client:
        """The client that does the talking. A simulation has another."""
        return Client(CallbackAPIVersion.VERSION2, client_id, protocol=MQTTv5, manual_ack=True)

    def _make_client(self, receive: int) -> Client:
        client = self.connection(self.client_id)
        if self.address.user is not None:
            client.username_pw_set(self.address.user, self.address.password)
        if self.address.scheme == "mqtts":
            client.tls_set(ca_certs=self.address.options.get("ca"))
        self._retry(client)
        client.on_connect = self._on_connect
        client.on_connect_fail = self._on_connect_fail
        client.on_disconnect = self._on_disconnect
        client.on_subscribe = self._on_subscribe
        client.on_message = self._on_message
        self._properties = Properties(PacketTypes.CONNECT)  # type: ignore[no-untyped-call]
        self._properties.ReceiveMaximum = receive
        self._properties.MaximumPacketSize = self.address.count("limit", min(LIMIT, budget().inbox))
        self._properties.SessionExpiryInterval = self.address.duration("session", SESSION) // SECOND
        return client

    def _retry(self, client: Client) -> None:
        """Set the delay before the next connection. It is longer if another client took our session."""
        retry, longest = self.address.duration("retry", SECOND // 4), 30 * SECOND
        if self._taken_over:
            longest = LONGEST_RETREAT
            retry = max(retry, min(RETREAT << min(self._taken_over - 1, 16), longest))
        client.reconnect_delay_set(retry / SECOND, max(retry, longest) / SECOND)  # type: ignore[arg-type]

    # ---- the contract ------------------------------------------------------------------------------------------------

    def open(self) -> None:
        self._open = True
        self._trouble = "connecting"
        port = self.address.port or (8883 if self.address.scheme == "mqtts" else 1883)
        keepalive = self.address.duration("keepalive", 60 * SECOND) // SECOND
        self._client.connect_async(
            self.address.host or "localhost", port, keepalive, clean_start=False, properties=self._properties
        )
        self._client.loop_start()

    def read(self) -> ReadResult:
        items, plain = self._run()
        if not items:
            return self.nothing(Status.NO_VALUE if self._open else Status.END)
        handle = Acknowledgement(tuple((item[3], item[4]) for item in items if item[4]))
        arrival = items[-1][2]
        items, strange = self._own(items, plain=plain)
        statuses = [] if plain else [item for item in items if self._is_status(item[1])]
        data = items if not statuses else [item for item in items if not self._is_status(item[1])]
        data = [item for item in data if not item[1].endswith(COMMAND)] if self._anywhere else data
        presences, garbled = self._presences(statuses)
        if data and not plain and self._is_summary(data[0][1]):
            return self._summaries(data, presences, strange + garbled, arrival, handle)
        payloads, topics, arrived, _, _ = zip(*data, strict=True) if data else ((), (), (), (), ())
        self._learn(topics)
        decoded = self._decoder.decode(Messages(payloads, arrived, topics))
        return ReadResult(
            Status.NEW_VALUE,
            decoded.rows,
            strange + garbled + decoded.garbled,
            presences,
            arrival,
            handle,
            fields=decoded.fields,
        )

    def _run(self) -> tuple[list[_Item], bool]:
        """The next messages: readings or summaries, not both, so that these keep their order in the log. Statuses
        stay where they are. Then whether all are plain readings by their topics, as most are: one look at each."""
        items = self._left or list(self._inbox.take())
        self._left = []
        if not any(item[1].endswith(SPECIAL) for item in items):
            return items, True
        run: bool | None = None
        for place, item in enumerate(items):
            if self._is_status(item[1]):
                continue
            summary = self._is_summary(item[1])
            if run is not None and summary != run:
                self._left = items[place:]
                self._inbox.wake.set()  # there is more to read
                return items[:place], False
            run = summary
        return items, False

    def _summaries(
        self,
        items: list[_Item],
        presences: tuple[Presence, ...],
        strange: tuple[Garbled, ...],
        arrival: int,
        handle: Acknowledgement,
    ) -> ReadResult:
        own = [(item[0], item[1].removesuffix(SUMMARY), item[1]) for item in items]
        rows, garbled = read_summaries(
            [(payload, self.pattern.sensor(topic), whole) for payload, topic, whole in own], self.stream
        )
        return ReadResult(
            Status.NEW_VALUE, self._none, strange + garbled, presences, arrival, handle, summaries=rows
        )

    def acknowledge(self, handle: object) -> None:
        assert isinstance(handle, Acknowledgement)
        with self._lock:
            # Also before we are subscribed: an existing session brings its messages at once, and an
            # unacknowledged message counts against the Receive Maximum until the connection ends.
            for connection, packet in handle.packets:
                if connection == self._connection:
                    self._client.ack(packet, 1)

    def command(self, sensor: int | str, command: Command) -> bool:
        topic = self._topics.get(str(sensor)) or self.pattern.topic_of(str(sensor))
        if topic is None or set(str(sensor)) & set("+#/\0"):
            return False
        if command.aggregate is not None and self._anywhere:
            command = replace(command, aggregate=None)  # no topic of its own is left for summaries
        # Retained, so that a sensor that sleeps or restarts finds the latest demand.
        sent = self._client.publish(topic + COMMAND, command.as_json(), qos=1, retain=True)
        self._commands[topic] = sent
        if len(self._commands) > self._most_commands:
            self._commands = {name: info for name, info in self._commands.items() if not info.is_published()}
            # If the broker takes none, the next look comes after twice as many: looks stay cheap on average.
            self._most_commands = max(COMMANDS, 2 * len(self._commands))
        return True

    def close(self) -> None:
        self._open = False
        self._inbox.close()
        self._deliver_commands()
        self._client.disconnect()
        self._client.loop_stop()
        # The client closes its pair of sockets when it is collected. That happens at once only if our
        # callbacks do not hold it in a reference cycle.
        client = self._client
        client.on_connect = client.on_connect_fail = client.on_disconnect = None
        client.on_subscribe = client.on_message = None
        self._trouble = "closed"

    def _deliver_commands(self) -> None:
        """Wait until the commands have reached the broker. Only a few are in flight at a time, and the others
        would be lost with the connection: "sleep" is sent just before the end."""
        until = time.monotonic() + FAREWELL / SECOND
        for sent in self._commands.values():
            left = until - time.monotonic()
            if left <= 0 or not self.connected.is_set():
                break
            with contextlib.suppress(
                RuntimeError, ValueError
            ):  # the command could not be queued, or the connection was lost
                sent.wait_for_publish(left)
        self._commands = {}

    @property
    def trouble(self) -> str | None:
        return self._trouble

    # ---- the network thread ------------------------------------------------------------------------------------------

    def _on_connect(
        self, client: Client, _: Any, flags: ConnectFlags, reason: ReasonCode, ___: Properties | None
    ) -> None:
        if reason.is_failure:
            self._trouble = f"the broker refused: {reason}"
            return
        if self.session is not None and self.session_begun and not flags.session_present:
            self.sessions_lost += 1
        self._since = self.clock()
        with self._lock:
            self._connection += 1
        filters = [(self.pattern.filter, SubscribeOptions(qos=1, retainHandling=1))]
        if not self._anywhere:
            filters.append((self.pattern.plain + STATUS, SubscribeOptions(qos=1, retainHandling=0)))
            filters.append((self.pattern.plain + SUMMARY, SubscribeOptions(qos=1, retainHandling=1)))
        client.subscribe(filters)

    def _on_subscribe(
        self, _: Client, __: Any, ___: int, reasons: list[ReasonCode], ____: Properties | None
    ) -> None:
        refused = [reason for reason in reasons if reason.is_failure]
        self._trouble = f"the broker refused '{self.pattern.filter}': {refused[0]}" if refused else None
        self.session_begun = self.session_begun or not refused
        self.connected.set()

    def _on_connect_fail(self, _: Client, __: Any) -> None:
        self._short_lives = 0
        self._trouble = f"no broker at {self.address.host}:{self.address.port or 1883}; trying again"

    def _on_disconnect(
        self, client: Client, __: Any, ___: DisconnectFlags, reason: ReasonCode, ____: Properties | None
    ) -> None:
        with self._lock:
            self._connection += 1
            self.connected.clear()
        short = self._since is not None and 0 <= self.clock() - self._since < SHORT
        self._short_lives = self._short_lives + 1 if short else 0
        self._since = None
        self._blame(client, reason)

    def _blame(self, client: Client, reason: ReasonCode) -> None:
        """Record why a connection ended, and set the delay before the next one."""
        before = self._taken_over
        others = f"another client uses the id '{self.client_id}' (two gateways, or a copied data directory?)"
        if reason.value == SESSION_TAKEN_OVER:
            self._taken_over += 1
            self._trouble = others
        elif self._short_lives >= SHORT_LIVES:
            self._taken_over += 1
            self._trouble = f"the broker ends every connection at once: perhaps {others}"
        else:
            self._taken_over = 0
            self._trouble = f"disconnected: {reason}; trying again"
        if self._taken_over != before:
            self._retry(client)

    def _on_message(self, _: Client, __: Any, message: MQTTMessage) -> None:
        packet = message.mid if message.qos else 0
        self._inbox.put((bytes(message.payload), message.topic, self.clock(), self._connection, packet))

    # ---- status and topics -------------------------------------------------------------------------------------------

    def _own(self, items: list[_Item], *, plain: bool) -> tuple[list[_Item], tuple[Garbled, ...]]:
        """Split messages into those of our topics and the others. A session brings all topics it was ever
        subscribed to, even by another client."""
        topics = [item[1] if plain else self._plain(item[1]) for item in items]
        ours = self.pattern.matches(pl.Series(topics, dtype=pl.String))
        if ours.all():
            return items, ()
        strange = tuple(
            Garbled(items[place][0], "a topic that is not this stream's", items[place][1])
            for place in (~ours).arg_true().to_list()
        )
        return [items[place] for place in ours.arg_true().to_list()], strange

    def _is_status(self, topic: str) -> bool:
        return topic.endswith(STATUS) and (self._anywhere or topic.count("/") == self._status_levels)

    def _is_summary(self, topic: str) -> bool:
        return topic.endswith(SUMMARY) and not self._anywhere and topic.count("/") == self._status_levels

    def _plain(self, topic: str) -> str:
        """The topic of the readings to which a status or summary belongs."""
        if self._is_status(topic):
            return topic.removesuffix(STATUS)
        return topic.removesuffix(SUMMARY) if self._is_summary(topic) else topic

    def _presences(self, items: list[_Item]) -> tuple[tuple[Presence, ...], tuple[Garbled, ...]]:
        presences, garbled = [], []
        for payload, topic, arrived, _, _ in items:
            own = topic.removesuffix(STATUS)
            said = read_status(payload)
            sensor = self.pattern.sensor(own) or own.rpartition("/")[2]
            if said is not None and not said.sensors and not sensor:
                garbled.append(Garbled(payload, "no id: its level of the topic is empty", topic))
            elif said is not None:
                sensors = said.sensors or (sensor,)
                presences += [
                    Presence(
                        sensor,
                        said.online,
                        arrived,
                        said.time,
                        said.listening,
                        said.command,
                        said.battery,
                    )
                    for sensor in sensors
                ]
            elif payload:  # an empty payload only clears the retained message
                garbled.append(Garbled(payload, "a status that says neither online nor offline", topic))
        return tuple(presences), tuple(garbled)

    def _learn(self, topics: tuple[str, ...]) -> None:
        """Remember the topics of sensors if an id alone does not give the topic."""
        if self.pattern.topic_of("") is not None:
            return
        for topic in set(topics):
            sensor = self.pattern.sensor(topic)
            if sensor is not None:
                self._topics[sensor] = topic


def _client_id(stream: Stream, identity: str | None, pattern: TopicPattern) -> str:
    """The client id of a session. Another data directory is another client, so that it does not acknowledge
    our messages. Another filter is another session: a session keeps its subscriptions and would go on
    bringing the old topics."""
    digest = hashlib.sha256(pattern.filter.encode()).hexdigest()[:8]
    return "-".join(["nilometer", stream.name, *([identity] if identity else []), digest])
