"""Kafka: every reading of a topic exactly once, by the offsets that stand in the log beside the readings.

`kafka://user:password@host:9092/air?key=id`. The adapter reads all partitions of the topic. It belongs to no consumer group
and commits nothing to the broker: the record that holds readings also says up to which offset their partition was read
(`part` and `sequence` of a ReadResult). So a kill at any moment neither loses a reading nor doubles one, and the stream needs
no KEY for that.

The offsets are those of messages, and a message may hold many readings. So the number of a partition's first reading at an
offset is `offset << SHIFT`: there is room for more readings than a message can hold.

A partition whose messages were deleted before they were read, or a topic that was made anew, has lost readings. This counts
as a lost session, and the adapter goes on with the oldest message that is there. A partition that is added is read from its
beginning.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from nilometer.catalog.address import Address
from nilometer.catalog.extents import Stream
from nilometer.catalog.kafka_address import SHARED, client_settings, error_text, require_kafka
from nilometer.errors import ConfigurationError
from nilometer.ingest.adapters.adapter import Adapter, Clock, ReadResult, Status
from nilometer.ingest.adapters.inbox import Inbox
from nilometer.ingest.payloads import Decoder, Format, Garbled, Messages, Times, TopicPattern
from nilometer.memory import budget
from nilometer.types import MILLISECOND, SECOND

if TYPE_CHECKING:
    from confluent_kafka import Consumer

SHIFT = 24
"""A message has fewer than 2^24 readings: with two bytes each they would take 32 MB."""
LIMIT = 16 << 20
"""The largest message, in bytes."""
RECEIVE = 20_000
"""The most messages that wait here."""
AT_ONCE = 1_000
WAIT = 0.1
"""Seconds that the network thread waits for messages, before it looks whether it shall end."""
LOOK_AT_PARTITIONS = 60.0
"""Seconds from one look for new partitions to the next."""
ASK = 10.0
"""Seconds that a question to the brokers may take; a source that is closed meanwhile waits for that."""
OPTIONS = ("key", "format", "time", "start", "receive", "limit", "retry", *SHARED)
ANEW = -1
"""In place of an offset: the partition begins anew here."""

REGISTRY = 5
"""A payload of a schema registry begins with so many bytes: a zero, and the number of its schema."""
NO_LEVEL = "its level of the topic is empty"
"""The decoder takes the key for a level of a topic."""
NO_VALUE = "no value: a tombstone of a compacted topic, or an empty message"

_Item = tuple[int, int, bytes, str, int]
"""Partition, offset, payload, key, time of the message."""


class KafkaAdapter(Adapter):
    """One topic."""

    def __init__(self, stream: Stream, address: Address, clock: Clock, identity: str | None = None) -> None:
        super().__init__(stream, clock)
        require_kafka()
        address.check(OPTIONS)
        self.address = address
        self.topic = address.path
        if not self.topic or "/" in self.topic:
            raise ConfigurationError(
                f"'{self.topic}' is no topic of Kafka", hint="write kafka://host:9092/topic"
            )
        start = address.options.get("start", "beginning")
        if start not in ("beginning", "now"):
            raise ConfigurationError(
                f"start={start} is no place to start", hint="write start=beginning or start=now"
            )
        self._from_now = start == "now"
        key = address.options.get("key")
        if key is not None and stream.column(key) is None:
            names = ", ".join(column.name for column in stream.columns)
            raise ConfigurationError(f"'{stream.name}' has no column '{key}'", detail=f"it has {names}")
        self._decoder = Decoder(
            stream,
            topic=None if key is None else TopicPattern.parse(f"{{{key}}}"),
            format=address.word("format", Format.AUTO),
            times=address.word("time", Times.EITHER),
        )
        self._inbox: Inbox[_Item] = Inbox(
            address.count("receive", RECEIVE), lambda item: len(item[2]) + len(item[3])
        )
        self.wake = self._inbox.wake
        self._waiting: dict[int, deque[_Item]] = {}
        self.session = f"nilometer-{stream.name.lower()}-{identity or 'here'}"
        limit = address.count("limit", min(LIMIT, budget().inbox))
        self._settings = client_settings(address) | {
            "group.id": self.session,
            "enable.auto.commit": False,
            "enable.auto.offset.store": False,
            "isolation.level": "read_committed",
            # An offset that is not there any more is looked at here, and counted.
            "auto.offset.reset": "error",
            "queued.max.messages.kbytes": max(1_024, limit >> 10),
            "fetch.message.max.bytes": limit,
            "error_cb": self._told,
        }
        self._retry = address.duration("retry", SECOND) / SECOND
        self._trouble: str | None = "not opened yet"
        self._next: dict[int, int] = {}
        """By partition, the offset of the next message to fetch."""
        self._numbers: dict[str, int] = {}
        """By part, the number of the next reading to give."""
        self._anew = False
        self._thread: threading.Thread | None = None
        self._stopped = threading.Event()
        self.assigned = threading.Event()
        """Set while messages are being fetched."""

    # ---- the contract ------------------------------------------------------------------------------------------------

    def open(self) -> None:
        self._stopped.clear()
        self._next, self._numbers, self._anew = {}, {}, False
        self._trouble = "connecting"

    def resume(self, consumed: Mapping[str, int]) -> None:
        self._numbers = dict(consumed)
        self._next = {int(part): number >> SHIFT for part, number in consumed.items()}

    def read(self) -> ReadResult:
        if self._stopped.is_set():
            return self.nothing(Status.END)
        if self._thread is None:
            # Not in `open`: only `resume` says where to begin.
            self._thread = threading.Thread(target=self._run, name=f"kafka {self.topic}", daemon=True)
            self._thread.start()
        for item in self._inbox.take():
            self._waiting.setdefault(item[0], deque()).append(item)
        if not self._waiting:
            return self.nothing()
        partition = next(iter(self._waiting))
        items = self._run_of(partition)
        if self._waiting:
            self.wake.set()  # type: ignore[union-attr]  # there is more to read
        return self._decoded(partition, items) if items else self.nothing()

    def _run_of(self, partition: int) -> list[_Item]:
        """The next messages of a partition, up to where it begins anew."""
        waiting = self._waiting[partition]
        if waiting[0][1] == ANEW:
            waiting.popleft()
            # Otherwise numbers below those of the messages that are gone would count as repeated.
            self._numbers.pop(str(partition), None)
            self._anew = True
        items: list[_Item] = []
        while waiting and waiting[0][1] != ANEW:
            items.append(waiting.popleft())
        if not waiting:
            del self._waiting[partition]
        return items

    def _decoded(self, partition: int, items: list[_Item]) -> ReadResult:
        read, refused = _sorted_out(items)
        decoded = self._decoder.decode(
            Messages([item[2] for item in read], [item[4] for item in read], [item[3] for item in read])
        )
        letters = tuple(
            replace(letter, reason=letter.reason.replace(NO_LEVEL, "the message has no key"))
            for letter in decoded.garbled
        )
        part, end = str(partition), (items[-1][1] + 1) << SHIFT
        kept, self._anew = (dict(self._numbers) if self._anew else None), False
        self._numbers[part] = end
        # The number after the last reading is that of the next message.
        received = decoded.rows.height + sum(letter.count for letter in letters) + len(refused)
        return ReadResult(
            Status.NEW_VALUE,
            decoded.rows,
            (*letters, *refused),
            arrived=self.clock(),
            sequence=end - received,
            part=part,
            kept=kept,
            fields=decoded.fields,
        )

    def close(self) -> None:
        self._stopped.set()
        self._inbox.close()
        thread, self._thread = self._thread, None
        if thread is not None:
            thread.join()
        self._trouble = "closed"

    @property
    def trouble(self) -> str | None:
        return self._trouble

    # ---- the network thread ------------------------------------------------------------------------------------------

    def _run(self) -> None:
        from confluent_kafka import Consumer, KafkaException

        while not self._stopped.is_set():
            consumer = Consumer(self._settings)
            try:
                self._follow(consumer)
            except KafkaException as error:
                self._trouble = self.address.hide(f"Kafka: {error_text(error)}")
                self._stopped.wait(self._retry)
            finally:
                self.assigned.clear()
                consumer.close()

    def _follow(self, consumer: Consumer) -> None:
        """Fetch until the end, or until an error that asks for another beginning."""
        self._assign(consumer)
        looked = time.monotonic()
        while not self._stopped.is_set():
            found = consumer.consume(AT_ONCE, WAIT)
            if not found and self._trouble is not None:
                consumer.list_topics(self.topic, timeout=ASK)  # raises, if the brokers are still away
                self._trouble = None
            for message in found:
                if not self._take(message):
                    return
            if time.monotonic() - looked > LOOK_AT_PARTITIONS:
                self._assign(consumer)
                looked = time.monotonic()

    def _take(self, message: Any) -> bool:
        from confluent_kafka import KafkaError, KafkaException

        error = message.error()
        if error is not None:
            if error.code() == KafkaError._PARTITION_EOF:
                return True
            raise KafkaException(error)
        self._trouble = None
        _, milliseconds = message.timestamp()
        stamp = milliseconds * MILLISECOND if milliseconds > 0 else self.clock()
        key = message.key()
        item = (
            int(message.partition()),
            int(message.offset()),
            bytes(message.value() or b""),
            "" if key is None else key.decode("utf-8", "replace"),
            stamp,
        )
        self._next[item[0]] = item[1] + 1
        return self._inbox.put(item)

    def _assign(self, consumer: Consumer) -> None:
        """Begin with all partitions, or with those that are new."""
        from confluent_kafka import KafkaException, TopicPartition

        found = consumer.list_topics(self.topic, timeout=ASK).topics[self.topic]
        if found.error is not None:
            raise KafkaException(found.error)
        assigned = {each.partition for each in consumer.assignment()}
        fresh = [
            TopicPartition(self.topic, number, self._begin(consumer, number))
            for number in sorted(found.partitions.keys() - assigned)
        ]
        if fresh:
            consumer.incremental_assign(fresh)
        self._trouble = None
        self.session_begun = True
        self.assigned.set()

    def _begin(self, consumer: Consumer, partition: int) -> int:
        """The offset at which a partition begins, or goes on."""
        from confluent_kafka import TopicPartition

        low, high = consumer.get_watermark_offsets(
            TopicPartition(self.topic, partition), timeout=ASK, cached=False
        )
        at = self._next.get(partition)
        if at is None:
            at = high if self._from_now and not self._next else low
        elif not low <= at <= high:
            self.sessions_lost += 1
            at = low
            self._inbox.put((partition, ANEW, b"", "", 0))
        self._next[partition] = at
        return int(at)

    def _told(self, error: Any) -> None:
        """What the library says about its connections, in the network thread."""
        self._trouble = self.address.hide(f"Kafka: {error.str()}")


def _sorted_out(items: list[_Item]) -> tuple[list[_Item], list[Garbled]]:
    """The messages that can be decoded, and those that are no readings: tombstones, and binary forms of a schema registry. JSON
    of a registry is read without its first bytes."""
    read: list[_Item] = []
    refused: list[Garbled] = []
    for item in items:
        payload, key = item[2], item[3]
        if not payload:
            refused.append(Garbled(payload, NO_VALUE, key))
        elif payload[0] or len(payload) <= REGISTRY:
            read.append(item)
        elif payload[REGISTRY:].lstrip()[:1] in (b"{", b"["):
            read.append((*item[:2], payload[REGISTRY:], *item[3:]))
        else:
            schema = int.from_bytes(payload[1:REGISTRY], "big")
            reason = (
                f"Avro or Protobuf of a schema registry (schema {schema}), which is not read: send JSON, or decode it with"
                " Spark and stream_from"
            )
            refused.append(Garbled(payload, reason, key))
    return read, refused
