"""Panes that did not change stay the same objects, so that a shell does not write them again.

>>> same = SamePanes()
>>> first, second = same({"a": bytes([1, 2])}), same({"a": bytes([1, 2])})
>>> first["a"] is second["a"]
True
"""

from __future__ import annotations


class SamePanes:
    """Remembers the panes of the last snapshot."""

    def __init__(self) -> None:
        self._last: dict[str, bytes] = {}

    def __call__(self, panes: dict[str, bytes]) -> dict[str, bytes]:
        """The panes, with the old object for each that is equal to it."""
        self._last = {
            name: old if (old := self._last.get(name)) == data else data for name, data in panes.items()
        }
        return self._last
