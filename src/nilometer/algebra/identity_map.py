"""A mapping by the identity of its keys, for values that are equal more often than they are the same, or cannot be
hashed. It holds its keys, so that no other object gets the identity of one.

>>> found = IdentityMap()
>>> one, other = [1], [1]
>>> found[one] = "one"
>>> found.get(one), found.get(other), one in found
('one', None, True)
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Generic, TypeVar

Key = TypeVar("Key")
Value = TypeVar("Value")


class IdentityMap(Generic[Key, Value]):
    """Values by object, in the order in which they came."""

    def __init__(self) -> None:
        self._entries: dict[int, tuple[Key, Value]] = {}

    def __len__(self) -> int:
        return len(self._entries)

    def __contains__(self, key: object) -> bool:
        return id(key) in self._entries

    def __getitem__(self, key: Key) -> Value:
        return self._entries[id(key)][1]

    def __setitem__(self, key: Key, value: Value) -> None:
        self._entries[id(key)] = key, value

    def get(self, key: Key) -> Value | None:
        """The value of an object, or None."""
        entry = self._entries.get(id(key))
        return None if entry is None else entry[1]

    def values(self) -> Iterator[Value]:
        """All values."""
        return (value for _, value in self._entries.values())

    def clear(self) -> None:
        """Forget all."""
        self._entries.clear()
