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
    """The bytes of the messages in all inboxes of a process. `turn` is held while `used` changes."""

    def __init__(self) -> None:
        self.used = 0
        self.turn = threading.Lock()

    def add(self, size: int) -> None:
        """Count what was put or, as a negative number, taken."""
        with self.turn:
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
        self._used = 0
        """The bytes of the items."""
        # The lock itself is taken for each message: that is several times cheaper than to enter the condition.
        self._lock = threading.Lock()
        self._room = threading.Condition(self._lock)
        self._closed = False

    def put(self, item: Item) -> bool:
        """Add an item, waiting for room. Returns False if the inbox was closed and the item was not taken."""
        size = self._size_of(item) + ITEM_BYTES
        shared = self._shared
        with self._lock:
            items = self._items
            if items and (len(items) >= self.limit or shared.used + size > self._most):
                self._await_room(size)
            if self._closed:
                return False
            self._items.append(item)  # not `items`: the reader may have taken that list meanwhile
            self._used += size
            with shared.turn:
                shared.used += size
        if not self.wake.is_set():
            self.wake.set()
        return True

    def take(self) -> list[Item]:
        """Remove and return the oldest items, as many as a reader may have at once."""
        with self._lock:
            if self._used <= self._most // BATCHES:
                items, self._items = self._items, []
                used = self._used
            else:
                count, used = self._batch()
                items, self._items = self._items[:count], self._items[count:]
            self._used -= used
            self._shared.add(-used)
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
        """Close the inbox and release a waiting thread. Its messages take no room from others any more."""
        with self._lock:
            self._closed = True
            self._shared.add(-self._used)
            self._used = 0
            self._room.notify_all()
        self.wake.set()

    def _await_room(self, size: int) -> None:
        """Wait until the message has room, or the inbox is closed."""
        self.waits += 1
        while self._is_full(size) and not self._closed:
            self._room.wait(LOOK)

    def _is_full(self, size: int) -> bool:
        if not self._items:
            return False
        return len(self._items) >= self.limit or self._shared.used + size > self._most

    def _batch(self) -> tuple[int, int]:
        """How many items fit into one batch, at least one, and their bytes."""
        used, most = 0, self._most // BATCHES
        for count, item in enumerate(self._items):
            size = self._size_of(item) + ITEM_BYTES
            if count and used + size > most:
                return count, used
            used += size
        return len(self._items), used
