"""A Kafka cluster for tests: librdkafka's mock brokers, in this process.

They speak the real protocol over TCP, so that processes of their own can be their clients. They keep messages, write the
markers of transactions (so offsets have gaps), and fence producers. They do not hide the messages of a transaction that was
broken off, and do not keep a group's offsets that come in a transaction: no test may rely on that.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import pytest

PATIENCE = 300.0
PARTITIONS = 4
"""A topic that is asked for is made, with so many partitions."""

kafka = pytest.importorskip("confluent_kafka")

_SILENT = logging.getLogger("nilometer.tests.kafka")
_SILENT.addHandler(logging.NullHandler())
_SILENT.propagate = False


@dataclass(frozen=True)
class Cluster:
    """`servers` is host:port."""

    servers: str
    _holder: Any

    @property
    def url(self) -> str:
        """The beginning of an address."""
        return f"kafka://{self.servers}"

    def settings(self, **more: Any) -> dict[str, Any]:
        """The settings of a client."""
        return {"bootstrap.servers": self.servers, "logger": _SILENT} | {
            name.replace("_", "."): value for name, value in more.items()
        }

    def send(
        self, topic: str, *payloads: str | bytes | None, partition: int = 0, key: str | None = None
    ) -> None:
        """Write messages, and return when the broker has them."""
        producer = kafka.Producer(self.settings())
        for payload in payloads:
            producer.produce(topic, payload, key, partition)
        assert producer.flush(PATIENCE) == 0

    def messages(self, topic: str) -> list[tuple[int, str | None, str]]:
        """All messages: partition, key, value; in the order of each partition."""
        consumer = kafka.Consumer(
            self.settings(group_id="test", enable_partition_eof=True, auto_offset_reset="earliest")
        )
        found, left = [], set(range(PARTITIONS))
        consumer.list_topics(topic, timeout=PATIENCE)
        consumer.assign([kafka.TopicPartition(topic, number, 0) for number in left])
        try:
            while left:
                message = consumer.poll(PATIENCE)
                assert message is not None, "the broker does not answer"
                if message.error() is None:
                    key = message.key()
                    found.append(
                        (message.partition(), None if key is None else key.decode(), message.value().decode())
                    )
                else:
                    assert message.error().name() == "_PARTITION_EOF", message.error()
                    left.discard(message.partition())
        finally:
            consumer.close()
        return sorted(found, key=lambda each: each[0])


@contextmanager
def running() -> Iterator[Cluster]:
    """A cluster of one broker."""
    holder = kafka.Producer({"bootstrap.servers": "none:1", "test.mock.num.brokers": 1, "logger": _SILENT})
    broker = next(iter(holder.list_topics(timeout=PATIENCE).brokers.values()))
    yield Cluster(f"{broker.host}:{broker.port}", holder)
