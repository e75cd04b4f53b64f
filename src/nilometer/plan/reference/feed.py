"""The content of a stream's log: readings and heartbeats, in log order.

>>> feed = Feed(({"time": 0, "id": 1, "depth": 7}, 5_000_000))
>>> [type(item).__name__ for item in feed.items]
['dict', 'int']
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

Reading = Mapping[str, Any]
"""A tuple of the stream: bare column names to values, `time` (microseconds) and `id` among them."""

Heartbeat = int
"""A promise, in microseconds: no tuple with an earlier tick follows."""


@dataclass(frozen=True)
class Feed:
    """The log of one stream from the query's start on. A reading's position is its index in `items`."""

    items: tuple[Reading | Heartbeat, ...] = ()
