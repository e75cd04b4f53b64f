"""What heads and the sink send each other, and how many bytes it takes (SNJoin, Fig. 5).

The tuples of a batch travel together as long as they go to the same head: each row names the heads it still has to
probe, and leaves the others where its way parts from theirs; from the last of them its result goes to the sink. So every
tuple has a probing sequence of its own, as Definition 3 asks, and packets are shared.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nilometer.kernels.arrays import Booleans, Integers
from nilometer.laboratory.snjoin.matches import Matches
from nilometer.laboratory.snjoin.readings import Readings

VALUE = 4
TIME = 4
STREAM = 2
NUMBER = 2
COUNT = 1
HEAD = 2
ENVELOPE = 8
"""The batch's head and number, how many rows it has, how many are in this message."""

READING = VALUE + TIME + STREAM
"""A reading on its way from its sensor to its head."""


@dataclass(frozen=True, eq=False)
class ProbeRequest:
    """Rows of a batch on their way through the heads. `origin` and the columns of `asked` and `left` are
    places of heads.

    `asked` are the heads that a row was to probe when it set out, `left` those that are still to come;
    `matches.probe` is a row's number.
    """

    origin: int
    batch: int
    batch_rows: int
    rows: Readings
    number: Integers
    asked: Booleans
    left: Booleans
    matches: Matches

    def part(self, rows: Integers) -> ProbeRequest:
        """Some of the rows, with what they have found."""
        stays = np.zeros(self.batch_rows, dtype=np.bool_)
        stays[self.number[rows]] = True
        return ProbeRequest(
            self.origin,
            self.batch,
            self.batch_rows,
            self.rows.take(rows),
            self.number[rows],
            self.asked[rows],
            self.left[rows],
            self.matches.take(stays[self.matches.probe]),
        )

    def size(self, sequences_differ: bool, members: Integers | None = None) -> int:
        """Bytes; one list of heads for all rows, or a bit for every head in each row where rows probe
        different ones. With the number of `members` of every head: as rows of an outer join."""
        found = matches_size(self.matches)
        if members is not None:
            visited = self.asked & ~self.left
            visited[:, self.origin] = True
            found = outer_size(visited @ members, self.matches)
        return ENVELOPE + _rows(len(self.rows), self.left.shape[1], sequences_differ) + found


@dataclass(frozen=True, eq=False)
class Result:
    """Rows that have probed all their heads, for the sink."""

    origin: int
    batch: int
    batch_rows: int
    rows: Readings
    number: Integers
    asked: Booleans
    matches: Matches

    def size(self, sequences_differ: bool, members: Integers | None = None) -> int:
        """Bytes; the sink needs the probed heads only to make notes of them, where sequences differ."""
        heads = self.asked.shape[1] if sequences_differ else 0
        found = matches_size(self.matches)
        if members is not None:
            visited = self.asked.copy()
            visited[:, self.origin] = True
            found = outer_size(visited @ members, self.matches)
        return ENVELOPE + _rows(len(self.rows), heads, sequences_differ) + found


def matches_size(matches: Matches) -> int:
    """Bytes of sublists: a stream and a length for each, and the times."""
    return matches.sublists * (STREAM + COUNT) + len(matches) * TIME


def outer_size(streams: Integers, matches: Matches) -> int:
    """Bytes of an outer join's partial rows, that have visited so many streams each: a length for every one of these, 0 where it has nothing, and the
    times (section 4.3). Where a cell stands says whose it is."""
    return COUNT * int(streams.sum()) + len(matches) * TIME


def _rows(rows: int, heads: int, sequences_differ: bool) -> int:
    row = VALUE + TIME + STREAM + NUMBER
    return rows * (row + -(-heads // 8)) if sequences_differ else rows * row + heads * HEAD
