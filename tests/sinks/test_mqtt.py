"""A real Mosquitto: every row comes, with an id, in order; a broker that is away is waited for."""

from __future__ import annotations

import json
import queue
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from paho.mqtt.client import Client, MQTTv5
from paho.mqtt.enums import CallbackAPIVersion

import mosquitto_server
from nilometer.errors import ConfigurationError, ResourceError
from nilometer.sinks.mqtt import MqttSink
from nilometer.sinks.registry import sink_for
from nilometer.types import INT, STRING, Column, Schema
from sinks.results import ALL, ORIGIN, Results, everything

pytestmark = [
    pytest.mark.mosquitto,
    pytest.mark.xdist_group("mosquitto"),
    pytest.mark.skipif(mosquitto_server.program() is None, reason="Mosquitto is not installed"),
]

PATIENCE = 60.0


class Ear:
    """Hears everything below a topic, from a session that the broker keeps."""

    def __init__(self, broker: mosquitto_server.Broker, topic: str = "#") -> None:
        self._heard: queue.Queue[tuple[str, str]] = queue.Queue()
        subscribed: queue.Queue[bool] = queue.Queue()
        self._client = Client(CallbackAPIVersion.VERSION2, "ear", protocol=MQTTv5)
        self._client.on_connect = lambda client, *_: client.subscribe(topic, qos=1)
        self._client.on_subscribe = lambda *_: subscribed.put(True)
        self._client.on_message = lambda _, __, message: self._heard.put(
            (message.topic, message.payload.decode())
        )
        self._client.connect("127.0.0.1", broker.port)
        self._client.loop_start()
        assert subscribed.get(timeout=PATIENCE)

    def messages(self, count: int) -> list[tuple[str, Any]]:
        """The next so many."""
        heard = [self._heard.get(timeout=PATIENCE) for _ in range(count)]
        return [(topic, json.loads(payload)) for topic, payload in heard]

    def until_silence(self) -> list[tuple[str, Any]]:
        """All that the broker has had up to now."""
        self._client.publish("the/end", "", qos=1)
        heard: list[tuple[str, Any]] = []
        while (message := self._heard.get(timeout=PATIENCE))[0] != "the/end":
            heard.append((message[0], json.loads(message[1])))
        return heard

    def close(self) -> None:
        self._client.disconnect()
        self._client.loop_stop()
        self._client.on_connect = self._client.on_subscribe = self._client.on_message = None


@pytest.fixture
def broker() -> Iterator[mosquitto_server.Broker]:
    with mosquitto_server.running(mosquitto_server.WHEN_ASKED) as broker:
        yield broker


@pytest.fixture
def ear(broker: mosquitto_server.Broker) -> Iterator[Ear]:
    with closing(Ear(broker)) as ear:
        yield ear


@pytest.fixture
def results(tmp_path: Path) -> Results:
    return Results(tmp_path)


def test_every_row_is_a_message_with_an_id(
    results: Results, broker: mosquitto_server.Broker, ear: Ear
) -> None:
    results.commit(everything(), ALL)
    results.commit(everything()[:1], ALL)
    results.deliver(f"{broker.url}/alerts/smoke")
    heard = ear.messages(5)
    assert {topic for topic, _ in heard} == {"alerts/smoke"}
    ids = [row.pop("delivery") for _, row in heard]
    assert ids == [f"smoky@1a2b3c4d/{place}" for place in ("0/0", "0/1", "0/2", "0/3", "1/0")]
    assert [row for _, row in heard] == results.as_json()


def test_it_goes_on_where_it_was(results: Results, broker: mosquitto_server.Broker, ear: Ear) -> None:
    url = f"{broker.url}/alerts"
    results.answer(2, 0, 1)
    results.deliver(url)
    results.answer(2)
    results.commit(pl.DataFrame({"id": ["x"]}), Schema((Column("id", STRING),)), "v2", log=2)
    results.deliver(url + "?keepalive=10s&rows=1")
    assert results.deliver(url).progress.rows == 0
    assert [row["id"] for _, row in ear.messages(6)] == [0, 1, 2, 3, 4, "x"]
    results.deliver(f"{broker.url}/elsewhere")
    assert [topic for topic, _ in ear.messages(6)] == ["elsewhere"] * 6


def test_packs_topics_and_names(results: Results, broker: mosquitto_server.Broker, ear: Ear) -> None:
    results.answer(5, 2)
    results.deliver(f"{broker.url}/packs?pack=3&field=nr")
    packs = ear.messages(3)
    assert [[row["id"] for row in rows] for _, rows in packs] == [[0, 1, 2], [3, 4], [5, 6]]
    assert packs[2][1][1]["nr"] == "smoky@1a2b3c4d/1/1"
    results.deliver(f"{broker.url}/air/{{id}}/x")
    assert [topic for topic, _ in ear.messages(7)] == [f"air/{n}/x" for n in range(7)]
    delivery = results.delivery(f"{broker.url}/by/{{at}}?rows=1")
    delivery.step()
    delivery.close()
    assert isinstance(delivery.error, ConfigurationError)
    assert "no column 'at'" in str(delivery.progress.trouble)


def test_topics_of_strange_values(results: Results, broker: mosquitto_server.Broker, ear: Ear) -> None:
    rows = pl.DataFrame({"at": ["a/b", "+", None, "ü"]})
    results.commit(rows, Schema((Column("at", STRING),)))
    results.deliver(f"{broker.url}/by/{{at}}")
    assert [topic for topic, _ in ear.messages(4)] == ["by/a_b", "by/_", "by/null", "by/ü"]


def test_from_now_on(results: Results, broker: mosquitto_server.Broker, ear: Ear, tmp_path: Path) -> None:
    url = f"{broker.url}/alerts?start=now"
    results.answer(2, 1)
    results.deliver(url)
    results.answer(1)
    results.deliver(url)
    later = Results(tmp_path / "later")
    later.deliver(url)
    later.answer(1)
    later.deliver(url)
    assert [row["id"] for _, row in ear.messages(2)] == [3, 0]


def test_retained(results: Results, broker: mosquitto_server.Broker) -> None:
    results.answer(3)
    results.deliver(f"{broker.url}/last?retain=1")
    with closing(Ear(broker)) as ear:
        assert [row["id"] for _, row in ear.messages(1)] == [2]


def test_a_broker_that_is_away_is_waited_for(results: Results, broker: mosquitto_server.Broker) -> None:
    now = [0.0]
    with closing(results.delivery(f"{broker.url}/alerts", clock=lambda: now[0])) as delivery:
        results.answer(2)
        assert delivery.step()
        broker.kill()
        results.answer(1)
        for failures in range(1, 4):
            assert not delivery.step()
            assert delivery.progress.failures == failures
            now[0] += 100.0
        assert "takes no answers" in str(delivery.progress.trouble)
        broker.start()
        with closing(Ear(broker)) as ear:
            results.answer(2)
            assert delivery.step()
            assert delivery.progress.trouble is None
            assert [row["id"] for _, row in ear.messages(3)] == [2, 3, 4]


def test_a_broker_that_dies_over_the_messages(results: Results, broker: mosquitto_server.Broker) -> None:
    """What it had not acknowledged comes again, under the same ids."""
    armed = [True]

    def kill(name: str) -> None:
        if name == "during_publish" and armed[0]:
            armed[0] = False
            broker.kill()

    results.answer(50)
    delivery = results.delivery(f"{broker.url}/alerts", kill)
    assert not delivery.step()
    assert delivery.progress.failures == 1
    broker.start()
    with closing(Ear(broker)) as ear:
        assert delivery.step(all_of_it=True)
        ids = [row["delivery"] for _, row in ear.messages(50)]
    delivery.close()
    assert ids == [f"smoky@1a2b3c4d/0/{n}" for n in range(50)]


def test_settings_that_cannot_be(results: Results, broker: mosquitto_server.Broker) -> None:
    for url, says in {
        "mqtt://host/": "no topic",
        "mqtt://host/a/#": "no topic",
        "mqtt://host/a/{id}?pack=2": "cannot be packed",
        "mqtt://host/a?color=red": "no option 'color'",
        "mqtt://host/a?field=a%22b": "no name",
        "mqtt:host": "names no host",
        "mqqt://host/a": "not a sink",
        "parquet:": "names no file",
    }.items():
        with pytest.raises(ConfigurationError, match=says):
            sink_for(url, ORIGIN)
    results.commit(pl.DataFrame({"delivery": [1]}), Schema((Column("delivery", INT),)))
    with pytest.raises(ConfigurationError, match="of their own"):
        results.deliver(f"{broker.url}/alerts")
    broker.kill()
    with pytest.raises(ResourceError, match="takes no answers"):
        results.deliver(f"{broker.url}/alerts")
    assert isinstance(sink_for("mqtts://me:secret@host/a", ORIGIN), MqttSink)
    assert "secret" not in sink_for("mqtts://me:secret@host/a", ORIGIN).name


def test_a_broker_that_refuses_a_topic(results: Results, tmp_path: Path) -> None:
    broker = mosquitto_server.Broker(tmp_path, mosquitto_server.WHEN_ASKED)
    rights = tmp_path / "rights"
    rights.write_text("topic read #\ntopic write allowed/#\n")
    rights.chmod(0o600)
    with (tmp_path / "mosquitto.conf").open("a") as file:
        file.write(f"acl_file {rights}\n")
    broker.start()
    try:
        results.answer(2)
        with pytest.raises(ResourceError, match="takes no answers") as refusal:
            results.deliver(f"{broker.url}/forbidden")
        assert "Not authorized" in str(refusal.value)
        assert results.deliver(f"{broker.url}/allowed/smoky").progress.rows == 2
    finally:
        broker.kill()
