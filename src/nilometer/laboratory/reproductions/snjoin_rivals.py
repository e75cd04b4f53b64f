"""The joins of SNJoin's experiments in one form: for each tuple the number of its partners. All are exact, so
all agree.

MJoin and SNJoin write out the lists of a tuple's partners, but none builds their product: for a value that
fifty sensors repeat there would be far too many flat results. The rivals are also spared the NULLs of the
streams that do not join. A tree cannot be spared its partial results. It is charged for one at every level
above a tuple's own, which is the least it has there, at the cost that was measured where there is exactly one
(`entry_cost`).
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable

import numpy as np

from nilometer.kernels.arrays import Integers
from nilometer.kernels.occurrence_table import OccurrenceTable
from nilometer.laboratory.baselines import Arrivals, HashMergeTree, HashMergeTreeSpec, MJoin, MJoinSpec
from nilometer.laboratory.reproductions.snjoin_server import Join
from nilometer.types import SECOND

WINDOW = 10 * SECOND
LEVELS, TUPLES = 64, 12_800


class Tree:
    """The tree of hash-merge joins, left-deep: a tuple is at half of the levels on the average."""

    rebuilt = True

    def __init__(self, streams: int, entry: float) -> None:
        self.charged = entry * streams / 2
        self._join = HashMergeTree(HashMergeTreeSpec(streams, WINDOW, build=False))

    def feed(self, arrivals: Arrivals) -> Integers:
        return self._join.feed(arrivals).listed


class OuterMJoin:
    """The outer MJoin."""

    charged = 0.0
    rebuilt = True

    def __init__(self, streams: int) -> None:
        self._join = MJoin(MJoinSpec(streams, WINDOW, outer=True, build=False, lists=True))

    def feed(self, arrivals: Arrivals) -> Integers:
        return self._join.feed(arrivals).listed


class OneTable:
    """SNJoin. With `walked`, each tuple's list is written out, as Fig. 4's step 4 does; otherwise it stays a
    range of its value's list. New streams simply enter the table and leaving ones expire, so nothing is
    rebuilt."""

    charged = 0.0
    rebuilt = False

    def __init__(self, *, walked: bool) -> None:
        self._walked = walked
        self._table = OccurrenceTable(WINDOW)

    def feed(self, arrivals: Arrivals) -> Integers:
        probes = self._table.probe(arrivals.times, arrivals.keys.view(np.uint64), arrivals.sources)
        if self._walked:
            self._table.expand(probes)
        return probes.partners


class BalancedTree(OneTable):
    """A tree of as few levels as there can be. The paper says "a binary tree", and not of what form. A tuple has a
    partial result at each level, and no probe is charged: its partners' lists cost what SNJoin's cost."""

    rebuilt = True

    def __init__(self, streams: int, entry: float) -> None:
        super().__init__(walked=True)
        self.charged = entry * math.ceil(math.log2(streams))


def joins(entry: float) -> dict[str, Callable[[int], Join]]:
    """By the name in the tables, a function that makes the join over a number of streams."""
    return {
        "HMJ tree": lambda streams: Tree(streams, entry),
        "outer MJoin": OuterMJoin,
        "SNJoin": lambda _streams: OneTable(walked=True),
        "factorised": lambda _streams: OneTable(walked=False),
        "balanced tree": lambda streams: BalancedTree(streams, entry),
    }


def entry_cost(clock: Callable[[], float] = time.process_time) -> float:
    """Seconds that a tree takes to make, keep and take back a partial result, measured where no two tuples
    are alike: there it has one at every level."""
    times = np.arange(TUPLES) * (2 * WINDOW // TUPLES)
    sparse = Arrivals(times, np.arange(TUPLES) % LEVELS, np.arange(TUPLES), np.arange(TUPLES))
    seconds = {}
    for build in (True, False):
        HashMergeTree(HashMergeTreeSpec(LEVELS, WINDOW, build=build)).feed(sparse)  # compiles
        tree = HashMergeTree(HashMergeTreeSpec(LEVELS, WINDOW, build=build))
        began = clock()
        for start in range(0, TUPLES, 1_000):
            tree.feed(sparse[start : start + 1_000])
        seconds[build] = clock() - began
    return max(0.0, seconds[True] - seconds[False]) / (TUPLES * LEVELS / 2)
