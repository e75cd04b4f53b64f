"""MQTT with a real Mosquitto: at least once through kills, wildcard columns, status, commands."""

from __future__ import annotations

import itertools
import queue
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest
from paho.mqtt.client import Client, DisconnectFlags, MQTTMessage, MQTTv5
from paho.mqtt.enums import CallbackAPIVersion
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.reasoncodes import ReasonCode

import mosquitto_server
from nilometer.catalog.address import Address
from nilometer.catalog.extents import Stream, stream_columns
from nilometer.ingest.adapters.adapter import Command, ReadResult, Status
from nilometer.ingest.adapters.mqtt import MqttAdapter
from nilometer.ingest.adapters.registry import adapter_for
from nilometer.types import FLOAT, STRING, Column

pytestmark = [
    pytest.mark.mosquitto,
    pytest.mark.xdist_group("mosquitto"),
    pytest.mark.skipif(mosquitto_server.program() is None, reason="Mosquitto is not installed"),
]

PATIENCE = 60.0
AIR = Stream("air", stream_columns((Column("site", STRING), Column("pm25", FLOAT))), key=("id", "time"))


@pytest.fixture
def broker() -> Iterator[mosquitto_server.Broker]:
    with mosquitto_server.running() as broker:
        yield broker


@pytest.fixture
def publish(broker: mosquitto_server.Broker) -> Iterator[Callable[..., None]]:
    """Publishes with QoS 1, and returns when the broker has it.

    A message that is published while the client is not yet connected again waits in the client. `wait_for_publish`
    raises for such a message, so the acknowledgements are counted here.
    """
    client = Client(CallbackAPIVersion.VERSION2, "publisher", protocol=MQTTv5)
    client.reconnect_delay_set(0.1, 1)  # type: ignore[arg-type]
    acknowledged: set[int] = set()
    changed = threading.Condition()

    def on_publish(_: Client, __: Any, number: int, *___: Any) -> None:
        with changed:
            acknowledged.add(number)
            changed.notify_all()

    client.on_publish = on_publish
    client.connect("127.0.0.1", broker.port)
    client.loop_start()

    def send(topic: str, *payloads: str | bytes, retain: bool = False) -> None:
        sent = {client.publish(topic, payload, qos=1, retain=retain).mid for payload in payloads}
        with changed:
            assert changed.wait_for(lambda: sent <= acknowledged, PATIENCE), sent - acknowledged
            acknowledged.difference_update(sent)

    yield send
    client.disconnect()
    client.loop_stop()


def adapter(broker: mosquitto_server.Broker, topic: str = "air/{site}/{id}", **options: Any) -> MqttAdapter:
    options.setdefault("retry", "100ms")
    query = "&".join(f"{name}={value}" for name, value in options.items())
    ticks = itertools.count(1)
    return MqttAdapter(AIR, Address.parse(f"{broker.url}/{topic}?{query}"), lambda: next(ticks))


def opened(adapter: MqttAdapter) -> MqttAdapter:
    adapter.open()
    assert adapter.connected.wait(PATIENCE), adapter.trouble
    assert adapter.trouble is None
    return adapter


def read_until(
    adapter: MqttAdapter, enough: Callable[[list[ReadResult]], bool], acknowledge: bool = True
) -> list[ReadResult]:
    results: list[ReadResult] = []
    while not enough(results):
        assert adapter.wake is not None
        assert adapter.wake.wait(PATIENCE), f"nothing more came after {results}"
        result = adapter.read()
        if result.status is Status.NEW_VALUE:
            results.append(result)
            if acknowledge:
                adapter.acknowledge(result.handle)
    return results


def rows(results: list[ReadResult]) -> list[tuple[Any, ...]]:
    return [row for result in results for row in result.rows.rows()]


def times(results: list[ReadResult]) -> set[int]:
    return {row[0] for row in rows(results)}


def reading(time: int) -> str:
    return f'{{"time": {time}, "pm25": {time}.5}}'


def test_readings_of_all_formats(broker: mosquitto_server.Broker, publish: Callable[..., None]) -> None:
    source = opened(adapter(broker))
    publish("air/north/7", reading(1), '[{"n": "pm25", "bt": 1.7e9, "v": 2}]', "nonsense {", "3,north,7,4.5")
    publish("air/south/8", reading(5))
    results = read_until(source, lambda found: sum(result.received for result in found) >= 5)
    assert rows(results) == [
        (1, 7, "north", 1.5),
        (1_700_000_000_000_000, 7, "north", 2.0),
        (3, 7, "north", 4.5),
        (5, 8, "south", 5.5),
    ]
    (letter,) = [letter for result in results for letter in result.garbled]
    assert (letter.payload, letter.source) == (b"nonsense {", "air/north/7")
    assert source.read().status is Status.NO_VALUE
    source.close()
    assert source.read().status is Status.END


def test_what_was_not_acknowledged_comes_again(
    broker: mosquitto_server.Broker, publish: Callable[..., None]
) -> None:
    first = opened(adapter(broker))
    publish("air/north/7", *map(reading, range(10)))
    half = read_until(first, lambda found: len(times(found)) >= 10, acknowledge=False)
    for result in half[:1]:
        first.acknowledge(result.handle)
    acknowledged = times(half[:1])
    first.close()
    publish("air/north/7", *map(reading, range(10, 15)))  # nobody is there: the session keeps them
    second = opened(adapter(broker))
    missing = set(range(15)) - acknowledged
    again = read_until(second, lambda found: times(found) >= missing)
    # More may come: a broker may hear of the new connection before the last acknowledgements of the old one.
    assert times(again) <= set(range(15))
    second.close()


KILLED = """
import sys
from nilometer.ingest.adapters.mqtt import MqttAdapter
from nilometer.catalog.address import Address
from nilometer.catalog.extents import Stream, stream_columns
from nilometer.types import FLOAT, STRING, Column
stream = Stream("air", stream_columns((Column("site", STRING), Column("pm25", FLOAT))))
adapter = MqttAdapter(stream, Address.parse(sys.argv[1]), lambda: 0)
adapter.open()
adapter.connected.wait()
print("open", flush=True)
seen = 0
while True:
    adapter.wake.wait()
    seen += adapter.read().rows.height
    print(seen, flush=True)
"""


def test_an_adapter_killed_before_it_acknowledged(
    broker: mosquitto_server.Broker, publish: Callable[..., None]
) -> None:
    command = [sys.executable, "-c", KILLED, f"{broker.url}/air/{{site}}/{{id}}"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        watchdog = threading.Timer(PATIENCE, process.kill)
        watchdog.start()
        assert process.stdout.readline() == "open\n"
        publish("air/north/7", *map(reading, range(20)))
        for line in process.stdout:
            if int(line) >= 20:
                break
        process.kill()
        watchdog.cancel()
    source = opened(adapter(broker))
    again = read_until(source, lambda found: len(times(found)) >= 20)
    assert times(again) == set(range(20))
    source.close()


def test_a_killed_broker(broker: mosquitto_server.Broker, publish: Callable[..., None]) -> None:
    source = opened(adapter(broker))
    publish("air/north/7", *map(reading, range(10)))
    held = read_until(source, lambda found: len(times(found)) >= 10, acknowledge=False)
    noticed = threading.Event()
    notice = source._client.on_disconnect
    assert notice is not None
    source._client.on_disconnect = lambda *what: (notice(*what), noticed.set())[0]
    broker.kill()
    assert noticed.wait(PATIENCE)
    source.acknowledge(held[0].handle)  # too late for that connection: not sent, and no harm
    broker.start()
    assert source.connected.wait(PATIENCE)
    publish("air/north/7", *map(reading, range(10, 20)))
    found = read_until(source, lambda found: times(found) >= set(range(10, 20)))
    assert times(held) | times(found) == set(range(20))
    source.close()


def test_a_broker_killed_with_messages_for_us(
    broker: mosquitto_server.Broker, publish: Callable[..., None]
) -> None:
    opened(adapter(broker)).close()  # the session is there, and we are not
    publish("air/north/7", *map(reading, range(10)))
    publish("elsewhere", "a", "b", "c", retain=True)  # answered only after the readings were saved
    broker.kill()
    broker.start()
    source = opened(adapter(broker))
    found = read_until(source, lambda found: times(found) >= set(range(10)))
    assert times(found) == set(range(10))
    source.close()


def test_what_a_session_brings_before_we_are_subscribed_is_acknowledged_too(
    broker: mosquitto_server.Broker, publish: Callable[..., None]
) -> None:
    opened(adapter(broker)).close()
    publish("air/north/7", *map(reading, range(12)))
    source = adapter(broker, receive=4)
    source._client.subscribe = lambda *_: (0, 0)  # whose answer never comes: the session has its subscription
    source.open()
    found = read_until(source, lambda found: len(times(found)) >= 12)
    assert times(found) == set(range(12))
    source.close()


def test_the_broker_holds_back_what_is_not_acknowledged(
    broker: mosquitto_server.Broker, publish: Callable[..., None]
) -> None:
    source = opened(adapter(broker, receive=4))
    publish("air/north/7", *map(reading, range(12)))
    held = read_until(source, lambda found: len(times(found)) >= 4, acknowledge=False)
    assert times(held) == {0, 1, 2, 3}
    for result in held:
        source.acknowledge(result.handle)
    # From here on Mosquitto 2.0 may run a few ahead of the acknowledgements; the inbox is bounded all the same.
    rest = read_until(source, lambda found: len(times(found)) >= 8)
    assert [row[0] for row in rows(rest)] == list(range(4, 12))
    source.close()


def test_a_full_inbox_delays_unacknowledged_qos_0(broker: mosquitto_server.Broker) -> None:
    source = opened(adapter(broker, receive=3))
    sender = Client(CallbackAPIVersion.VERSION2, "qos0", protocol=MQTTv5)
    sender.connect("127.0.0.1", broker.port)
    sender.loop_start()
    for time in range(50):
        sender.publish("air/north/7", reading(time), qos=0)
    results = read_until(source, lambda found: len(times(found)) >= 50)
    assert [row[0] for row in rows(results)] == list(range(50))
    assert max(result.rows.height for result in results) <= 3
    sender.disconnect()
    sender.loop_stop()
    source.close()


def test_last_will_and_retained_status(broker: mosquitto_server.Broker, publish: Callable[..., None]) -> None:
    publish("air/north/7/status", "online", retain=True)
    source = opened(adapter(broker))
    found = read_until(source, lambda found: any(result.presences for result in found))
    assert [(p.sensor, p.online) for result in found for p in result.presences] == [("7", True)]
    sensor = Client(CallbackAPIVersion.VERSION2, "sensor", protocol=MQTTv5)
    sensor.will_set("air/north/7/status", '{"status": "offline"}', qos=1, retain=True)
    sensor.connect("127.0.0.1", broker.port)
    sensor.loop_start()
    sent = sensor.publish("air/north/7/status", "huh", qos=1)
    sent.wait_for_publish(PATIENCE)
    sensor._sock_close()  # the battery is empty: no farewell
    sensor.loop_stop()
    found = read_until(source, lambda found: any(result.presences for result in found))
    assert [(p.sensor, p.online) for result in found for p in result.presences] == [("7", False)]
    assert [letter.payload for result in found for letter in result.garbled] == [b"huh"]
    source.close()


def test_a_status_may_say_more_and_speak_for_several(
    broker: mosquitto_server.Broker, publish: Callable[..., None]
) -> None:
    source = opened(adapter(broker))
    publish("air/north/7/status", '{"state": "online", "time": 5, "listening": 9, "command": 3}')
    publish("air/north/hub/status", '{"state": "offline", "sensors": ["7", 8]}')
    found = read_until(source, lambda found: sum(len(result.presences) for result in found) >= 3)
    said = [p for result in found for p in result.presences]
    assert [(p.sensor, p.online, p.time, p.listening, p.command) for p in said] == [
        ("7", True, 5, 9, 3),
        ("7", False, None, None, None),
        ("8", False, None, None, None),
    ]
    source.close()


def test_commands(broker: mosquitto_server.Broker, publish: Callable[..., None]) -> None:
    heard: queue.Queue[tuple[str, bytes]] = queue.Queue()
    subscribed = threading.Event()
    sensor = Client(CallbackAPIVersion.VERSION2, "sensor", protocol=MQTTv5)

    def on_message(_: Client, __: Any, message: MQTTMessage) -> None:
        heard.put((message.topic, bytes(message.payload)))

    sensor.on_message = on_message
    sensor.on_subscribe = lambda *_: subscribed.set()
    sensor.connect("127.0.0.1", broker.port)
    sensor.loop_start()
    sensor.subscribe("air/+/+/command", qos=1)
    assert subscribed.wait(PATIENCE)
    source = opened(adapter(broker))
    wanted = Command(interval=5_000_000, filter="pm25 > 10", program="counts", sleep=False)
    assert not source.command(7, wanted)  # nobody knows yet at which site it is
    publish("air/north/7", reading(1))
    read_until(source, lambda found: len(times(found)) == 1)
    assert source.command(7, wanted)
    topic, payload = heard.get(timeout=PATIENCE)
    assert (topic, Command.from_json(payload)) == ("air/north/7/command", wanted)
    sensor.disconnect()
    sensor.loop_stop()
    source.close()


def test_the_last_commands_reach_the_broker(broker: mosquitto_server.Broker) -> None:
    """A client sends some twenty at a time: two hundred would be cut off by the farewell, if it did not wait for them."""
    source = opened(adapter(broker, "air/{id}"))
    for sensor in range(200):
        assert source.command(sensor, Command(sleep=True, number=1))
    source.close()
    found: queue.Queue[str] = queue.Queue()
    client = Client(CallbackAPIVersion.VERSION2, "sensors", protocol=MQTTv5)
    client.on_message = lambda _, __, message: found.put(message.topic)
    client.connect("127.0.0.1", broker.port)
    client.subscribe("air/+/command", 1)
    client.loop_start()
    topics = {found.get(timeout=PATIENCE) for _ in range(200)}
    client.disconnect()
    client.loop_stop()
    assert len(topics) == 200


def test_trouble_is_told() -> None:
    source = MqttAdapter(
        AIR, Address.parse(f"mqtt://127.0.0.1:{mosquitto_server.free_port()}/air/+?retry=10s"), lambda: 0
    )
    failed = threading.Event()
    tell = source._on_connect_fail
    source._client.on_connect_fail = lambda client, data: (tell(client, data), failed.set())[0]
    source.open()
    assert failed.wait(PATIENCE)
    assert source.trouble is not None
    assert "no broker" in source.trouble
    source.close()


def test_two_data_directories_have_sessions_of_their_own(
    broker: mosquitto_server.Broker, publish: Callable[..., None]
) -> None:
    stream = replace(AIR, url=f"{broker.url}/air/{{site}}/{{id}}")
    sources = [adapter_for(stream, lambda: 0, identity=identity) for identity in ("ours", "theirs")]
    for source in sources:
        assert isinstance(source, MqttAdapter)
        opened(source)
    publish("air/north/7", *map(reading, range(10)))
    for source in sources:
        assert isinstance(source, MqttAdapter)
        found = read_until(source, lambda found: len(times(found)) >= 10)
        assert times(found) == set(range(10))
        assert source.trouble is None
        source.close()


def test_who_is_taken_over_says_so_and_stays_away_for_a_while(broker: mosquitto_server.Broker) -> None:
    """Mosquitto 2.0 only closes the connection; whoever notices first that it happens again and again retreats."""
    sources = [adapter(broker), adapter(broker)]
    retreated: queue.Queue[MqttAdapter] = queue.Queue()

    def watch(source: MqttAdapter) -> None:
        blame = source._on_disconnect

        def told(*what: Any) -> None:
            blame(*what)
            if source._taken_over:
                retreated.put(source)

        source._client.on_disconnect = told

    for source in sources:
        watch(source)
        source.open()
    source = retreated.get(timeout=PATIENCE)
    assert source.trouble is not None
    assert source.trouble.endswith(
        f"another client uses the id '{source.client_id}' (two gateways, or a copied data directory?)"
    )
    assert source._client._reconnect_min_delay >= 5
    for source in sources:
        source.close()


def test_retreats_grow_and_end() -> None:
    source = MqttAdapter(AIR, Address.parse("mqtt://127.0.0.1/air/+?retry=1s"), lambda: 0)
    waits = []
    for code in ["Session taken over"] * 9 + ["Server shutting down"]:
        reason = ReasonCode(PacketTypes.DISCONNECT, code)
        source._on_disconnect(source._client, None, DisconnectFlags(True), reason, None)
        waits.append(source._client._reconnect_min_delay)
    assert waits == [5, 10, 20, 40, 80, 160, 300, 300, 300, 1]
    assert source.trouble == "disconnected: Server shutting down; trying again"


def test_a_changed_topic_brings_nothing_of_the_old_one(
    broker: mosquitto_server.Broker, publish: Callable[..., None]
) -> None:
    opened(adapter(broker, "old/{site}/{id}", client_id="us")).close()  # the session keeps this subscription
    source = opened(adapter(broker, client_id="us", receive=2))
    publish("old/north/8", reading(1))
    publish("old/north/8/status", "online")
    publish("old/north/8", reading(2))
    publish("air/north/7", reading(3))
    publish("air/north/7/status", "online")
    found = read_until(source, lambda found: any(result.presences for result in found))
    assert rows(found) == [(3, 7, "north", 3.5)]
    assert [(p.sensor, p.online) for result in found for p in result.presences] == [("7", True)]
    letters = [letter for result in found for letter in result.garbled]
    assert [letter.source for letter in letters] == ["old/north/8", "old/north/8/status", "old/north/8"]
    assert {letter.reason for letter in letters} == {"a topic that is not this stream's"}
    assert not source.command(8, Command(interval=1))  # nobody knows where it is
    source.close()


def test_another_filter_is_another_session(broker: mosquitto_server.Broker) -> None:
    names = [adapter(broker, topic).client_id for topic in ("air/{site}/{id}", "air/+/+", "old/{site}/{id}")]
    assert names[0] == names[1]
    assert names[0].startswith("nilometer-air-")
    assert names[0] != names[2]


def test_a_topic_with_an_empty_level_names_no_sensor(
    broker: mosquitto_server.Broker, publish: Callable[..., None]
) -> None:
    source = opened(adapter(broker, "air/{id}"))
    publish("air/", reading(1))
    publish("air//status", "online")
    publish("air/7", reading(2))
    found = read_until(source, lambda found: bool(times(found)))
    assert times(found) == {2}
    assert not any(result.presences for result in found)
    letters = [letter for result in found for letter in result.garbled]
    assert sorted(letter.source for letter in letters) == ["air/", "air//status"]
    assert {letter.reason for letter in letters} == {"no id: its level of the topic is empty"}
    source.close()


@pytest.mark.promise("forgotten-session")
def test_a_broker_that_forgot_our_session_is_noticed(broker: mosquitto_server.Broker) -> None:
    source = opened(adapter(broker))
    assert (source.session, source.session_begun, source.sessions_lost) == (source.client_id, True, 0)
    source.close()
    again = adapter(broker)
    again.session_begun = True  # as the log remembers
    assert opened(again).sessions_lost == 0
    broker.stop()
    for saved in broker.directory.glob("*.db"):
        saved.unlink()
    broker.start()
    while not again.sessions_lost:
        assert again.connected.wait(PATIENCE), again.trouble
    assert again.sessions_lost == 1
    again.close()
    third = adapter(broker, session="0s")
    third.session_begun = True
    assert opened(third).sessions_lost == 0  # a session that the broker is not asked to keep cannot be lost
    third.close()
