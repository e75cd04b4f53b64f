"""A faulty MQTT broker in memory, and the client that the product's MQTT adapter talks to instead of paho's.

Messages wait in sessions until they are acknowledged: at least once, as QoS 1 promises. The network delays,
repeats, reorders and loses connections; the broker may forget a session with all that waits in it. The law:
a message that was acknowledged on the connection it came in on is never sent again.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random
from typing import Any

from paho.mqtt.client import ConnectFlags, MQTTMessage
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.reasoncodes import ReasonCode

from nilometer.ingest.adapters.mqtt import MqttAdapter


@dataclass(frozen=True)
class Message:
    """`number` is the message's place among all messages ever published."""

    number: int
    topic: str
    payload: bytes


@dataclass
class Session:
    """The state that a broker keeps for a client id."""

    filters: set[str] = field(default_factory=set)
    queue: deque[Message] = field(default_factory=deque)
    inflight: dict[int, Message] = field(default_factory=dict)


class Broker:
    """`acknowledged` and `forgotten` hold the numbers of messages. A message is either in a session, or in one
    of the two, or nobody had subscribed to it (`unheard`)."""

    def __init__(self, random: Random) -> None:
        self._random = random
        self._sessions: dict[str, Session] = {}
        self._clients: dict[str, SimulatedClient] = {}
        self._published = 0
        self.acknowledged: set[int] = set()
        self.unheard: set[int] = set()
        self.down = False
        self.delivered = 0

    # ---- the world -------------------------------------------------------------------------------------------------------

    def publish(self, topic: str, payload: bytes) -> int:
        """A sensor publishes. Returns the message's number."""
        message = Message(self._published, topic, payload)
        self._published += 1
        heard = False
        for session in self._sessions.values():
            if any(_matches(each, topic) for each in session.filters):
                session.queue.append(message)
                heard = True
        if not heard:
            self.unheard.add(message.number)
        return message.number

    def pump(self, *, reorder: float = 0.0, hold: float = 0.0) -> None:
        """The network moves: clients connect, and messages go out, some later than others."""
        if self.down:
            return
        for client in list(self._clients.values()):
            if client.wanted and not client.connected:
                self._connect(client)
            session = self._sessions.get(client.name)
            if session is None or not client.connected:
                continue
            if len(session.queue) > 1 and self._random.random() < reorder:
                shuffled = list(session.queue)
                self._random.shuffle(shuffled)
                session.queue = deque(shuffled)
            while session.queue and self._random.random() >= hold:
                client.deliver(session.queue.popleft(), session)
                self.delivered += 1

    @property
    def waiting(self) -> int:
        """The number of messages that clients were not sent, or did not acknowledge yet."""
        sessions = [self._sessions[name] for name in self._clients if name in self._sessions]
        return sum(len(each.queue) + len(each.inflight) for each in sessions)

    def disconnect(self) -> None:
        """All connections break. The broker sends the messages in flight again."""
        for client in list(self._clients.values()):
            if client.connected:
                client.cut()

    def forget(self) -> int:
        """The broker restarts without its sessions. Returns how many messages are gone."""
        self.disconnect()
        gone = 0
        for session in self._sessions.values():
            gone += len({m.number for m in (*session.queue, *session.inflight.values())})
        self._sessions.clear()
        return gone

    def process_died(self) -> None:
        """The clients of a dead process are gone; their sessions stay."""
        for client in self._clients.values():
            client.connected = client.wanted = False
            self.requeue(client)
        self._clients.clear()

    # ---- the clients -----------------------------------------------------------------------------------------------------

    def enter(self, client: SimulatedClient) -> None:
        """A client wants to be connected."""
        self._clients[client.name] = client

    def leave(self, client: SimulatedClient) -> None:
        """A client is gone for good."""
        if self._clients.get(client.name) is client:
            del self._clients[client.name]
        self.requeue(client)

    def requeue(self, client: SimulatedClient) -> None:
        """Messages in flight wait again, in their old order."""
        session = self._sessions.get(client.name)
        if session is not None:
            session.queue.extendleft(reversed(session.inflight.values()))
            session.inflight.clear()

    def session(self, name: str) -> Session:
        """The session of a client, made if need be."""
        return self._sessions.setdefault(name, Session())

    def _connect(self, client: SimulatedClient) -> None:
        present = client.name in self._sessions
        self.session(client.name)
        client.connected = True
        client.told_connected(present=present)


class SimulatedClient:
    """The part of paho's Client that the adapter uses. Its callbacks run while the broker pumps."""

    def __init__(self, broker: Broker, name: str) -> None:
        self.name = name
        self.wanted = self.connected = False
        self.on_connect: Callable[..., None] | None = None
        self.on_connect_fail: Callable[..., None] | None = None
        self.on_disconnect: Callable[..., None] | None = None
        self.on_subscribe: Callable[..., None] | None = None
        self.on_message: Callable[..., None] | None = None
        self._broker = broker
        self._packet = 0

    # ---- called by the adapter -------------------------------------------------------------------------------------------

    def reconnect_delay_set(self, *_: float) -> None:
        """The broker decides when to connect again."""

    def connect_async(self, *_: Any, **__: Any) -> None:
        """Ask for a connection."""
        self.wanted = True
        self._broker.enter(self)

    def loop_start(self) -> None:
        """There is no thread."""

    def loop_stop(self) -> None:
        """There is no thread."""

    def subscribe(self, filters: list[tuple[str, Any]]) -> None:
        """Subscribe at once."""
        self._broker.session(self.name).filters |= {each for each, _ in filters}
        if self.on_subscribe is not None:
            granted = [ReasonCode(PacketTypes.SUBACK, "Granted QoS 1") for _ in filters]
            self.on_subscribe(self, None, 1, granted, None)

    def ack(self, packet: int, _: int) -> None:
        """A PUBACK."""
        message = self._broker.session(self.name).inflight.pop(packet, None)
        if message is not None:
            self._broker.acknowledged.add(message.number)

    def publish(self, *_: Any, **__: Any) -> Published:
        """A command to a sensor; nobody listens."""
        return Published()

    def disconnect(self) -> None:
        """The end."""
        self.wanted = self.connected = False
        self._broker.leave(self)

    # ---- called by the broker --------------------------------------------------------------------------------------------

    def told_connected(self, *, present: bool) -> None:
        """A CONNACK."""
        if self.on_connect is not None:
            accepted = ReasonCode(PacketTypes.CONNACK, "Success")
            self.on_connect(self, None, ConnectFlags(session_present=present), accepted, None)

    def deliver(self, message: Message, session: Session) -> None:
        """A PUBLISH."""
        self._packet = self._packet % 65_535 + 1
        session.inflight[self._packet] = message
        if self.on_message is not None:
            found = MQTTMessage(self._packet, message.topic.encode())
            found.payload, found.qos = message.payload, 1
            self.on_message(self, None, found)

    def cut(self) -> None:
        """The connection breaks."""
        self.connected = False
        self._broker.requeue(self)
        if self.on_disconnect is not None:
            reason = ReasonCode(PacketTypes.DISCONNECT, "Unspecified error")
            self.on_disconnect(self, None, None, reason, None)


class Published:
    """A command that has arrived."""

    def is_published(self) -> bool:
        """It has."""
        return True

    def wait_for_publish(self, _: float) -> None:
        """It need not be waited for."""


def simulated_mqtt(broker: Broker) -> type[MqttAdapter]:
    """The product's MQTT adapter, with a client of this broker."""

    class SimulatedMqtt(MqttAdapter):
        @staticmethod
        def connection(name: str) -> Any:
            return SimulatedClient(broker, name)

    return SimulatedMqtt


def _matches(pattern: str, topic: str) -> bool:
    """MQTT's wildcards, as far as streams use them."""
    wanted, given = pattern.split("/"), topic.split("/")
    for place, level in enumerate(wanted):
        if level == "#":
            return True
        if place >= len(given) or level not in ("+", given[place]):
            return False
    return len(wanted) == len(given)
