"""Messages from a network thread -> batches for whoever reads: a bounded list, and an event.

The law: nothing put is lost; when it is full, the network thread waits, and so, through TCP, does the sender.
"""

from __future__ import annotations

import threading
from typing import Generic, TypeVar

from nilometer.ingest.adapters.wake import Wake

Item = TypeVar("Item")


class Inbox(Generic[Item]):
    """A bounded list between one network thread and one reader."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.wake = Wake()
        self._items: list[Item] = []
        self._room = threading.Condition()
        self._closed = False

    def put(self, item: Item) -> bool:
        """Add an item, waiting for room; False if the inbox was closed: the item was not taken."""
        with self._room:
            while len(self._items) >= self.limit and not self._closed:
                self._room.wait()
            if self._closed:
                return False
            self._items.append(item)
        if not self.wake.is_set():
            self.wake.set()
        return True

    def take(self) -> list[Item]:
        """All items so far."""
        with self._room:
            self.wake.clear()
            items, self._items = self._items, []
            self._room.notify_all()
        return items

    def __len__(self) -> int:
        return len(self._items)

    @property
    def full(self) -> bool:
        """Whether the next `put` would wait."""
        return len(self._items) >= self.limit

    def close(self) -> None:
        """Let a waiting thread go."""
        with self._room:
            self._closed = True
            self._room.notify_all()
        self.wake.set()
