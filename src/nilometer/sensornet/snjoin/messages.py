"""The messages between heads and the sink, and their sizes in bytes (SNJoin, Fig. 5).

The tuples of a batch travel together as long as they go to the same head. Each row names the heads it still
has to probe, and leaves the others when its sequence differs from theirs. From the last head of its sequence
its result goes to the sink. So every tuple has a probing sequence of its own, as Definition 3 asks, and
packets are shared.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nilometer.kernels.arrays import Booleans, Integers
from nilometer.sensornet.snjoin.matches import Matches
from nilometer.sensornet.snjoin.readings import Readings

VALUE = 4
TIME = 4
STREAM = 2
NUMBER = 2
COUNT = 1
HEAD = 2
ENVELOPE = 8
"""The batch's head and number, its number of rows, and the number of rows in this message."""


def reading_size(value: int = VALUE) -> int:
    """The bytes of a reading on its way from its sensor to its head, or from an old head to a new one."""
    return value + TIME + STREAM


READING = reading_size()


@dataclass(frozen=True, eq=False)
class ProbeRequest:
    """Rows of a batch on their way through the heads. `origin` and the columns of `asked` and `left` are
    indexes of heads.

    `asked` are the heads that a row was to probe when it set out, `left` those that it has not visited yet.
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
    epoch: int = 0

    def part(self, rows: Integers) -> ProbeRequest:
        """Some of the rows, with their matches."""
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
            self.epoch,
        )

    def size(
        self,
        sequences_differ: bool,
        members: Integers | None = None,
        value: int = VALUE,
        valued: bool = False,
    ) -> int:
        """The size in bytes: one list of heads for all rows, or, if rows probe different heads, a bit for
        every head in each row. With `members`, the number of members of every head, it is the size as rows of
        an outer join. `value` is the size of a value; matches carry theirs if they are `valued`, because values
        that match need not be equal."""
        found = matches_size(self.matches, value if valued else 0)
        if members is not None:
            visited = self.asked & ~self.left
            visited[:, self.origin] = True
            found = outer_size(visited @ members, self.matches)
        return ENVELOPE + _rows(len(self.rows), self.left.shape[1], sequences_differ, value) + found


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
    epoch: int = 0

    def size(
        self,
        sequences_differ: bool,
        members: Integers | None = None,
        value: int = VALUE,
        valued: bool = False,
    ) -> int:
        """The size in bytes, as of a request. If sequences differ, the sink needs the probed heads to make notes."""
        heads = self.asked.shape[1] if sequences_differ else 0
        found = matches_size(self.matches, value if valued else 0)
        if members is not None:
            visited = self.asked.copy()
            visited[:, self.origin] = True
            found = outer_size(visited @ members, self.matches)
        return ENVELOPE + _rows(len(self.rows), heads, sequences_differ, value) + found


def matches_size(matches: Matches, value: int = 0) -> int:
    """The bytes of sublists: a stream and a length for each, and the times, with values of that size."""
    return matches.sublists * (STREAM + COUNT) + len(matches) * (TIME + value)


def outer_size(streams: Integers, matches: Matches) -> int:
    """The bytes of an outer join's partial rows after a given number of streams: a length for every visited
    stream, 0 if it has no match, and the times (section 4.3). The position of a cell tells its stream."""
    return COUNT * int(streams.sum()) + len(matches) * TIME


def _rows(rows: int, heads: int, sequences_differ: bool, value: int) -> int:
    row = value + TIME + STREAM + NUMBER
    return rows * (row + -(-heads // 8)) if sequences_differ else rows * row + heads * HEAD
