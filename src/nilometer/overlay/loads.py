"""What peers say of themselves with their heartbeats: their arc of the ring, and their books, passed on from peer to peer.

The law: an entry is only replaced by a later one of the same peer (`beat`, its clock), so that entries may come in any
order. A peer that says nothing for `FORGOTTEN` microseconds is left out.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from nilometer.types import MINUTE

FORGOTTEN = 5 * MINUTE
MOST = 64
"""A heartbeat has the entries of so many peers, those that were heard of last: in a large ring nobody knows all."""


@dataclass(frozen=True)
class Load:
    """A peer: its place, the arc (after, id] that it owns, and its books."""

    beat: int
    id: int
    name: str
    after: int
    counts: dict[str, int]


@dataclass
class Loads:
    """The entries of all peers by address, as one peer has heard of them."""

    known: dict[str, Load] = field(default_factory=dict)
    heard: dict[str, int] = field(default_factory=dict)
    """When the entry came, by our clock."""

    def hear(self, now: int, address: str, said: Load) -> None:
        """Take an entry, if it is later than the one that is known."""
        known = self.known.get(address)
        if known is None or said.beat > known.beat:
            self.known[address], self.heard[address] = said, now

    def forget(self, now: int) -> None:
        """Leave out those who have been silent for long."""
        for address in [one for one, moment in self.heard.items() if now - moment > FORGOTTEN]:
            del self.known[address], self.heard[address]

    def as_fields(self) -> dict[str, Any]:
        """For the wire."""
        last = sorted(self.known, key=lambda one: -self.heard[one])[:MOST]
        return {
            address: [one.beat, one.id, one.name, one.after, one.counts]
            for address in last
            for one in [self.known[address]]
        }
