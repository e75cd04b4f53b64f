"""Simulated sensors: good, late, early, repeated and garbled readings, each known by its number.

The law: a good reading's (id, time) is its own, so that KEY removes copies and nothing else.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from enum import StrEnum
from random import Random

from nilometer.laboratory.storm.broker import Broker
from nilometer.laboratory.storm.declarations import RAIN, RIVER
from nilometer.types import MINUTE, SECOND


class Sort(StrEnum):
    """GARBLED readings are dead letters, as are FUTURE ones; GOOD ones may be late."""

    GOOD = "good"
    FUTURE = "future"
    GARBLED = "garbled"


@dataclass(frozen=True)
class Sent:
    """A message that a sensor published: the reading in it, if it has one."""

    stream: str
    sort: Sort
    x: int
    payload: bytes


GARBAGE = (
    b"",
    b"{",
    b"\xff\xfe\x00",
    b'{"time": "yesterday", "x": 1}',
    b"[]",
    b"null",
    b'{"x": {"y": [1]}, "time": []}',
    b'{"time": 1e300, "x": 1}',
)


class Sensors:
    """`sent` holds every message by the number that the broker gave it."""

    def __init__(self, broker: Broker, random: Random, *, bad: bool) -> None:
        self._broker = broker
        self._random = random
        self._bad = bad
        self._x = 0
        self.sent: dict[int, Sent] = {}

    def publish(self, now: int) -> None:
        """One more message."""
        stream = self._random.choice((RIVER, RIVER, RAIN))
        topic = f"{stream}/{self._random.randint(1, 3)}"
        self._x += 1
        sort = Sort.GOOD
        ahead = -self._random.randint(0, 900_000)
        lot = self._random.random()
        if lot < 0.06:
            ahead = -self._random.randint(1, 12) * SECOND
        elif lot < 0.08 and self._bad:
            ahead, sort = 5 * MINUTE, Sort.FUTURE
        elif lot < 0.10 and self._bad:
            sort = Sort.GARBLED
        # The last digits are the reading's number.
        time = (now + ahead) // 1_000_000 * 1_000_000 + self._x
        payload = json.dumps({"time": time, "x": self._x, "v": self._random.randint(-64, 128) / 64}).encode()
        if sort is Sort.GARBLED:
            payload = self._random.choice(GARBAGE)
        copies = 2 if lot > 0.96 else 1
        for _ in range(copies):
            self.sent[self._broker.publish(topic, payload)] = Sent(stream, sort, self._x, payload)
