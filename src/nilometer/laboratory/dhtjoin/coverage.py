"""How many live peers hear of a query when some are dead: the tree alone, with repair, with gossip (Fig. 6)."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from random import Random

from nilometer.laboratory.dhtjoin.rings import Ring
from nilometer.overlay.chord import Chord
from nilometer.overlay.dissemination import PERIOD, Dissemination
from nilometer.overlay.messages import Find, Message
from nilometer.overlay.ring import Contact


@dataclass(frozen=True)
class Coverage:
    """The share of the live peers that know, the messages that it took, and the rounds of gossip."""

    share: float
    messages: int
    rounds: int


def disseminate(
    peers: int, dead_share: float, seed: int, *, repair: bool = False, gossip: bool = False
) -> Coverage:
    """Tell all peers of a ring, some of which have just died."""
    random = Random(seed)
    chords = Ring.random(peers, seed).chords()
    contacts = list(chords)
    root = random.choice(contacts)
    dead = set(random.sample([one for one in contacts if one != root], int(dead_share * len(contacts))))
    live = {me: Dissemination(chords[me], repair=repair, gossip=gossip) for me in contacts if me not in dead}
    air: deque[tuple[Contact, Contact, Message]] = deque()
    messages = rounds = 0

    def collect(me: Contact) -> None:
        air.extend((me, to, message) for to, message in [*live[me].take(), *chords[me].take()])

    def deliver() -> None:
        nonlocal messages
        while air:
            sender, receiver, message = air.popleft()
            messages += 1
            if receiver not in live:
                _undelivered(chords[sender], live[sender], receiver, message)
                collect(sender)
                continue
            if not chords[receiver].handle(0, sender, message):
                live[receiver].handle(sender, message)
            collect(receiver)

    live[root].publish({"id": "q", "kind": "query"})
    collect(root)
    deliver()
    while gossip:
        rounds += 1
        for me in live:
            live[me].tick(rounds * PERIOD)
            collect(me)
        if not air:
            break
        deliver()
    informed = sum("q" in one.known for one in live.values())
    return Coverage(informed / len(live), messages, rounds)


def _undelivered(chord: Chord, notices: Dissemination, dead: Contact, message: Message) -> None:
    """What a peer does when another does not answer (overlay/peer.py)."""
    chord.failed(dead)
    chord.outbox.clear()  # its question to the next successor: the ring is not mended during the experiment
    if isinstance(message, Find):
        chord.handle(0, dead, message)
    else:
        notices.undelivered(dead, message)
