"""Matches: for each probing tuple the occurrences of its value in other streams, as one sublist per stream
(SNJoin, Definition 1).

For a given probing tuple the sublists are independent: the join's answer is their product. It is stored as
the sublists, 1 + sum |L_i| cells for prod |L_i| tuples. The matches of another head are appended (R + r in
Fig. 5): a message grows by sums, never by products (reference/algorithms.md 9.1).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from nilometer.kernels.arrays import Booleans, Integers
from nilometer.sensornet.snjoin.readings import Readings


@dataclass(frozen=True, eq=False)
class Matches:
    """One row per occurrence: the number of the probing tuple, the stream, the time and the place in the stream. The
    rows of a sublist are adjacent."""

    probe: Integers
    stream: Integers
    time: Integers
    sequence: Integers

    def __len__(self) -> int:
        return len(self.probe)

    def take(self, rows: Integers | Booleans) -> Matches:
        """A selection of the rows."""
        return Matches(self.probe[rows], self.stream[rows], self.time[rows], self.sequence[rows])

    @cached_property
    def sublists(self) -> int:
        """The number of sublists: pairs of a probing tuple and a stream."""
        return len(self.pairs()[0])

    def pairs(self) -> tuple[Integers, Integers]:
        """Each sublist's probing tuple and stream."""
        if not len(self):
            return self.probe, self.stream
        begins = np.flatnonzero((np.diff(self.probe) != 0) | (np.diff(self.stream) != 0)) + 1
        begins = np.concatenate((np.zeros(1, dtype=np.int64), begins))
        return self.probe[begins], self.stream[begins]


NO_MATCHES = Matches(*(np.empty(0, dtype=np.int64) for _ in range(4)))


def concatenated_matches(parts: Sequence[Matches]) -> Matches:
    """The parts one after the other."""
    parts = [part for part in parts if len(part)]
    if not parts:
        return NO_MATCHES
    if len(parts) == 1:
        return parts[0]
    return Matches(
        np.concatenate([part.probe for part in parts]),
        np.concatenate([part.stream for part in parts]),
        np.concatenate([part.time for part in parts]),
        np.concatenate([part.sequence for part in parts]),
    )


@dataclass(frozen=True, eq=False)
class Answers:
    """The answers of the join: the tuples that joined with at least one stream, and their matches.
    `matches.probe` is the tuple's row.

    They are ordered by (stream, sequence) of the tuple, then by stream and time of the match, so that equal
    answers are equal arrays.
    """

    tuples: Readings
    matches: Matches

    @property
    def arity(self) -> float:
        """The mean number of streams that a tuple joined with; 0 without answers."""
        return self.matches.sublists / len(self.tuples) if len(self.tuples) else 0.0

    def lists(self) -> dict[tuple[int, int], dict[int, list[int]]]:
        """The sublists of each tuple, by its (stream, sequence); for people and for tests."""
        found: dict[tuple[int, int], dict[int, list[int]]] = {}
        names = list(zip(self.tuples.stream.tolist(), self.tuples.sequence.tolist(), strict=True))
        for probe, stream, time in zip(
            self.matches.probe.tolist(), self.matches.stream.tolist(), self.matches.time.tolist(), strict=True
        ):
            found.setdefault(names[probe], {}).setdefault(stream, []).append(time)
        return found


def ordered_answers(tuples: Readings, matches: Matches) -> Answers:
    """Answers in their canonical order. Tuples without matches are left out."""
    joined = np.zeros(len(tuples), dtype=np.bool_)
    joined[matches.probe] = True
    rows = np.flatnonzero(joined)
    rows = rows[np.lexsort((tuples.sequence[rows], tuples.stream[rows]))]
    place = np.full(len(tuples), -1, dtype=np.int64)
    place[rows] = np.arange(len(rows))
    probe = place[matches.probe]
    order = np.lexsort((matches.sequence, matches.time, matches.stream, probe))
    found = matches.take(order)
    return Answers(tuples.take(rows), Matches(probe[order], found.stream, found.time, found.sequence))
