"""Kafka with librdkafka's mock brokers, which speak the real protocol: every reading exactly once, through kills."""

from __future__ import annotations

import itertools
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import kafka_cluster
from ingest.adapters import kafka_reader
from nilometer.catalog.address import Address
from nilometer.catalog.extents import Stream, stream_columns
from nilometer.errors import ConfigurationError
from nilometer.ingest.adapters import kafka
from nilometer.ingest.adapters.adapter import ReadResult, Status
from nilometer.ingest.adapters.kafka import SHIFT, KafkaAdapter
from nilometer.ingest.adapters.registry import adapter_for
from nilometer.log import LogDirectory
from nilometer.types import FLOAT, Column

PATIENCE = 300.0
TESTS = Path(__file__).parents[2]
AIR = Stream("air", stream_columns((Column("pm25", FLOAT),)))


@pytest.fixture(scope="module")
def cluster() -> Iterator[kafka_cluster.Cluster]:
    with kafka_cluster.running() as cluster:
        yield cluster


def adapter(cluster: kafka_cluster.Cluster, topic: str, options: str = "") -> KafkaAdapter:
    ticks = itertools.count(1)
    return KafkaAdapter(AIR, Address.parse(f"{cluster.url}/{topic}{options}"), lambda: next(ticks))


def read_until(source: KafkaAdapter, enough: Callable[[list[ReadResult]], bool]) -> list[ReadResult]:
    results: list[ReadResult] = []
    while not enough(results):
        result = source.read()
        if result.status is Status.NEW_VALUE:
            results.append(result)
            continue
        assert source.wake is not None
        assert source.wake.wait(PATIENCE), f"nothing more came after {results}, {source.trouble}"
    return results


def received(count: int) -> Callable[[list[ReadResult]], bool]:
    return lambda found: sum(result.received for result in found) >= count


def rows(results: list[ReadResult]) -> list[tuple[Any, ...]]:
    return sorted(row for result in results for row in result.rows.rows())


def reading(time: int) -> str:
    return f'{{"time": {time}, "id": {time % 3}, "pm25": {time}.5}}'


def test_readings_of_all_partitions(cluster: kafka_cluster.Cluster) -> None:
    for partition in range(kafka_cluster.PARTITIONS):
        cluster.send("all", reading(partition), "nonsense {", partition=partition)
    cluster.send("all", "[" + ",".join(map(reading, range(10, 15))) + "]", partition=2)
    with adapter(cluster, "all") as source:
        results = read_until(source, received(13))
        assert rows(results) == [(n, n % 3, n + 0.5) for n in (0, 1, 2, 3, 10, 11, 12, 13, 14)]
        assert sum(result.garbled_count for result in results) == 4
        assert source.trouble is None
        ends = {result.part: result.sequence + result.received for result in results}  # type: ignore[operator]
    assert ends == {str(n): (3 if n == 2 else 2) << SHIFT for n in range(kafka_cluster.PARTITIONS)}
    assert source.read().status is Status.END


def test_it_goes_on_after_what_the_log_has(cluster: kafka_cluster.Cluster) -> None:
    cluster.send("resumed", *map(reading, range(5)), partition=1)
    with adapter(cluster, "resumed") as source:
        source.resume({"1": 3 << SHIFT})
        results = read_until(source, received(2))
        cluster.send("resumed", reading(7), partition=0)
        results += read_until(source, received(1))
    assert [row[0] for row in rows(results)] == [3, 4, 7]


def test_the_key_is_a_column(cluster: kafka_cluster.Cluster) -> None:
    cluster.send("keyed", '{"time": 1, "pm25": 2}', key="17")
    with adapter(cluster, "keyed", "?key=id") as source:
        assert rows(read_until(source, received(1))) == [(1, 17, 2.0)]


def test_messages_that_are_no_readings(cluster: kafka_cluster.Cluster) -> None:
    """Tombstones, missing keys, and the forms of a schema registry: JSON is read, others are told by their name."""
    registry = b"\x00\x00\x00\x00\x11"
    cluster.send("odd", '{"time": 1, "pm25": 2}', None, key="17")
    cluster.send("odd", '{"time": 2, "pm25": 2}')
    cluster.send("odd", registry + b'{"time": 3, "pm25": 4}', registry + b"\x02\x80\x01", key="18")
    with adapter(cluster, "odd", "?key=id") as source:
        results = read_until(source, received(5))
        assert rows(results) == [(1, 17, 2.0), (3, 18, 4.0)]
        letters = [letter for result in results for letter in result.garbled]
        ends = [(result.sequence or 0) + result.received for result in results]
    assert max(ends) == 5 << SHIFT, "each message is dealt with"
    reasons = sorted(letter.reason for letter in letters)
    assert [reason.partition(":")[0] for reason in reasons] == [
        "Avro or Protobuf of a schema registry (schema 17), which is not read",
        "no id",
        "no value",
    ]
    assert "no id: the message has no key" in reasons
    assert "no value: a tombstone of a compacted topic, or an empty message" in reasons


def test_messages_that_are_gone_are_a_lost_session(cluster: kafka_cluster.Cluster) -> None:
    cluster.send("gone", reading(1), reading(2))
    with adapter(cluster, "gone") as source:
        source.resume({"0": 100 << SHIFT})
        results = read_until(source, received(2))
        assert source.sessions_lost == 1
    assert [row[0] for row in rows(results)] == [1, 2]
    assert results[0].kept == {}, "else they would count as read before"


def test_from_now_on(cluster: kafka_cluster.Cluster) -> None:
    cluster.send("later", reading(1))
    with adapter(cluster, "later", "?start=now") as source:
        source.read()
        assert source.assigned.wait(PATIENCE)
        cluster.send("later", reading(2))
        assert [row[0] for row in rows(read_until(source, received(1)))] == [2]


def test_a_broker_that_is_away_is_a_trouble(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kafka, "ASK", 0.2)
    source = KafkaAdapter(AIR, Address.parse("kafka://127.0.0.1:1/air?retry=10ms"), lambda: 0)
    with source:
        source.read()
        for _ in range(6_000):
            if source.trouble is not None and source.trouble.startswith("Kafka: "):
                break
            source._stopped.wait(0.05)
        assert source.trouble is not None
        assert source.trouble.startswith("Kafka: ")


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("kafka://host/", "is no topic of Kafka"),
        ("kafka://host/a/b", "is no topic of Kafka"),
        ("kafka://host/air?key=site", "has no column 'site'"),
        ("kafka://host/air?start=later", "is no place to start"),
        ("kafka://me:secret@host/air?mechanism=magic", "is not known"),
    ],
)
def test_wrong_addresses(url: str, message: str) -> None:
    with pytest.raises(ConfigurationError, match=message) as caught:
        adapter_for(AIR, lambda: 0, url=url)
    assert "secret" not in str(caught.value)


@pytest.mark.slow
def test_killed_readers_lose_nothing_and_double_nothing(
    cluster: kafka_cluster.Cluster, tmp_path: Path
) -> None:
    """Two messages of a batch have three readings, one has none that can be read; the stream has no KEY."""
    for partition in range(kafka_cluster.PARTITIONS):
        first = 1_000 * partition
        cluster.send(
            "killed",
            *(f"[{reading(first + n)}, {reading(first + n + 1)}]" for n in range(0, 200, 2)),
            "nonsense {",
            partition=partition,
        )
    url = f"{cluster.url}/killed?receive=7"
    for plan in ("during_write:2", "after_write:3", "before_fsync:2", "after_fsync:4", ""):
        environment = os.environ | {"PYTHONPATH": str(TESTS), "NILOMETER_FAILPOINT": plan}
        code = subprocess.run(
            [sys.executable, kafka_reader.__file__, str(tmp_path), url, "804"], env=environment, check=False
        ).returncode
        assert code == (-signal.SIGKILL if plan else 0), plan
    log = LogDirectory(tmp_path).log(kafka_reader.AIR)
    times = sorted(row[0] for frame in log.scan() for row in frame.rows())
    assert times == sorted(1_000 * p + n for p in range(kafka_cluster.PARTITIONS) for n in range(200))
    assert log.note is not None
    assert log.note["ledger"]["garbled"] == kafka_cluster.PARTITIONS
    assert log.note["ledger"]["received"] == 804
