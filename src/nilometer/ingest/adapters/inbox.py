"""A bounded list between a network thread that puts messages and a reader that takes them in batches, with an
event.

The law: nothing put is lost. When the inbox is full, the network thread waits, and so, through TCP, does the
sender.
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
        """Add an item, waiting for room. Returns False if the inbox was closed and the item was not taken."""
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
        """Remove and return all items."""
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
        """Close the inbox and release a waiting thread."""
        with self._room:
            self._closed = True
            self._room.notify_all()
        self.wake.set()
