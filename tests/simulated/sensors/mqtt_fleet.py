"""A simulated field's sensors over MQTT: thousands of them over some tens of connections, QoS 1, last wills, commands obeyed.

Each connection is a hub that speaks for its share of the sensors: readings on `air/7`, status on `air/7/status`, commands from
`air/7/command`; a hub has one last will, which names all its sensors. `step` lets the field go on by one step and publishes what
is sent; network threads only fill inboxes.

What a broker may lose, and who covers it. A message that was not acknowledged is published again after a reconnect. Mosquitto
acknowledges before it saves: with `persistence true`, `autosave_on_changes true` and `autosave_interval 1` it saves once in each turn of its
loop (by default every half hour), and `max_queued_messages 0` keeps it from dropping what waits for a slow subscriber; but killed
with -9 in the turn it forgets what it has acknowledged and neither saved nor handed on. So hubs keep the latest `kept`
acknowledged messages and publish these again too when the connection was lost. Saving has its price: a turn takes one packet of
each connection and writes all that waits, so thousands of unread or unacknowledged messages make every one of them slow; a larger
`autosave_interval` is quicker, and needs as many more messages `kept`. The law: what was published arrives at least once,
and doubles are equal in all columns, so that any KEY removes them.
"""

from __future__ import annotations

import json
import threading
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import polars as pl
from paho.mqtt.client import Client, MQTTMessage, MQTTv5
from paho.mqtt.enums import CallbackAPIVersion

from nilometer.algebra.summary import FROM, OF, READINGS
from nilometer.errors import ConfigurationError
from nilometer.ingest.adapters.adapter import Command, Presence
from nilometer.ingest.adapters.presence import Said
from nilometer.ingest.payloads import Format, TopicPattern
from nilometer.simulated.field import SimulatedField
from nilometer.types import SECOND, Kind

KEPT = 32
"""Far more than a broker takes from one connection between two saves."""

IN_FLIGHT = 1_000


@dataclass(frozen=True, slots=True)
class Message:
    """What is published."""

    topic: str
    payload: bytes
    retain: bool = False


@dataclass
class Hub:
    """One connection. `acknowledged`, `commands` and `connections` are filled by its network thread."""

    client: Client
    sensors: tuple[int, ...]
    name: str
    pending: dict[int, Message] = field(default_factory=dict)
    recent: deque[Message] = field(default_factory=deque)
    acknowledged: deque[int] = field(default_factory=deque)
    commands: deque[tuple[str, bytes]] = field(default_factory=deque)
    connections: deque[bool] = field(default_factory=deque)
    subscribed: threading.Event = field(default_factory=threading.Event)
    ever: bool = False


class MqttFleet:
    """The sensors of a field behind a broker. `topic` has one `{id}` or `+`; readings are JSON or SenML."""

    def __init__(
        self,
        simulated: SimulatedField,
        host: str,
        port: int,
        topic: str = "air/{id}",
        *,
        connections: int = 50,
        format: Format = Format.JSON,
        kept: int = KEPT,
        name: str = "simulated",
    ) -> None:
        self.field = simulated
        self.host, self.port = host, port
        self.format = format
        self.progress = threading.Event()
        """Set when a network thread has put something into an inbox."""
        self.published = 0
        self.acknowledged = 0
        self.repeated = 0
        self.commanded = self.summaries = 0
        """Commands that came."""
        self._pattern = TopicPattern.parse(topic)
        if self._pattern.topic_of("1") is None or not self._pattern.levels:
            raise ConfigurationError(f"'{topic}' has no place for a sensor alone", hint="write air/{id}")
        count = simulated.physics.sensor_count
        shares: list[list[int]] = [[] for _ in range(min(connections, count))]
        for sensor in range(1, count + 1):
            shares[sensor % len(shares)].append(sensor)
        self.hubs = [self._hub(f"{name}-{n}", tuple(share), kept) for n, share in enumerate(shares)]
        self._of = {sensor: hub for hub in self.hubs for sensor in hub.sensors}

    def _hub(self, name: str, sensors: tuple[int, ...], kept: int) -> Hub:
        client = Client(CallbackAPIVersion.VERSION2, name, protocol=MQTTv5)
        client.max_inflight_messages_set(IN_FLIGHT)
        client.max_queued_messages_set(0)
        client.reconnect_delay_set(0.1, 1)  # type: ignore[arg-type]
        hub = Hub(client, sensors, name, recent=deque(maxlen=kept))
        client.will_set(f"{self._topic(name)}/status", self._said(hub, online=False), qos=1, retain=True)
        topics = [(f"{self._topic(sensor)}/command", 1) for sensor in sensors]

        def on_connect(*_: Any) -> None:
            client.subscribe(topics)
            hub.connections.append(True)
            self.progress.set()

        def on_subscribe(*_: Any) -> None:
            hub.subscribed.set()
            self.progress.set()

        def on_disconnect(*_: Any) -> None:
            hub.subscribed.clear()

        def on_publish(_: Client, __: Any, number: int, *___: Any) -> None:
            hub.acknowledged.append(number)
            self.progress.set()

        def on_message(_: Client, __: Any, message: MQTTMessage) -> None:
            hub.commands.append((message.topic, bytes(message.payload)))
            self.progress.set()

        client.on_connect, client.on_subscribe, client.on_disconnect = on_connect, on_subscribe, on_disconnect
        client.on_publish, client.on_message = on_publish, on_message
        return hub

    # ---- what it does ------------------------------------------------------------------------------------------------

    def open(self) -> None:
        """Connect all hubs; a broker that is not there yet is tried again."""
        for hub in self.hubs:
            hub.client.connect_async(self.host, self.port)
            hub.client.loop_start()

    def close(self) -> None:
        """A clean end: no last wills."""
        for hub in self.hubs:
            hub.client.disconnect()
        for hub in self.hubs:
            hub.client.loop_stop()

    def step(self) -> pl.DataFrame:
        """One step of the field: obey what was heard, publish what is sent; the readings."""
        self.collect()
        rows, presences = self.field.advance(self.field.next_tick)
        for sensor, message in self._readings(rows):
            self._publish(self._of[sensor], message)
        for sensor, message in self._summaries(self.field.take_summaries()):
            self._publish(self._of[sensor], message)
        for presence in presences:
            self._publish(self._of[int(presence.sensor)], self._status(presence))
        return rows

    def collect(self) -> None:
        """Empty the inboxes: acknowledgements, commands, new connections."""
        self.progress.clear()
        for hub in self.hubs:
            while hub.acknowledged:
                message = hub.pending.pop(hub.acknowledged.popleft(), None)
                if message is not None:
                    self.acknowledged += 1
                    hub.recent.append(message)
            while hub.commands:
                self._obey(*hub.commands.popleft())
            while hub.connections:
                hub.connections.popleft()
                self._hello(hub)

    @property
    def pending(self) -> int:
        """Messages that the broker has not acknowledged."""
        return sum(len(hub.pending) for hub in self.hubs)

    def settle(self, patience: float) -> bool:
        """Wait until all hubs are connected and the broker has acknowledged all; False if nothing happens for so long."""
        return self.wait(
            lambda: not self.pending and all(hub.subscribed.is_set() and hub.ever for hub in self.hubs),
            patience,
        )

    def wait(self, condition: Callable[[], bool], patience: float) -> bool:
        """Empty the inboxes as they fill until something is true; False if none fills for `patience` seconds. A broker that
        saves all it holds at every turn may be slow, and is not silent."""
        while True:
            self.collect()
            if condition():
                return True
            if not self.progress.wait(patience):
                return False

    # ---- messages ----------------------------------------------------------------------------------------------------

    def _hello(self, hub: Hub) -> None:
        """A hub has connected. After a lost connection it cannot know what the broker remembers: see the law."""
        again = list(hub.recent) if hub.ever else []
        hub.recent.clear()
        for message in again:
            self._publish(hub, message)
        self.repeated += len(again)
        hub.ever = True
        self._publish(
            hub, Message(f"{self._topic(hub.name)}/status", self._said(hub, online=True), retain=True)
        )

    def _publish(self, hub: Hub, message: Message) -> None:
        sent = hub.client.publish(message.topic, message.payload, qos=1, retain=message.retain)
        hub.pending[sent.mid] = message
        self.published += 1

    def _obey(self, topic: str, payload: bytes) -> None:
        sensor = self._pattern.sensor(topic.removesuffix("/command"))
        try:
            command = Command.from_json(payload)
        except (ValueError, AttributeError, TypeError):
            return  # a cleared topic, or nonsense
        self.commanded += 1
        if sensor is not None:
            self.field.command(sensor, command)

    def _readings(self, rows: pl.DataFrame) -> Iterator[tuple[int, Message]]:
        columns = [column for column in self.field.columns if column.name not in ("time", "id")]
        names = [column.name for column in columns]
        units = [column.unit for column in columns]
        kinds = [column.type.kind for column in columns]
        for moment, sensor, *values in rows.select("time", "id", *names).iter_rows():
            if self.format is Format.SENML:
                records = [
                    {"n": name, "t": moment / SECOND}
                    | ({"u": unit} if unit is not None else {})
                    | ({"v": value} if kind in (Kind.INT, Kind.FLOAT) else {"vs": str(value)})
                    for name, unit, kind, value in zip(names, units, kinds, values, strict=True)
                    if value is not None
                ]
                payload = json.dumps(records, separators=(",", ":"))
            else:
                found = {name: value for name, value in zip(names, values, strict=True) if value is not None}
                payload = json.dumps({"time": moment, **found}, separators=(",", ":"))
            yield sensor, Message(self._topic(sensor), payload.encode())

    def _summaries(self, rows: pl.DataFrame | None) -> Iterator[tuple[int, Message]]:
        if rows is None:
            return
        for row in rows.iter_rows(named=True):
            columns: dict[str, dict[str, Any]] = {}
            for name, value in row.items():
                column, _, part = name.partition("#")
                if part and value is not None:
                    columns.setdefault(column, {})[part] = value
            said = {"from": row[FROM], "time": row["time"], "of": row[OF], "count": row[READINGS]}
            payload = json.dumps(said | {"columns": columns}).encode()
            self.summaries += 1
            yield row["id"], Message(f"{self._topic(row['id'])}/summary", payload)

    def _status(self, presence: Presence) -> Message:
        said = Said(presence.online, presence.time, presence.listening, presence.command)
        return Message(f"{self._topic(presence.sensor)}/status", said.as_json(), retain=True)

    def _said(self, hub: Hub, *, online: bool) -> bytes:
        return Said(online, sensors=tuple(map(str, hub.sensors))).as_json()

    def _topic(self, sensor: int | str) -> str:
        topic = self._pattern.topic_of(str(sensor))
        assert topic is not None
        return topic
