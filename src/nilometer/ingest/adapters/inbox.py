"""A bounded list between a network thread that puts messages and a reader that takes them in batches, with an
event.

The bound is a number of messages, and the bytes that the process has for the messages of all its inboxes together
(memory.py). The law: nothing put is lost. When there is no room, the network thread waits, and so, through TCP, does
the sender; `waits` counts it. An empty inbox takes a message of any size, so no source starves another.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Generic, TypeVar

from nilometer.ingest.adapters.wake import Wake
from nilometer.memory import budget

Item = TypeVar("Item")

ITEM_BYTES = 300
"""About how much memory a message takes besides its payload."""
BATCHES = 8
"""A reader takes at most this part of the bytes at once: decoding takes several times the memory of a message."""
LOOK = 0.02
"""Seconds between two looks for room that another inbox may have made."""


class Room:
    """The bytes of the messages in all inboxes of a process."""

    def __init__(self) -> None:
        self.used = 0
        self._turn = threading.Lock()

    def add(self, size: int) -> None:
        """Count what was put or, as a negative number, taken."""
        with self._turn:
            self.used += size


ROOM = Room()


class Inbox(Generic[Item]):
    """A bounded list between one network thread and one reader. `size_of` gives the bytes of a message's payload."""

    def __init__(self, limit: int, size_of: Callable[[Item], int], room: Room = ROOM) -> None:
        self.limit = limit
        self.wake = Wake()
        self.waits = 0
        """How often a message had to wait for room."""
        self._most = budget().inbox
        self._size_of = size_of
        self._shared = room
        self._items: list[Item] = []
        self._sizes: list[int] = []
        self._room = threading.Condition()
        self._closed = False

    def put(self, item: Item) -> bool:
        """Add an item, waiting for room. Returns False if the inbox was closed and the item was not taken."""
        size = self._size_of(item) + ITEM_BYTES
        with self._room:
            if self._is_full(size):
                self.waits += 1
                while self._is_full(size) and not self._closed:
                    self._room.wait(LOOK)
            if self._closed:
                return False
            self._items.append(item)
            self._sizes.append(size)
            self._shared.add(size)
        if not self.wake.is_set():
            self.wake.set()
        return True

    def take(self) -> list[Item]:
        """Remove and return the oldest items, as many as a reader may have at once."""
        with self._room:
            count = self._count()
            items, self._items = self._items[:count], self._items[count:]
            sizes, self._sizes = self._sizes[:count], self._sizes[count:]
            self._shared.add(-sum(sizes))
            if not self._items:
                self.wake.clear()
            self._room.notify_all()
        return items

    def __len__(self) -> int:
        return len(self._items)

    @property
    def full(self) -> bool:
        """Whether the next `put` would wait."""
        return self._is_full(ITEM_BYTES)

    def close(self) -> None:
        """Close the inbox and release a waiting thread."""
        with self._room:
            self._closed = True
            self._shared.add(-sum(self._sizes))
            self._sizes = [0] * len(self._sizes)
            self._room.notify_all()
        self.wake.set()

    def _is_full(self, size: int) -> bool:
        if not self._items:
            return False
        return len(self._items) >= self.limit or self._shared.used + size > self._most

    def _count(self) -> int:
        """How many items fit into one batch: at least one."""
        left = self._most // BATCHES
        for count, size in enumerate(self._sizes):
            left -= size
            if left < 0:
                return max(count, 1)
        return len(self._items)
