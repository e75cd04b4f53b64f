"""Tells all peers: a tree over the ranges of the fingers, repaired where a child is dead, and gossip (DHTJoin, 3.1, 4.1).

    root: limit = root;   peer: to each distinct finger f_i in (me, limit), with the limit f_(i+1), for the last the limit

So n - 1 messages reach n peers, at most ceil(log2 n) deep in a full ring. Where a child is dead, its range goes to the
next live peer after it. Besides, whoever knows a notice passes it on to one peer of its view in every period, until it
has tried all of them: fingers, successors and predecessor, since fingers alone do not reach everybody (algorithms 6.3).
One that was not reached is tried again once it is in the view again, as after a partition.

The law: a notice has an `id`, and a peer acts on it once. It is kept until its time `until`, so that one that comes
late, such as a query that was dropped, is known.

>>> [(one.id, limit) for one, limit in ranges([Contact(n, "", str(n)) for n in (1, 2, 4)], 0, 0)]
[(1, 2), (2, 4), (4, 0)]
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any
from zlib import crc32

from nilometer.overlay.chord import Chord
from nilometer.overlay.messages import Found, Gossip, Message, Notice, Notices, Pull
from nilometer.overlay.ring import Contact, distance, inside
from nilometer.types import SECOND

PERIOD = SECOND


def ranges(fingers: Iterable[Contact], me: int, limit: int) -> list[tuple[Contact, int]]:
    """The distinct fingers in (me, limit), in the order of the ring, each with its own limit."""
    within = sorted(
        {one for one in fingers if inside(one.id, me, limit)}, key=lambda one: distance(me, one.id)
    )
    return [(one, within[at + 1].id if at + 1 < len(within) else limit) for at, one in enumerate(within)]


@dataclass
class _Known:
    notice: dict[str, Any]
    tried: set[int] = field(default_factory=set)
    tells: bool = True


class Dissemination:
    """The notices that one peer knows. `news` are those it has not acted on yet."""

    def __init__(self, chord: Chord, *, tree: bool = True, repair: bool = True, gossip: bool = True) -> None:
        self._chord = chord
        self._tree, self._repair, self._gossip = tree, repair, gossip
        self.known: dict[str, _Known] = {}
        self.news: list[dict[str, Any]] = []
        self.outbox: list[tuple[Contact, Message]] = []
        self.pulled = False
        """Whether the notices of the ring are known, so that rows can be taken."""
        self._told = 0
        self._view: set[int] = set()

    def publish(self, notice: dict[str, Any]) -> None:
        """Tell all peers, this one first."""
        if self._learn(notice, ()):
            self._spread(notice, self._chord.me.id, 0)

    def handle(self, sender: Contact, message: Message) -> bool:
        """A message has come. Returns whether it was about notices."""
        match message:
            case Notice():
                if self._learn(message.notice, (sender.id,)):
                    self._spread(message.notice, message.limit, message.depth)
            case Gossip():
                self._learn(message.notice, (sender.id, *message.tried))
                known = self.known[message.notice["id"]]
                known.tried |= {sender.id}
            case Pull():
                self.outbox.append((sender, Notices(tuple(one.notice for one in self.known.values()))))
            case Notices():
                self.pulled = True
                for notice in message.notices:
                    self._learn(notice, ())
            case _:
                return False
        return True

    def tick(self, now: int) -> None:
        """Gossip each notice to one more peer of the view, and forget those whose time is over."""
        for name in [name for name, one in self.known.items() if now > one.notice.get("until", now)]:
            del self.known[name]
        if not self._gossip or now - self._told < PERIOD:
            return
        self._told = now
        view = self._chord.view
        grown = not self._view.issuperset(peer.id for peer in view)
        self._view = {peer.id for peer in view}
        for known in self.known.values():
            if not (known.tells or grown):
                continue
            left = [peer for peer in view if peer.id not in known.tried]
            known.tells = bool(left or not view)
            if left:
                # A different one for each peer and notice, the same in every run of a simulation.
                peer = left[(crc32(known.notice["id"].encode()) ^ self._chord.me.id) % len(left)]
                known.tried.add(peer.id)
                self.outbox.append((peer, Gossip(known.notice, tuple(sorted(known.tried)))))

    def undelivered(self, peer: Contact, message: Message) -> None:
        """A child is dead: its range goes to the next live peer after it."""
        if isinstance(message, Notice) and self._repair:

            def give(found: Found) -> None:
                if found.owner != self._chord.me and inside(found.owner.id, peer.id, message.limit):
                    self.outbox.append((found.owner, message))

            self._chord.find((peer.id + 1) % (1 << self._chord.bits), give)

    def failed(self, peer: Contact) -> None:
        """A peer is not reached: it has to be told again, all that it may have missed, once it is."""
        for known in self.known.values():
            known.tried.discard(peer.id)

    def take(self) -> list[tuple[Contact, Message]]:
        """The messages to be sent."""
        taken, self.outbox = self.outbox, []
        return taken

    def _learn(self, notice: dict[str, Any], tried: tuple[int, ...]) -> bool:
        if notice["id"] in self.known:
            return False
        self.known[notice["id"]] = _Known(notice, {*tried, self._chord.me.id})
        self.news.append(notice)
        return True

    def _spread(self, notice: dict[str, Any], limit: int, depth: int) -> None:
        if not self._tree:
            return
        fingers = [*self._chord.successors[:1], *self._chord.fingers.values()]
        for peer, upto in ranges(fingers, self._chord.me.id, limit):
            self.known[notice["id"]].tried.add(peer.id)
            self.outbox.append((peer, Notice(notice, upto, depth + 1)))
