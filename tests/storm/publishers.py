"""Sensors of a test: many of them over a few connections, QoS 1; they remember what the broker has acknowledged.

A reading tells what it is: its value follows from sensor and time, so that a log can be checked row by row.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from typing import Any

from paho.mqtt.client import Client, MQTTv5
from paho.mqtt.enums import CallbackAPIVersion

from nilometer.types import SECOND

PATIENCE = 60.0
START = 1_767_225_600_000_000
"""2026-01-01T00:00:00Z."""

Reading = tuple[int, int]
"""Time and sensor."""


def value_of(time: int, sensor: int) -> float:
    """What a sensor measures at a time."""
    return ((time - START) // SECOND * 7 + sensor * 13) % 640 / 64


class Publishers:
    """Sensors 0..sensors-1. `acknowledged` may be read when `settle` has returned. `doubtful`: acknowledged right before the broker
    was killed, and after the last `fence`: a Mosquitto that is killed forgets what it has not saved yet."""

    def __init__(self, port: int, sensors: int, connections: int, topic: str = "air") -> None:
        self.sensors = sensors
        self.acknowledged: set[Reading] = set()
        self.published: set[Reading] = set()
        self.doubtful: set[Reading] = set()
        self._topic = topic
        self._lock = threading.Condition()
        self._waiting = 0
        self._clients = [
            Client(CallbackAPIVersion.VERSION2, f"{topic}-{n}", protocol=MQTTv5) for n in range(connections)
        ]
        self._sent: list[dict[int, Reading]] = [{} for _ in self._clients]
        self._early: list[set[int]] = [set() for _ in self._clients]
        self._unsaved: list[set[Reading]] = [set() for _ in self._clients]
        for number, client in enumerate(self._clients):
            client.reconnect_delay_set(0.05, 0.5)  # type: ignore[arg-type]
            client.max_inflight_messages_set(1_000)
            client.on_publish = self._heard(number)
            client.on_disconnect = self._cut_off(number)
            client.connect("127.0.0.1", port)
            client.loop_start()

    def _heard(self, number: int) -> Any:
        def on_publish(_: Client, __: Any, message: int, ___: Any, ____: Any) -> None:
            with self._lock:
                reading = self._sent[number].pop(message, None)
                if reading is None:  # acknowledged before `publish` has returned
                    self._early[number].add(message)
                    self._lock.notify_all()
                    return
                self._acknowledge(number, reading)

        return on_publish

    def _acknowledge(self, number: int, reading: Reading) -> None:
        self.acknowledged.add(reading)
        self._unsaved[number].add(reading)
        self._waiting -= 1
        self._lock.notify_all()

    def _cut_off(self, number: int) -> Any:
        def on_disconnect(*_: Any) -> None:
            with self._lock:
                self.doubtful |= self._unsaved[number]
                self._unsaved[number] = set()

        return on_disconnect

    def publish(self, tick: int, sensors: Iterable[int] | None = None) -> list[Reading]:
        """A reading of each of these sensors (all, by default) for that second; does not wait for the broker."""
        time = START + tick * SECOND
        readings = [(time, sensor) for sensor in (range(self.sensors) if sensors is None else sensors)]
        self.published.update(readings)
        with self._lock:
            self._waiting += len(readings)
        for reading in readings:
            number = reading[1] % len(self._clients)
            payload = f'{{"time": {time}, "pm25": {value_of(*reading)}}}'
            sent = self._clients[number].publish(f"{self._topic}/{reading[1]}", payload, qos=1).mid
            with self._lock:
                if sent in self._early[number]:
                    self._early[number].discard(sent)
                    self._acknowledge(number, reading)
                else:
                    self._sent[number][sent] = reading
        return readings

    def settle(self) -> None:
        """Wait until the broker has acknowledged everything."""
        with self._lock:
            assert self._lock.wait_for(lambda: not self._waiting, PATIENCE), (
                f"{self._waiting} not acknowledged"
            )

    def fence(self, save: Callable[[], None]) -> None:
        """Wait until the broker has saved what it has acknowledged. It does so between two turns: two more round trips."""
        with self._lock:
            before = [set(some) for some in self._unsaved]
        save()
        for _ in range(2):
            # `wait_for_publish` raises while the client is not yet connected again; the acknowledgement comes all the same.
            sent = self._clients[0].publish("fence", "x", qos=1, retain=True).mid
            with self._lock:
                heard = self._lock.wait_for(lambda: sent in self._early[0], PATIENCE)  # noqa: B023
                assert heard, "the fence is not acknowledged"
                self._early[0].discard(sent)
        with self._lock:
            self._unsaved = [some - old for some, old in zip(self._unsaved, before, strict=True)]

    def close(self) -> None:
        """Good-bye; nothing is in doubt by then."""
        for client in self._clients:
            client.on_disconnect = None
        for client in self._clients:
            client.disconnect()
        for client in self._clients:
            client.loop_stop()
