"""The payload of a status topic -> whether the sensor is there.

>>> read_presence(b"Online"), read_presence(b'{"status": "offline", "since": 5}'), read_presence(b"perhaps")
(True, False, None)
"""

from __future__ import annotations

import json

_HERE = {"online", "on", "up", "connected", "alive", "true", "1", "birth"}
_GONE = {"offline", "off", "down", "disconnected", "dead", "false", "0", "death"}
_KEYS = ("status", "state", "online")


def read_presence(payload: bytes) -> bool | None:
    """True for online, False for offline, None for neither."""
    text = payload.decode(errors="replace").strip()
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        value = text
    if isinstance(value, dict):
        value = next((value[key] for key in _KEYS if key in value), None)
    word = str(value).strip().lower()
    return True if word in _HERE else False if word in _GONE else None
