"""OGC 18-088, A.8 and A.9: observations in and out by MQTT, with a real Mosquitto."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from paho.mqtt.client import Client, MQTTv5
from paho.mqtt.enums import CallbackAPIVersion

import mosquitto_server
from nilometer.errors import ConfigurationError
from nilometer.server.settings import HttpSettings
from server.sensorthings.conftest import READINGS, SCHEMA, Things
from server.sensorthings.entities import observation, thing
from server.serving import PATIENCE, Caller, served
from sinks.test_mqtt import Ear

pytestmark = [
    pytest.mark.mosquitto,
    pytest.mark.xdist_group("mosquitto"),
    pytest.mark.skipif(mosquitto_server.program() is None, reason="Mosquitto is not installed"),
]


class Mouth:
    """Publishes, and waits until the broker has it."""

    def __init__(self, broker: mosquitto_server.Broker) -> None:
        self._client = Client(CallbackAPIVersion.VERSION2, "mouth", protocol=MQTTv5)
        self._client.connect("127.0.0.1", broker.port)
        self._client.loop_start()

    def __call__(self, topic: str, body: bytes) -> None:
        self._client.publish(topic, body, qos=1).wait_for_publish(PATIENCE)

    def close(self) -> None:
        self._client.disconnect()
        self._client.loop_stop()


@pytest.fixture(scope="module")
def broker() -> Iterator[mosquitto_server.Broker]:
    with mosquitto_server.running(mosquitto_server.WHEN_ASKED) as broker:
        yield broker


def identified(ear: Ear, count: int) -> list[tuple[str, Any]]:
    """The next messages of ours: they have ids."""
    found: list[tuple[str, Any]] = []
    while len(found) < count:
        found += [(topic, body) for topic, body in ear.messages(1) if "@iot.id" in body]
    return found


def test_observations_in_and_out(tmp_path: Path, broker: mosquitto_server.Broker) -> None:
    settings = HttpSettings(port=0, broker=broker.url)
    with served(tmp_path, SCHEMA, settings) as server:
        things = Things(Caller(server.port))
        root: Any = things.get("")
        mqtt = "http://www.opengis.net/spec/iot_sensing/1.1/req/create-observations-via-mqtt/observations-creation"
        assert mqtt in root["serverSettings"]["conformance"]
        assert root["serverSettings"][mqtt]["endpoints"] == [broker.url]
        bridge = server._bridge
        assert bridge is not None
        assert bridge.connected.wait(PATIENCE)
        assert bridge._began.wait(PATIENCE)
        ear, mouth = Ear(broker, "v1.1/#"), Mouth(broker)
        try:
            things.post("Things", thing(Locations=[]))
            made = dict(identified(ear, 11))
            assert made["v1.1/Things(1)"]["name"] == "hut"
            assert made["v1.1/Datastreams"]["@iot.id"] == 2
            for above in ("Things(1)", "Sensors(3)", "ObservedProperties(4)"):
                assert made[f"v1.1/{above}/Datastreams"]["@iot.id"] == 2
            things.post("Datastreams(2)/Observations", observation(1, 5))
            heard = identified(ear, 2)
            assert [topic for topic, _ in heard] == ["v1.1/Datastreams(2)/Observations", "v1.1/Observations"]
            assert (heard[0][1]["result"], heard[0][1]["@iot.id"]) == (5.0, 1)
            # In: by both topics, into an own Datastream and into a stream.
            things.caller.send("air", READINGS[:1])
            identified(ear, 4)
            mouth(
                "v1.1/Datastreams(2)/Observations", b'{"result": 6, "phenomenonTime": "2026-03-01T06:02:00Z"}'
            )
            mouth("v1.1/Observations", b'{"result": 7, "Datastream": {"@iot.id": "air:pm25:roof"}}')
            mouth("v1.1/Datastreams(2)/Observations", b"[1]")
            mouth("v1.1/Datastreams(99)/Observations", b'{"result": 6}')
            results = sorted(body["result"] for _, body in identified(ear, 4))
            assert results == [6.0, 6.0, 7.0, 7.0]
            assert things.ids("Datastreams(2)/Observations", filter="result eq 6") == [2]
            assert len(things.ids("Datastreams('air:pm25:roof')/Observations")) == 2
            things("PATCH", "Things(1)", {"name": "renamed"})
            assert [body["name"] for _, body in identified(ear, 2)] == ["renamed", "renamed"]
            assert list(ear.messages(1)) == [("v1.1/Things(1)/name", {"name": "renamed"})], (
                "and no other property"
            )
            letters: list[Any] = []
            while len(letters) < 2:
                letters = things.caller.get("/api/v1/dead-letters?stream=observations")["items"]
            assert {each["reason"] for each in letters} == {
                "an Observation is a JSON object",
                "there is no Datastreams(99)",
            }
        finally:
            ear.close()
            mouth.close()
            things.caller.close()


def test_what_is_no_broker() -> None:
    with pytest.raises(ConfigurationError, match="is no broker"):
        HttpSettings(broker="http://x")
