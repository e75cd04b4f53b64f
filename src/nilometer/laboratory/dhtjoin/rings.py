"""A settled Chord ring as arrays, which counts the hops of many questions at once.

The law: the hops are those of `overlay.chord.Chord` on the same ring, whose successor list has one entry (a test asks
both). They are messages to a put: about half of log2 N to the predecessor of a key, and one to its owner.

>>> ring = Ring(np.array([0, 64, 128, 192], dtype=np.uint64), bits=8)
>>> ring.owners(np.array([65, 64, 250], dtype=np.uint64)).tolist()
[2, 1, 0]
>>> ring.hops(np.array([0, 0, 0]), np.array([65, 64, 250], dtype=np.uint64)).tolist()
[2, 1, 0]
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from nilometer.kernels.arrays import Integers, Words
from nilometer.overlay.chord import Chord
from nilometer.overlay.ring import Contact


class Ring:
    """Peers at these places, in ascending order."""

    def __init__(self, places: Words, bits: int = 64) -> None:
        self.places, self.bits = places, bits
        starts = self.places[:, None] + (np.uint64(1) << np.arange(bits, dtype=np.uint64))[None, :]
        self._fingers = self.owners(self._around(starts))
        self._ahead = self._around(self.places[self._fingers] - self.places[:, None])
        self._successor = np.roll(np.arange(len(places)), -1)

    @staticmethod
    def random(peers: int, seed: int, bits: int = 64) -> Ring:
        """Peers at random places."""
        high = 2**bits - 1
        places = np.unique(np.random.default_rng(seed).integers(0, high, peers, dtype=np.uint64))
        return Ring(places, bits)

    def owners(self, keys: Words) -> Integers:
        """The peer that owns each key."""
        found = np.searchsorted(self.places, keys)
        return np.asarray(np.where(found == len(self.places), 0, found), dtype=np.int64)

    def hops(self, asking: Integers, keys: Words) -> Integers:
        """The messages from each peer to the owner of a key."""
        at, owner = np.asarray(asking).copy(), self.owners(keys)
        count = np.zeros(len(keys), dtype=np.int64)
        going = np.flatnonzero(at != owner)
        while len(going):
            here = at[going]
            left = self._around(keys[going] - self.places[here])
            last = self._successor[here] == owner[going]
            # The farthest finger that is before the key; the first finger, the successor, always is. In a small ring a
            # finger may be the peer itself.
            before = (self._ahead[here] > 0) & (self._ahead[here] < left[:, None])
            farthest = self.bits - 1 - np.argmax(before[:, ::-1], axis=1)
            at[going] = np.where(last, owner[going], self._fingers[here, farthest])
            count[going] += 1
            going = going[at[going] != owner[going]]
        return count

    def chords(self, successors: int = 8) -> dict[Contact, Chord]:
        """The same ring as peers."""
        contacts = [Contact(int(place), "", str(int(place))) for place in self.places]
        chords = {}
        for at, me in enumerate(contacts):
            chord = chords[me] = Chord(me, successors=successors, bits=self.bits)
            around = contacts[at + 1 :] + contacts[:at]
            chord.member, chord.successors, chord.predecessor = True, around[:successors], around[-1]
            chord.after = around[-1].id
            chord.fingers = {
                place: contacts[one] for place, one in enumerate(self._fingers[at].tolist()) if one != at
            }
        return chords

    def _around(self, values: Words) -> npt.NDArray[np.uint64]:
        return values if self.bits == 64 else values & np.uint64((1 << self.bits) - 1)
