"""Reads the payload of a status topic: what a sensor says about itself.

Plain words are enough. JSON may say more: `{"state": "online", "time": 1767225600000000, "listening":
"2026-01-01T00:00:00.05Z", "command": 3}`, with times as microseconds or ISO-8601, and `"sensors": ["7", "8"]`
where one connection, and so one last will, speaks for several sensors.

>>> (
...     read_status(b"Online").online,
...     read_status(b'{"status": "offline", "since": 5}').online,
...     read_status(b"perhaps"),
... )
(True, False, None)
>>> said = read_status(b'{"state": "online", "time": 5, "command": 3, "sensors": [7, 8]}')
>>> said.time, said.listening, said.command, said.sensors
(5, None, 3, ('7', '8'))
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from nilometer.types import parse_time

_HERE = {"online", "on", "up", "connected", "alive", "true", "1", "birth"}
_GONE = {"offline", "off", "down", "disconnected", "dead", "false", "0", "death"}
_KEYS = ("status", "state", "online")
_LATEST = 2**62


@dataclass(frozen=True, slots=True)
class Said:
    """A status. `Presence` explains the fields. `sensors` None means the sensor whose topic it is."""

    online: bool
    time: int | None = None
    listening: int | None = None
    command: int | None = None
    sensors: tuple[str, ...] | None = None
    battery: float | None = None

    def as_json(self) -> bytes:
        """The payload for a status topic."""
        fields: dict[str, Any] = {"state": "online" if self.online else "offline"}
        fields |= {"time": self.time, "listening": self.listening, "command": self.command}
        fields |= {"battery": self.battery}
        fields |= {"sensors": None if self.sensors is None else list(self.sensors)}
        return json.dumps({name: value for name, value in fields.items() if value is not None}).encode()


def read_status(payload: bytes) -> Said | None:
    """The status in a payload; None if it says neither online nor offline."""
    text = payload.decode(errors="replace").strip()
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        value = text
    fields: dict[str, Any] = value if isinstance(value, dict) else {}
    if fields:
        value = next((fields[key] for key in _KEYS if key in fields), None)
    word = str(value).strip().lower()
    if word not in _HERE and word not in _GONE:
        return None
    sensors, command = fields.get("sensors"), fields.get("command")
    return Said(
        word in _HERE,
        _time(fields.get("time")),
        _time(fields.get("listening")),
        command if isinstance(command, int) and not isinstance(command, bool) else None,
        tuple(map(str, sensors)) if isinstance(sensors, list) else None,
        _share(fields.get("battery")),
    )


def _share(value: object) -> float | None:
    """A share from 0 to 1; a number up to 100 is a percentage. None for anything else."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 100:
        return None
    return float(value) if value <= 1 else value / 100


def _time(value: object) -> int | None:
    """A time in microseconds or ISO-8601; None for anything else."""
    if isinstance(value, str):
        try:
            return parse_time(value)
        except (ValueError, OverflowError):
            return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) < _LATEST:
        return None
    return round(value)
