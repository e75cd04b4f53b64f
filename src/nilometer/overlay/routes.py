"""Which peer owns which keys, as far as one peer has learnt it: rows are sent straight to the owner of their key.

An owner is asked for once (`Chord.find`), and its arc kept until a peer of it fails or says that it does not own a key.
The law: every row given to `put` is given to `send` once, with the owner of its key as it was known then.
"""

from __future__ import annotations

from collections.abc import Callable

import polars as pl

from nilometer.overlay.chord import Chord
from nilometer.overlay.messages import Found
from nilometer.overlay.names import KEY
from nilometer.overlay.ring import Contact, in_arc, in_arcs

Send = Callable[[Contact, str, pl.DataFrame, bool], None]


class Routes:
    """The arcs that one peer knows."""

    def __init__(self, chord: Chord, send: Send) -> None:
        self._chord, self._send = chord, send
        self._arcs: list[tuple[int, Contact]] = []
        self._waiting: list[tuple[str, pl.DataFrame, bool]] = []
        self._asking: set[int] = set()

    @property
    def waiting(self) -> int:
        """How many rows wait until the owner of their key is known."""
        return sum(rows.height for _, rows, _ in self._waiting)

    def unsent(self) -> list[tuple[str, pl.DataFrame]]:
        """The rows that wait, by index."""
        return [(index, rows) for index, rows, _ in self._waiting]

    def put(self, index: str, rows: pl.DataFrame, *, again: bool = False) -> None:
        """Send rows to the owners of their keys; `again` goes with them."""
        chord = self._chord
        arcs = [(chord.after, chord.me)] if chord.member else []
        for after, owner in arcs + self._arcs:
            if not rows.height:
                return
            mine = in_arcs(rows.get_column(KEY).to_numpy(), after, owner.id)
            if mine.any():
                self._send(owner, index, rows.filter(mine), again)
                rows = rows.filter(~mine)
        if rows.height:
            self._waiting.append((index, rows, again))
            self._ask(int(rows.get_column(KEY)[0]))

    def forget(self, peer: Contact) -> None:
        """The peer has failed."""
        self._arcs = [arc for arc in self._arcs if arc[1] != peer]

    def moved(self, key: int) -> None:
        """The key has another owner now."""
        self._arcs = [arc for arc in self._arcs if not in_arc(key, arc[0], arc[1].id)]

    def _ask(self, key: int) -> None:
        if not any(self._asking):
            self._asking.add(key)
            self._chord.find(key, lambda found: self._found(key, found))

    def _found(self, key: int, found: Found) -> None:
        self._asking.discard(key)
        if found.owner != self._chord.me:
            # Older arcs of the owner, or of this key, are no longer true.
            self.forget(found.owner)
            self.moved(key)
            self._arcs.append((found.after, found.owner))
        waiting, self._waiting = self._waiting, []
        for index, rows, again in waiting:
            self.put(index, rows, again=again)
