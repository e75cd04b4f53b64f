"""Chord keeps one ordered ring under random schedules of joins, leaves, crashes and messages (Zave's invariant), and
finds keys in as many messages as the literature says."""

from __future__ import annotations

from random import Random

import pytest

from nilometer.overlay.chord import Chord, Times
from nilometer.overlay.messages import Message
from nilometer.overlay.ring import Contact, distance

TIMES = Times(stabilise=1, find_again=40, silent=3)
SUCCESSORS = 3


class Schedule:
    """Peers whose messages are delivered in random order, and which come and go at random moments."""

    def __init__(self, seed: int, *, joins: int = 6, bits: int = 16) -> None:
        self.random = Random(seed)
        self.bits, self.joins, self.now = bits, joins, 0
        places = self.random.sample(range(1 << bits), SUCCESSORS + 1 + joins)
        self.contacts = [Contact(place, f"p{place}", f"a{place}") for place in places]
        self.nodes: dict[Contact, Chord] = {}
        self.air: list[tuple[Contact, Contact, Message]] = []
        base, self.later = self.contacts[: SUCCESSORS + 1], self.contacts[SUCCESSORS + 1 :]
        for me in base:
            self.nodes[me] = Chord(me, successors=SUCCESSORS, bits=bits, times=TIMES)
            self.nodes[me].settle(base)

    def step(self) -> None:
        choice = self.random.random()
        if choice < 0.05:
            self._come_or_go()
        elif choice < 0.35 or not self.air:
            self.now += 1
            self.random.choice(list(self.nodes.values())).tick(self.now)
        else:
            sender, receiver, message = self.air.pop(self.random.randrange(len(self.air)))
            if receiver in self.nodes:
                self.nodes[receiver].handle(self.now, sender, message)
            elif sender in self.nodes:
                self.nodes[sender].failed(receiver)
        for me, node in self.nodes.items():
            self.air += [(me, receiver, message) for receiver, message in node.take()]

    def _come_or_go(self) -> None:
        members = [me for me, node in self.nodes.items() if node.member]
        if self.later and self.random.random() < 0.6:
            me = self.later.pop()
            self.nodes[me] = Chord(me, successors=SUCCESSORS, bits=self.bits, times=TIMES)
            self.nodes[me].join(self.random.choice(members))
            return
        goes = self.random.choice(members)
        left = set(members) - {goes}
        # The assumption of the protocol: no list of successors dies out at once, and the ring stays larger than one.
        if len(left) <= SUCCESSORS or any(not left & set(self.nodes[me].successors) for me in left):
            return
        node = self.nodes.pop(goes)
        if self.random.random() < 0.5:
            node.leave()
            self.air += [(goes, receiver, message) for receiver, message in node.take()]

    def check(self) -> None:
        """One ring, ordered, and every member reaches it."""
        members = {me for me, node in self.nodes.items() if node.member}
        best = {me: next((one for one in self.nodes[me].successors if one in members), me) for me in members}
        on_ring = {me for me in members if me in _orbit(best, best[me])}
        assert on_ring, "no ring"
        first = min(on_ring)
        ring = [first]
        while best[ring[-1]] != first:
            ring.append(best[ring[-1]])
        assert set(ring) == on_ring, "more than one ring"
        assert ring == sorted(ring), "a ring that is not ordered"

    def settle(self) -> None:
        """Deliver everything and let all stabilise, until nothing changes any more."""
        for _ in range(12 * self.bits):
            self.now += 1
            for node in list(self.nodes.values()):
                node.tick(self.now)
                self.air += [(node.me, receiver, message) for receiver, message in node.take()]
            while self.air:
                sender, receiver, message = self.air.pop(0)
                if receiver in self.nodes:
                    node = self.nodes[receiver]
                    node.handle(self.now, sender, message)
                elif sender in self.nodes:
                    node = self.nodes[sender]
                    node.failed(receiver)
                else:
                    continue
                self.air += [(node.me, receiver, message) for receiver, message in node.take()]


def _orbit(best: dict[Contact, Contact], start: Contact) -> set[Contact]:
    seen: set[Contact] = set()
    while start not in seen:
        seen.add(start)
        start = best[start]
    return seen


def run(seed: int, steps: int = 400) -> Schedule:
    schedule = Schedule(seed)
    for _ in range(steps):
        schedule.step()
        schedule.check()
    return schedule


def test_one_ordered_ring_after_every_event() -> None:
    for seed in range(150):
        run(seed)


@pytest.mark.long
def test_one_ordered_ring_after_every_event_of_10000_schedules() -> None:
    for seed in range(10_000):
        run(seed)


def test_the_ring_becomes_ideal_when_nobody_comes_or_goes() -> None:
    for seed in range(5):
        schedule = run(seed, 150)
        schedule.settle()
        members = sorted(me for me, node in schedule.nodes.items() if node.member)
        assert members == sorted(schedule.nodes)
        for at, me in enumerate(members):
            node, ideal = schedule.nodes[me], Chord(me, successors=SUCCESSORS, bits=schedule.bits)
            ideal.settle(members)
            assert node.successors == ideal.successors
            assert node.predecessor == members[at - 1]
            assert node.after == members[at - 1].id
            assert {**ideal.fingers, **node.fingers} == ideal.fingers


def hops(chords: dict[Contact, Chord], start: Contact, key: int) -> tuple[Contact, int]:
    """Deliver a question about a key; returns its owner and the messages that it took."""
    answers: list[tuple[Contact, int]] = []
    chords[start].find(key, lambda found: answers.append((found.owner, found.hops)))
    at = start
    while not answers:
        [(receiver, message)] = chords[at].take()
        chords[receiver].handle(0, at, message)
        at = receiver
    return answers[0]


@pytest.mark.parametrize(
    ("full", "successors", "mean", "most"), [(True, 1, 6.0, 10), (False, 1, 5.9, 11), (True, 8, 5.4, 10)]
)
def test_messages_to_a_put_of_1024_peers(full: bool, successors: int, mean: float, most: int) -> None:
    """Half of log2 N to the predecessor, and one to the owner. A list of successors saves some of the last hops."""
    random = Random(3)
    bits = 10 if full else 32
    places = range(1024) if full else random.sample(range(1 << bits), 1024)
    peers = sorted(Contact(place, "", str(place)) for place in places)
    chords = {me: settled(me, peers, bits, successors) for me in peers}
    counts = []
    for _ in range(1500):
        key, start = random.randrange(1 << bits), random.choice(peers)
        owner, count = hops(chords, start, key)
        assert owner == min(peers, key=lambda peer: distance(key, peer.id, bits))
        counts.append(count)
    # A key that its asker owns costs none: one in 1,024.
    assert sum(counts) / len(counts) == pytest.approx(mean, abs=0.15)
    assert max(counts) <= most


def settled(me: Contact, peers: list[Contact], bits: int, successors: int) -> Chord:
    """`Chord.settle`, whose search for each finger is linear, made quick for many peers."""
    from bisect import bisect_left

    chord = Chord(me, bits=bits)
    at = peers.index(me)
    around = peers[at + 1 :] + peers[:at]
    chord.member, chord.successors, chord.predecessor = True, around[:successors], around[-1]
    chord.after = around[-1].id
    ids = [peer.id for peer in peers]
    for finger in range(bits):
        owner = peers[bisect_left(ids, (me.id + (1 << finger)) % (1 << bits)) % len(peers)]
        if owner != me:
            chord.fingers[finger] = owner
    return chord
