"""Kafka with librdkafka's mock brokers: every row comes, with an id; a sink that was killed goes on after its last mark."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import kafka_cluster
from log.logs import CrashError, FailAt
from nilometer.errors import ConfigurationError, ResourceError
from nilometer.sinks.kafka import MARKS
from nilometer.sinks.registry import sink_for
from sinks.results import ALL, ORIGIN, Results, everything

PATIENT = "timeout=300s"
"""On a loaded machine the brokers may be slow."""


@pytest.fixture(scope="module")
def cluster() -> Iterator[kafka_cluster.Cluster]:
    with kafka_cluster.running() as cluster:
        # As an administrator would make the topic of the marks: mock brokers make none when they are asked to.
        cluster.send(MARKS, "{}")
        yield cluster


@pytest.fixture
def results(tmp_path: Path) -> Results:
    return Results(tmp_path)


def heard(cluster: kafka_cluster.Cluster, topic: str) -> list[dict[str, Any]]:
    """The rows in the order of their ids; doubles are found by the ids."""
    found = [json.loads(value) for _, _, value in cluster.messages(topic)]
    return sorted(found, key=lambda row: [int(part) for part in row["delivery"].split("/")[1:]])


def ids(cluster: kafka_cluster.Cluster, topic: str) -> list[int]:
    return [row["id"] for row in heard(cluster, topic)]


def test_every_row_is_a_message_with_an_id(results: Results, cluster: kafka_cluster.Cluster) -> None:
    results.commit(everything(), ALL)
    results.commit(everything()[:1], ALL)
    results.deliver(f"{cluster.url}/rows?{PATIENT}")
    rows = heard(cluster, "rows")
    found = [row.pop("delivery") for row in rows]
    assert found == [f"smoky@1a2b3c4d/{place}" for place in ("0/0", "0/1", "0/2", "0/3", "1/0")]
    assert rows == results.as_json()


def test_it_goes_on_where_it_was(results: Results, cluster: kafka_cluster.Cluster) -> None:
    url = f"{cluster.url}/goes-on?key=id&{PATIENT}"
    results.answer(2, 0, 1)
    assert results.deliver(url).progress.rows == 3
    assert results.deliver(url).progress.rows == 0
    results.answer(4)
    assert results.deliver(url).progress.rows == 4
    assert ids(cluster, "goes-on") == list(range(7))
    assert all(key == str(json.loads(value)["id"]) for _, key, value in cluster.messages("goes-on"))


def test_broken_off_at_every_step(results: Results, cluster: kafka_cluster.Cluster) -> None:
    """The mock brokers show what a transaction wrote before it was broken off. So these rows, and only these, come twice,
    with the same ids; a real broker hides them from who reads what is committed."""
    results.answer(2)
    steps = ("during_produce", "before_mark", "before_commit", "after_commit")
    for number, step in enumerate(steps):
        topic = f"broken-{number}"
        url = f"{cluster.url}/{topic}?{PATIENT}"
        sink = results.delivery(url, FailAt(CrashError, 1, step))
        with pytest.raises(CrashError):
            sink.step(all_of_it=True)
        assert results.deliver(url).error is None
        assert results.deliver(url).progress.rows == 0, "the mark is there"
        found = ids(cluster, topic)
        assert sorted(set(found)) == [0, 1], step
        if step in ("before_commit", "after_commit"):
            assert found == [0, 1], step


def test_two_queries_have_marks_of_their_own(cluster: kafka_cluster.Cluster, tmp_path: Path) -> None:
    one, other = Results(tmp_path / "one"), Results(tmp_path / "other")
    one.answer(1, 1)
    other.answer(1)
    url = f"{cluster.url}/shared?{PATIENT}"
    one.deliver(url)
    delivery = other.delivery(url, origin=type(ORIGIN)("other", "1a2b3c4d"))
    delivery.step(all_of_it=True)
    delivery.close()
    assert delivery.error is None
    assert sorted(ids(cluster, "shared")) == [0, 0, 1]


def test_a_broker_that_is_away(results: Results) -> None:
    results.answer(1)
    with pytest.raises(ResourceError, match="takes no answers"):
        results.deliver("kafka://127.0.0.1:1/alerts?timeout=1s")


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("kafka://host/", "is no topic of Kafka"),
        ("kafka://host/alerts?field=1", "is no name"),
        ("kafka://host/alerts?retain=1", "has no option 'retain'"),
    ],
)
def test_wrong_addresses(url: str, message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        sink_for(url, ORIGIN)


def test_columns_that_are_missing_or_taken(results: Results, cluster: kafka_cluster.Cluster) -> None:
    results.answer(1)
    with pytest.raises(ConfigurationError, match="no column 'site' for the key"):
        results.deliver(f"{cluster.url}/wrong?key=site&{PATIENT}")
    with pytest.raises(ConfigurationError, match="have a column 'id' of their own"):
        results.deliver(f"{cluster.url}/wrong?field=id&{PATIENT}")
