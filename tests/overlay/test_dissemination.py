"""Dissemination: the paper's example of eight peers, n - 1 messages, dead children, gossip, drops that come first."""

from __future__ import annotations

import numpy as np
import pytest

from nilometer.laboratory.dhtjoin.coverage import disseminate
from nilometer.laboratory.dhtjoin.rings import Ring
from nilometer.overlay.dissemination import Dissemination
from nilometer.overlay.messages import Notice
from nilometer.overlay.peer import Peer, Settings
from nilometer.overlay.ring import Contact
from nilometer.overlay.simulator import Network
from nilometer.types import SECOND
from overlay.test_joins import PAIR


def test_the_papers_example_of_eight_peers() -> None:
    ring = Ring(np.arange(8, dtype=np.uint64), bits=3).chords(successors=1)
    peers = {me.id: Dissemination(chord) for me, chord in ring.items()}
    peers[0].publish({"id": "q", "kind": "query"})
    edges, depth = set(), 0
    going = [0]
    while going:
        me = going.pop()
        for to, message in peers[me].take():
            assert isinstance(message, Notice)
            edges.add((me, to.id, message.limit))
            depth = max(depth, message.depth)
            peers[to.id].handle(Contact(me, "", str(me)), message)
            going.append(to.id)
    assert edges == {(0, 1, 2), (0, 2, 4), (0, 4, 0), (2, 3, 4), (4, 5, 6), (4, 6, 0), (6, 7, 0)}
    assert depth == 3
    assert all("q" in one.known for one in peers.values())


@pytest.mark.parametrize("peers", [1, 2, 3, 100])
def test_n_minus_one_messages_reach_all(peers: int) -> None:
    if peers == 1:
        network = Network()
        alone = network.settled([Contact(5, "a", "a")])[0]
        alone.ask(0, "q", PAIR, 0)
        assert not alone.take()
        return
    found = disseminate(peers, 0.0, 1)
    assert (found.share, found.messages) == (1.0, peers - 1)


def test_gossip_reaches_all_where_the_tree_does_not() -> None:
    tree = disseminate(256, 0.3, 2)
    gossip = disseminate(256, 0.3, 2, gossip=True)
    assert tree.share < 0.7
    assert gossip.share == 1.0
    assert gossip.messages < 256 * 24


def test_a_late_joiner_hears_of_queries_and_of_their_end() -> None:
    network = Network(3)
    contacts = [Contact(place << 60, f"p{place}", f"p{place}") for place in (1, 5, 9)]
    peers = network.settled(contacts)
    peers[0].ask(0, "q", PAIR, 0)
    network.carry()
    network.run(3 * SECOND)
    late = network.add(Contact(12 << 60, "late", "late"), via="p1")
    network.run(10 * SECOND)
    assert "q" in late.queries
    late.drop(network.now, "q")
    network.carry()
    network.run(20 * SECOND)
    assert not any(peer.queries or peer.flows for peer in network.peers.values())
    # The query itself, however late it comes again, is known to be over.
    peers[1].notices.handle(peers[2].me, Notice({"id": "q", "kind": "query"}, 0))
    peers[1].tick(network.now)
    assert not peers[1].queries


def test_the_last_questions_that_ended_are_known() -> None:
    peer = Peer(Contact(1, "p1", "p1"), 0, Settings(most_dropped=3))
    peer.begin()
    for number in range(5):
        peer.ask(number, f"q{number}", PAIR, 0)
        peer.drop(number, f"q{number}")
    assert list(peer.dropped) == ["q2", "q3", "q4"]
    peer.notices.handle(peer.me, Notice({"id": "q2", "kind": "query"}, 0))
    peer.tick(6)
    assert not peer.queries
    assert not peer.books.refused, "its plan is not even read"
