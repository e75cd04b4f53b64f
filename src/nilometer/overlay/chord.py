"""Chord without input or output: events go in, state changes and messages come out (algorithms, section 6.1).

    handle(sender, message)   failed(contact)   tick(now)   ->   outbox: [(receiver, message)]

The published protocol can break its ring (Zave, 2017). Three rules of hers keep it: a successor is adopted only when it
has answered; the whole list of successors is taken over with it; a predecessor is replaced by whoever notifies from
closer by, or when it has failed. The laws, as long as no list of successors dies out at once: there is one ring, it is
ordered, and every member reaches it.

>>> a, b = (Chord(Contact(place, name, name)) for place, name in ((10, "a"), (200, "b")))
>>> a.begin()
... b.join(a.me)
>>> for _ in range(6):  # hand over all messages
...     for node, other in ((a, b), (b, a)):
...         for _, message in node.take():
...             _ = other.handle(0, node.me, message)
>>> a.successors, b.successors
([Contact(id=200, name='b', address='b')], [Contact(id=10, name='a', address='a')])
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from nilometer.overlay.messages import Ask, Find, Found, Leaving, Message, Neighbours, Notify
from nilometer.overlay.ring import BITS, Contact, distance, in_arc, inside
from nilometer.types import SECOND

SUCCESSORS = 8
"""The length of the list of successors: 2 log2 N for rings of up to 16."""
Answer = Callable[[Found], None]


@dataclass(frozen=True)
class Times:
    """How often a peer attends to the ring, in microseconds."""

    stabilise: int = SECOND
    find_again: int = 4 * SECOND
    silent: int = 3 * SECOND


@dataclass
class _Finding:
    key: int
    answer: Answer
    asked: int
    via: Contact | None = None


class Chord:
    """One peer's place on the ring."""

    def __init__(
        self, me: Contact, *, successors: int = SUCCESSORS, bits: int = BITS, times: Times | None = None
    ) -> None:
        self.me = me
        self.times = times or Times()
        self.most, self.bits = successors, bits
        self.member = False
        self.successors: list[Contact] = []
        self.predecessor: Contact | None = None
        self.after = me.id
        """The keys in (after, me] are ours. It stays when the predecessor fails, until the next one notifies."""
        self.fingers: dict[int, Contact] = {}
        self.lost: dict[str, Contact] = {}
        """Peers that failed, by address: they are tried again, so that a ring that was parted grows together."""
        self.outbox: list[tuple[Contact, Message]] = []
        self._now = self._stabilised = self._heard = 0
        self._token = 0
        self._finding: dict[int, _Finding] = {}
        self._asked: dict[int, tuple[str, Contact, int]] = {}
        self._next_finger = 0

    # ---- begin and end -----------------------------------------------------------------------------------------------

    def begin(self) -> None:
        """Be the first peer of a ring."""
        self.member = True

    def settle(self, peers: list[Contact]) -> None:
        """Take the place in a ring of these peers, as if it had stabilised long ago."""
        ring = sorted({*peers, self.me})
        at = ring.index(self.me)
        around = ring[at + 1 :] + ring[:at]
        self.member = True
        self.successors = around[: self.most]
        self.predecessor = around[-1] if around else None
        self.after = self.me.id if self.predecessor is None else self.predecessor.id
        for finger in range(self.bits):
            start = (self.me.id + (1 << finger)) % (1 << self.bits)
            owner = min(ring, key=lambda peer: distance(start, peer.id, self.bits))
            if owner != self.me:
                self.fingers[finger] = owner

    def join(self, via: Contact) -> None:
        """Join the ring of another peer."""
        self._find(self.me.id, self._adopt_first, via)

    def leave(self) -> None:
        """Tell the neighbours that we go."""
        for neighbour in {self.predecessor, *self.successors[:1]} - {None, self.me}:
            if neighbour is not None:
                self._send(neighbour, Leaving(self.predecessor, tuple(self.successors)))
        self.member = False

    # ---- questions ---------------------------------------------------------------------------------------------------

    @property
    def view(self) -> list[Contact]:
        """All peers we know as alive: distinct fingers, successors, predecessor (section 4.1; algorithms 6.3)."""
        known = [*self.successors, *self.fingers.values()]
        known += [] if self.predecessor is None else [self.predecessor]
        return sorted({peer for peer in known if peer != self.me})

    def owns(self, key: int) -> bool:
        """Whether the key is in our arc."""
        return self.member and in_arc(key, self.after, self.me.id)

    def find(self, key: int, answer: Answer) -> None:
        """Find the owner of a key; `answer` is called with it, now or later."""
        self._find(key, answer, None)

    def next_hop(self, key: int) -> tuple[Contact, bool] | None:
        """Where a question about the key goes next, and whether that should be its owner; None if we are it."""
        if self.owns(key) or not self.successors:
            return None
        if in_arc(key, self.me.id, self.successors[0].id):
            return self.successors[0], True
        closest = self.successors[0]
        for peer in (*self.successors, *self.fingers.values()):
            if inside(peer.id, closest.id, key):
                closest = peer
        return closest, False

    def take(self) -> list[tuple[Contact, Message]]:
        """The messages to be sent."""
        taken, self.outbox = self.outbox, []
        return taken

    # ---- events ------------------------------------------------------------------------------------------------------

    def handle(self, now: int, sender: Contact, message: Message) -> bool:
        """A message has come. Returns whether it was about the ring."""
        self._now = max(now, self._now)
        if self.predecessor == sender:
            self._heard = self._now
        match message:
            case Find():
                self._route(message)
            case Found():
                finding = self._finding.pop(message.token, None)
                if finding is not None:
                    finding.answer(message)
            case Ask() if self.member:
                self._send(sender, Neighbours(message.token, self.predecessor, tuple(self.successors)))
            case Ask():
                pass
            case Neighbours():
                purpose, asked, _ = self._asked.pop(message.token, ("", sender, 0))
                if asked == sender:
                    self._learn(purpose, sender, message)
            case Notify():
                self._notified(sender)
            case Leaving():
                self._closed(sender, message)
            case _:
                return False
        return True

    def tick(self, now: int) -> None:
        """Time has passed: stabilise, look after the predecessor, one finger, and one that was lost."""
        self._now = max(now, self._now)
        for token, finding in list(self._finding.items()):
            if self._now - finding.asked >= self.times.find_again:
                del self._finding[token]
                self._find(finding.key, finding.answer, finding.via)
        if not self.member or self._now - self._stabilised < self.times.stabilise:
            return
        self._stabilised = self._now
        if self.successors:
            self._ask("stabilise", self.successors[0])
            self._fix_finger()
        if self.predecessor is not None and self._now - self._heard >= self.times.silent:
            self._ask("alive", self.predecessor)
        if self.lost:
            address, peer = next(iter(self.lost.items()))
            self.lost[address] = self.lost.pop(address)  # the next one next time
            self._ask("lost", peer)

    def failed(self, peer: Contact) -> None:
        """A peer does not answer."""
        self._asked = {token: asked for token, asked in self._asked.items() if asked[1] != peer}
        if not self.member:
            return
        self.lost.setdefault(peer.address, peer)
        self._forget(peer)

    def _forget(self, peer: Contact) -> None:
        stabilise = self.successors[:1] == [peer]
        self.successors = [one for one in self.successors if one != peer]
        self.fingers = {place: one for place, one in self.fingers.items() if one != peer}
        if self.predecessor == peer:
            self.predecessor = None
            if not self.successors:
                self.after = self.me.id  # alone: all keys are ours
        if stabilise and not self.successors and self.predecessor is not None:
            self.successors = [self.predecessor]
        if stabilise and self.successors:
            self._ask("stabilise", self.successors[0])

    # ---- the protocol ------------------------------------------------------------------------------------------------

    def _route(self, find: Find) -> None:
        if not self.member or find.hops > 2 * self.bits:
            return  # the ring is mending itself; the origin asks again
        following = self.next_hop(find.key)
        if find.last and following is not None:
            # Our predecessor is closer to the key, and the one who sent us the question does not know it yet.
            following = None if self.predecessor is None else (self.predecessor, True)
        if following is not None:
            receiver, last = following
            self._send(receiver, Find(find.key, find.origin, find.token, find.hops + 1, last))
        else:
            after = self.after if self.owns(find.key) else (find.key - 1) % (1 << self.bits)
            self._send(find.origin, Found(find.key, find.token, self.me, after, find.hops))

    def _find(self, key: int, answer: Answer, via: Contact | None) -> None:
        self._token += 1
        self._finding[self._token] = _Finding(key, answer, self._now, via)
        find = Find(key, self.me, self._token)
        if via is not None:
            self._send(via, Find(key, self.me, self._token, 1))
        else:
            self._route(find)

    def _ask(self, purpose: str, peer: Contact) -> None:
        # One that is not yet a member does not answer: it is asked again after a while.
        self._asked = {
            token: asked
            for token, asked in self._asked.items()
            if self._now - asked[2] < self.times.find_again
        }
        if peer == self.me or any(asked[:2] == (purpose, peer) for asked in self._asked.values()):
            return
        self._token += 1
        self._asked[self._token] = (purpose, peer, self._now)
        self._send(peer, Ask(self._token))

    def _learn(self, purpose: str, peer: Contact, said: Neighbours) -> None:
        self.lost.pop(peer.address, None)
        match purpose:
            case "join":
                self.member = True
                self.predecessor = said.predecessor if said.predecessor != self.me else None
                if self.predecessor is None or not inside(self.me.id, self.predecessor.id, peer.id):
                    self.predecessor = peer if not said.successors else None
                self.after = self.me.id if self.predecessor is None else self.predecessor.id
                if self.predecessor is None:
                    self.after = (self.me.id - 1) % (1 << self.bits)
                self._heard = self._now
                self._adopt(peer, said)
            case "stabilise" if self.successors[:1] == [peer]:
                self._adopt(peer, said)
                candidate = said.predecessor
                if candidate is not None and inside(candidate.id, self.me.id, peer.id):
                    self._ask("candidate", candidate)
            case "candidate" if self.member:
                if not self.successors or inside(peer.id, self.me.id, self.successors[0].id):
                    self._adopt(peer, said)
            case "lost":
                # It lives: our place may be between members of its ring (a ring that was parted grows together).
                self._find(self.me.id + 1, self._met, peer)

    def _adopt(self, peer: Contact, said: Neighbours) -> None:
        found = [peer]
        for one in said.successors:
            if one == self.me:
                break
            if one not in found and one.address not in self.lost:
                found.append(one)
        self.successors = found[: self.most]
        self._send(peer, Notify())

    def _adopt_first(self, found: Found) -> None:
        if not self.member and found.owner != self.me:
            self._ask("join", found.owner)

    def _met(self, found: Found) -> None:
        first = self.successors[0] if self.successors else None
        if found.owner != self.me and (first is None or inside(found.owner.id, self.me.id, first.id)):
            self._ask("candidate", found.owner)

    def _notified(self, sender: Contact) -> None:
        if not self.member or sender == self.me:
            return
        self.lost.pop(sender.address, None)
        if self.predecessor is None or inside(sender.id, self.predecessor.id, self.me.id):
            self.predecessor, self.after, self._heard = sender, sender.id, self._now
        if not self.successors:
            self._ask("candidate", sender)

    def _closed(self, sender: Contact, said: Leaving) -> None:
        """A neighbour goes. Its successors become ours once they answer; its predecessor becomes ours."""
        was_predecessor = self.predecessor == sender
        if sender in self.successors:
            for one in said.successors:
                if one not in self.successors and one != self.me:
                    self.successors.append(one)
        self._forget(sender)
        self.successors = self.successors[: self.most]
        if was_predecessor and said.predecessor is not None and said.predecessor != self.me:
            self.predecessor, self.after, self._heard = said.predecessor, said.predecessor.id, self._now

    def _fix_finger(self) -> None:
        """Look one finger up again. Fingers before the successor are the successor."""
        place = self._next_finger
        self._next_finger = (place + 1) % self.bits
        while place < self.bits - 1 and distance(self.me.id, self.successors[0].id, self.bits) >= 1 << place:
            self.fingers.pop(place, None)
            place += 1
        self._next_finger = (place + 1) % self.bits

        def answer(found: Found) -> None:
            if found.owner != self.me:
                self.fingers[place] = found.owner
            else:
                self.fingers.pop(place, None)

        self._find((self.me.id + (1 << place)) % (1 << self.bits), answer, None)

    def _send(self, receiver: Contact, message: Message) -> None:
        if receiver == self.me:
            self.handle(self._now, self.me, message)
        else:
            self.outbox.append((receiver, message))
