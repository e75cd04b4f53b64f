"""Publishes commits to MQTT: `mqtt://user:password@host:1883/alerts/{id}`, QoS 1, at least once.

A message is a row in JSON, or with `pack=100` an array of up to 100 rows. The field `delivery` identifies
each row (`smoky@1a2b3c4d/12/0`: query and data directory, commit, row). After a crash, rows that the broker
had acknowledged are published again, in the same order, with the same ids; a receiver that remembers the last
id can drop them. `{column}` in the topic is replaced by the row's value. The place moves on only when every
message is acknowledged; a message that the broker refuses counts as not delivered.
"""

from __future__ import annotations

import hashlib
import re
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from paho.mqtt.client import Client, ConnectFlags, DisconnectFlags, MQTTMessageInfo, MQTTv5
from paho.mqtt.enums import CallbackAPIVersion
from paho.mqtt.properties import Properties
from paho.mqtt.reasoncodes import ReasonCode

from nilometer.catalog.address import Address
from nilometer.errors import ConfigurationError, ResourceError
from nilometer.log.failpoints import Failpoint
from nilometer.sinks.sink import Answered, Origin, Sink
from nilometer.sinks.values import json_lines, json_rows, rows_of
from nilometer.types import SECOND, Schema

FIELD = "delivery"
TIMEOUT = 30 * SECOND
SLICE = 0.1
_COLUMN = re.compile(r"\{([^{}/]+)\}")
_WILD = re.compile(r"[+#/\0]")


class MqttSink(Sink):
    """A sink that publishes to one topic, or to one topic per value."""

    keeps_place = False
    options = ("field", "pack", "retain", "client_id", "keepalive", "ca", "timeout")

    def __init__(self, address: Address, origin: Origin, failpoint: Failpoint | None = None) -> None:
        super().__init__(address, origin, failpoint)
        self.topic = address.path
        if not self.topic or set(self.topic) & set("+#\0"):
            raise ConfigurationError(
                f"'{self.topic}' is no topic to publish to",
                hint="write mqtt://host/alerts, or mqtt://host/alerts/{id}",
            )
        self._columns = _COLUMN.findall(self.topic)
        self._field = address.options.get("field", FIELD)
        if not re.fullmatch(r"[A-Za-z_][\w.@-]*", self._field):
            raise ConfigurationError(f"field={self._field} is no name", hint="use letters, digits and _")
        self._pack = address.count("pack", 1)
        if self._pack > 1 and self._columns:
            raise ConfigurationError(
                "rows that have topics of their own cannot be packed", hint="leave out pack"
            )
        self._retain = address.count("retain", 0, 0) == 1
        self._timeout = address.duration("timeout", TIMEOUT) / SECOND
        digest = hashlib.sha256(self.topic.encode()).hexdigest()[:8]
        self.client_id = address.options.get("client_id") or f"nilometer-sink-{origin}-{digest}"
        self._client: Client | None = None
        self._connected, self._lost = threading.Event(), threading.Event()
        self._refusals: list[str] = []

    @property
    def port(self) -> int:
        """The broker's port."""
        return self.address.port or (8883 if self.address.scheme == "mqtts" else 1883)

    def open(self) -> None:
        self._connected.clear()
        self._lost.clear()
        self._refusals.clear()
        # Messages in flight when a connection ended are not resent by the client; they are read again from
        # the result log, in order.
        client = Client(
            CallbackAPIVersion.VERSION2, self.client_id, protocol=MQTTv5, reconnect_on_failure=False
        )
        client.connect_timeout = min(self._timeout, 10.0)
        if self.address.user is not None:
            client.username_pw_set(self.address.user, self.address.password)
        if self.address.scheme == "mqtts":
            client.tls_set(ca_certs=self.address.options.get("ca"))
        client.on_connect, client.on_disconnect = self._on_connect, self._on_disconnect
        client.on_publish = self._on_publish
        self._client = client
        keepalive = self.address.duration("keepalive", 60 * SECOND) // SECOND
        try:
            client.connect(self.address.host or "localhost", self.port, keepalive)
        except OSError as error:
            raise self._away(error.strerror or str(error)) from None
        client.loop_start()
        until = time.monotonic() + self._timeout
        while not self._connected.wait(SLICE):
            if self._lost.is_set() or time.monotonic() > until:
                raise self._away("it does not answer")
        if self._refusals:
            raise self._away()

    def write(self, commits: Sequence[Answered]) -> None:
        self.publish(self._messages(commits))

    def publish(self, messages: Iterable[tuple[str, str]]) -> None:
        """Publish to topics, and wait until the broker has everything."""
        assert self._client is not None, "it is open"
        self.failpoint("before_publish")
        sent: list[MQTTMessageInfo] = []
        for topic, payload in messages:
            sent.append(self._client.publish(topic, payload, qos=1, retain=self._retain))
            if len(sent) == 1:
                self.failpoint("during_publish")
        for info in sent:
            self._wait(info)
        self.failpoint("after_publish")

    def close(self) -> None:
        client, self._client = self._client, None
        if client is not None:
            client.disconnect()
            client.loop_stop()
            # The client closes its pair of sockets when it is freed, and it is freed at once only if no
            # reference cycle holds it.
            client.on_connect = client.on_disconnect = client.on_publish = None

    def _messages(self, commits: Sequence[Answered]) -> Iterator[tuple[str, str]]:
        for commit in commits:
            name = f"{self.origin}/{commit.number}"
            rows = rows_of(commit.rows, commit.schema)
            lines = [
                f'{line[:-1]}, "{self._field}": "{name}/{number}"}}'
                for number, line in enumerate(json_lines(rows, commit.schema))
            ]
            if self._field in commit.schema:
                raise ConfigurationError(
                    f"the answers have a column '{self._field}' of their own",
                    hint="choose another name for the id of a row: ?field=delivery_id",
                )
            if self._columns:
                yield from zip(self._topics(rows, commit.schema), lines, strict=True)
            elif self._pack == 1:
                yield from ((self.topic, line) for line in lines)
            else:
                for first in range(0, len(lines), self._pack):
                    yield self.topic, f"[{','.join(lines[first : first + self._pack])}]"

    def _topics(self, rows: Sequence[tuple[Any, ...]], schema: Schema) -> Iterator[str]:
        missing = [name for name in self._columns if name not in schema]
        if missing:
            raise ConfigurationError(
                f"the answers have no column '{missing[0]}' for the topic",
                detail=f"they have {', '.join(schema.names)}",
            )
        for row in json_rows(rows, schema):
            yield _COLUMN.sub(lambda match: _WILD.sub("_", _text(row[match[1]])), self.topic)  # noqa: B023

    def _wait(self, info: MQTTMessageInfo) -> None:
        """Wait until the broker has acknowledged a message."""
        until = time.monotonic() + self._timeout
        try:
            while not info.is_published():
                if self._lost.is_set() or time.monotonic() > until:
                    raise self._away("the connection was lost before the broker had everything")
                info.wait_for_publish(SLICE)
        except (RuntimeError, ValueError) as error:  # it could not be queued, or the connection was lost
            raise self._away(str(error)) from None
        # Check only now: a refusal is recorded before the message counts as published.
        if self._refusals:
            raise self._away()

    def _away(self, why: str = "it refuses") -> ResourceError:
        """The error to raise. A refusal by the broker is the better reason."""
        detail = self._refusals[0] if self._refusals else why
        return ResourceError(f"the broker at {self.address.host}:{self.port} takes no answers", detail=detail)

    # ---- the network thread ------------------------------------------------------------------------------------------

    def _on_connect(
        self, _: Client, __: Any, ___: ConnectFlags, reason: ReasonCode, ____: Properties | None
    ) -> None:
        if reason.is_failure:
            self._refusals.append(str(reason))
        self._connected.set()

    def _on_disconnect(
        self, _: Client, __: Any, ___: DisconnectFlags, ____: ReasonCode, _____: Properties | None
    ) -> None:
        self._lost.set()

    def _on_publish(self, _: Client, __: Any, ___: int, reason: ReasonCode, ____: Properties | None) -> None:
        if reason.is_failure:
            self._refusals.append(f"it refused a message: {reason}")


def _text(value: Any) -> str:
    return "null" if value is None else str(value)
