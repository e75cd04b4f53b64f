"""Writes commits to a topic of Kafka: `kafka://host:9092/alerts?key=id`, exactly once.

A message is a row in JSON. The field `delivery` identifies the row (`smoky@1a2b3c4d/12/0`: query and data directory, commit,
row), as in the MQTT sink. With `key=id` the value of that column is the message's key, and so decides about its partition.

The rows of a group of commits and a mark with the number of the last commit are written in one transaction. Marks are
messages of the topic `nilometer-sinks` (or `marks`), which is compacted: the newest mark of each sink stays. A producer that
comes after this one ends its unfinished transaction. So who reads the topic with `isolation.level=read_committed`, sees every
row once. Others may see rows of a transaction that was broken off, with the same ids as when they come again.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from nilometer.catalog.address import Address
from nilometer.catalog.kafka_address import SHARED, client_settings, error_text, require_kafka
from nilometer.errors import ConfigurationError, ResourceError
from nilometer.log.failpoints import Failpoint
from nilometer.sinks.sink import Answered, Origin, Sink
from nilometer.sinks.values import json_lines, json_rows, rows_of
from nilometer.types import SECOND, Schema

if TYPE_CHECKING:
    from confluent_kafka import Producer

FIELD = "delivery"
MARKS = "nilometer-sinks"
TIMEOUT = 30 * SECOND
PART = 1_000
"""The messages that are written between two looks at what the brokers say."""


class KafkaSink(Sink):
    """A sink that writes to one topic."""

    options = ("key", "field", "marks", "timeout", *SHARED)

    def __init__(self, address: Address, origin: Origin, failpoint: Failpoint | None = None) -> None:
        super().__init__(address, origin, failpoint)
        require_kafka()
        self.topic = address.path
        if not self.topic or "/" in self.topic:
            raise ConfigurationError(
                f"'{self.topic}' is no topic of Kafka", hint="write kafka://host:9092/topic"
            )
        self._field = address.options.get("field", FIELD)
        if not re.fullmatch(r"[A-Za-z_][\w.@-]*", self._field):
            raise ConfigurationError(f"field={self._field} is no name", hint="use letters, digits and _")
        self._key = address.options.get("key")
        self._marks = address.options.get("marks", MARKS)
        self._timeout = address.duration("timeout", TIMEOUT) / SECOND
        self._settings = client_settings(address)
        self._producer: Producer | None = None
        self._refusals: list[str] = []

    @property
    def mark(self) -> str:
        """The key of this sink's marks, and the name of its transactions."""
        return f"{self.topic}/{self.origin}"

    def open(self) -> None:
        from confluent_kafka import KafkaException, Producer

        self._refusals = []
        try:
            self._producer = Producer(
                self._settings
                | {
                    "transactional.id": f"nilometer-sink-{self.mark}",
                    "transaction.timeout.ms": round(self._timeout * 1_000),
                    "linger.ms": 5,
                    "compression.type": "lz4",
                }
            )
            # Ends the transaction that a producer before this one has left open.
            self._producer.init_transactions(self._timeout)
            self._make_marks()
            self.last = self._last_mark()
        except KafkaException as error:
            raise self._away(error) from None

    def write(self, commits: Sequence[Answered]) -> None:
        from confluent_kafka import KafkaException

        assert self._producer is not None, "it is open"
        producer = self._producer
        messages = list(self._messages(commits))
        try:
            producer.begin_transaction()
            self.failpoint("before_produce")
            for number, (key, line) in enumerate(messages):
                self._produce(self.topic, key, line)
                if number == 0:
                    self.failpoint("during_produce")
                if number % PART == 0:
                    producer.poll(0)
            self._flush()
            self.failpoint("before_mark")
            self._produce(self._marks, self.mark, json.dumps({"commit": commits[-1].number}), partition=0)
            self._flush()
            self.failpoint("before_commit")
            producer.commit_transaction(self._timeout)
            self.failpoint("after_commit")
        except (KafkaException, BufferError) as error:
            # The sink is opened again: the next producer ends this one's transaction.
            raise self._away(error) from None
        self.last = commits[-1].number

    def close(self) -> None:
        producer, self._producer = self._producer, None
        if producer is not None:
            producer.purge(in_queue=True, in_flight=True)
            producer.flush(0)

    # ---- messages ----------------------------------------------------------------------------------------------------

    def _messages(self, commits: Sequence[Answered]) -> Iterator[tuple[str | None, str]]:
        for commit in commits:
            rows = rows_of(commit.rows, commit.schema)
            if self._field in commit.schema:
                raise ConfigurationError(
                    f"the answers have a column '{self._field}' of their own",
                    hint="choose another name for the id of a row: ?field=delivery_id",
                )
            name = f"{self.origin}/{commit.number}"
            lines = (
                f'{line[:-1]}, "{self._field}": "{name}/{number}"}}'
                for number, line in enumerate(json_lines(rows, commit.schema))
            )
            yield from zip(self._keys(rows, commit.schema), lines, strict=True)

    def _keys(self, rows: Sequence[tuple[Any, ...]], schema: Schema) -> Iterator[str | None]:
        if self._key is None:
            yield from (None for _ in rows)
            return
        if self._key not in schema:
            raise ConfigurationError(
                f"the answers have no column '{self._key}' for the key",
                detail=f"they have {', '.join(schema.names)}",
            )
        for row in json_rows(rows, schema):
            value = row[self._key]
            yield None if value is None else value if isinstance(value, str) else json.dumps(value)

    def _produce(self, topic: str, key: str | None, value: str, partition: int = -1) -> None:
        assert self._producer is not None
        while True:
            try:
                self._producer.produce(
                    topic, value.encode(), key if key is None else key.encode(), partition, self._delivered
                )
                return
            except BufferError:  # the queue is full: wait until the brokers have taken something
                if not self._producer.poll(self._timeout):
                    raise

    def _flush(self) -> None:
        """Wait until the brokers have everything."""
        assert self._producer is not None
        left = self._producer.flush(self._timeout)
        if left or self._refusals:
            raise self._away(f"{left} messages did not come there" if left else None)

    def _delivered(self, error: Any, _: Any) -> None:
        if error is not None:
            self._refusals.append(str(error.str()))

    # ---- marks -------------------------------------------------------------------------------------------------------

    def _make_marks(self) -> None:
        """Make the topic of the marks, if it is missing."""
        from confluent_kafka import KafkaException
        from confluent_kafka.admin import AdminClient
        from confluent_kafka.cimpl import NewTopic

        administrator = AdminClient(self._settings)
        if self._marks in administrator.list_topics(timeout=self._timeout).topics:
            return
        compacted = {"cleanup.policy": "compact", "segment.bytes": str(16 << 20)}
        made = administrator.create_topics(
            [NewTopic(self._marks, 1, config=compacted)], request_timeout=self._timeout
        )
        try:
            made[self._marks].result()
        except KafkaException as error:
            there = administrator.list_topics(self._marks, timeout=self._timeout).topics[self._marks]
            if there.error is not None:
                raise ResourceError(
                    f"the topic '{self._marks}', in which sinks of Kafka note how far they are, cannot be made",
                    detail=self.address.hide(error_text(error)),
                    hint="make it, with one partition and cleanup.policy=compact",
                ) from None

    def _last_mark(self) -> int | None:
        """The commit in the newest mark of this sink."""
        from confluent_kafka import Consumer, KafkaException, TopicPartition

        consumer = Consumer(
            self._settings
            | {
                "group.id": f"nilometer-sink-{self.mark}",
                "enable.auto.commit": False,
                "isolation.level": "read_committed",
                "auto.offset.reset": "earliest",
                "enable.partition.eof": True,
            }
        )
        found = None
        try:
            consumer.assign([TopicPartition(self._marks, 0, 0)])
            # Not `consume`, which waits for as many messages as it may give.
            while (message := consumer.poll(self._timeout)) is not None:
                error = message.error()
                if error is None:
                    if message.key() == self.mark.encode():
                        found = int(json.loads(message.value() or "{}")["commit"])
                elif error.code() == error._PARTITION_EOF:
                    return found
                else:
                    raise KafkaException(error)
            raise self._away("it does not answer")
        finally:
            consumer.close()

    def _away(self, why: BaseException | str | None) -> ResourceError:
        text = error_text(why) if isinstance(why, BaseException) else why
        detail = self._refusals[0] if self._refusals else text
        servers = self._settings["bootstrap.servers"]
        return ResourceError(
            f"Kafka at {servers} takes no answers",
            detail=None if detail is None else self.address.hide(detail),
        )
