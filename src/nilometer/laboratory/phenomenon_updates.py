"""Updates of phenomena of equal values, as the experiments of SNJoin count them: readings -> updates, in columns.

It is the law of PHENOMENA(ON s.x EQUAL RANGE w SLIDE d STRENGTH a MEMBERS m), whose neighbours are all sensors
(docs/phenomena.md). Every evaluation is made at once, for a million readings in about a second:

    n(s, v, T)   the readings of sensor s with value v and T - w < time <= T
    members      of v at T: the sensors with n(s, v, T) >= a; v has a phenomenon if there are at least m
    update       of v at T, against T - d: it APPEARS, DISAPPEARS or MOVES, the paper's three kinds (section 1).
                 If it has no member left of those before, the old one disappears and another appears

A join gives the same. Members of a phenomenon have readings of one value within a window, so each of these
readings is in an answer of a join with that window, as the probing tuple or as one of its matches. Readings that
join with nothing are in no phenomenon. (To count probing tuples only would miss the earliest reading of each
sensor: three sensors that agree within 3 s would be none.)

>>> rule = PhenomenonRule(members=2, strength=1, range=10, slide=10)
>>> times, sources = np.array([1, 2, 11, 12, 35]), np.array([4, 5, 5, 6, 4])
>>> found = phenomenon_updates(times, np.full(5, 7), sources, rule)
>>> [(int(tick), UpdateKind(kind).name) for tick, kind in zip(found.ticks, found.kinds)]
[(10, 'APPEARS'), (20, 'MOVES'), (30, 'DISAPPEARS')]
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

import numpy as np

from nilometer.kernels.arrays import Booleans, Integers


class UpdateKind(IntEnum):
    """The change of a phenomenon."""

    APPEARS = 0
    DISAPPEARS = 1
    MOVES = 2


@dataclass(frozen=True)
class PhenomenonRule:
    """When sensors that agree are a phenomenon: at least `members` of them, each with `strength` readings in the
    last `range` microseconds, evaluated every `slide` microseconds."""

    members: int
    strength: int
    range: int
    slide: int

    def __post_init__(self) -> None:
        if min(self.members, self.strength, self.range, self.slide) < 1:
            raise ValueError(f"{self}: all of these are at least 1")


@dataclass(frozen=True)
class Updates:
    """Ordered by evaluation, value and kind."""

    ticks: Integers
    values: Integers
    kinds: Integers

    def __len__(self) -> int:
        return len(self.ticks)

    def count(self, kind: UpdateKind) -> int:
        """The number of updates of this kind."""
        return int(np.count_nonzero(self.kinds == kind))

    def found_of(self, true: Updates) -> int:
        """How many of the true updates are among these: same kind, same value, same evaluation."""
        mine, theirs = (np.stack((each.ticks, each.values, each.kinds), axis=1) for each in (self, true))
        return len(mine) + len(theirs) - len(np.unique(np.concatenate((mine, theirs)), axis=0))


def phenomenon_updates(
    times: Integers, values: Integers, sources: Integers, rule: PhenomenonRule, until: int | None = None
) -> Updates:
    """The updates from these readings, in any order, at the evaluations up to `until` (None: to the end)."""
    if not len(times):
        return _no_updates()
    joined, left = _changes_of_members(times, values, sources, rule)
    ticks, values = (np.concatenate((joined[side], left[side])) for side in (0, 1))
    comes = np.repeat(np.array([1, 0]), (len(joined[0]), len(left[0])))
    order = np.lexsort((ticks, values))
    ticks, values, comes = ticks[order], values[order], comes[order]
    if not len(ticks):
        return _no_updates()
    starts = np.flatnonzero(_begins(values, ticks))
    gained = np.add.reduceat(comes, starts)
    lost = np.diff(np.append(starts, len(ticks))) - gained
    ticks, values = ticks[starts], values[starts]
    now = _running(gained - lost, _begins(values))
    before = now - gained + lost
    was, stands = before >= rule.members, now >= rule.members
    goes_on = was & stands & (now > gained)
    kinds = (
        (stands & ~goes_on, UpdateKind.APPEARS),
        (was & ~goes_on, UpdateKind.DISAPPEARS),
        (goes_on, UpdateKind.MOVES),
    )
    known = slice(None) if until is None else ticks <= until
    parts = [
        (ticks[known][which[known]], values[known][which[known]], np.full(int(which[known].sum()), int(kind)))
        for which, kind in kinds
    ]
    ticks, values, kind = (np.concatenate([part[side] for part in parts]) for side in range(3))
    order = np.lexsort((kind, values, ticks))
    return Updates(ticks[order], values[order], kind[order])


Changes = tuple[Integers, Integers]
"""The evaluations and the values of changes."""


def _changes_of_members(
    times: Integers, values: Integers, sources: Integers, rule: PhenomenonRule
) -> tuple[Changes, Changes]:
    """The evaluations at which a source becomes a member of a value, and those at which it ceases to be one."""
    # A reading counts from the first evaluation at or after it to the last before it is `range` old.
    ticks = np.concatenate((_ceiling(times, rule.slide), _ceiling(times + rule.range, rule.slide)))
    values, sources = np.concatenate((values, values)), np.concatenate((sources, sources))
    steps = np.repeat(np.array([1, -1]), len(times))
    order = np.lexsort((ticks, sources, values))
    ticks, values, sources, steps = ticks[order], values[order], sources[order], steps[order]
    readings = _running(steps, _begins(values, sources))
    closes = np.append(_begins(values, sources, ticks)[1:], True)
    ticks, values, sources = ticks[closes], values[closes], sources[closes]
    member = readings[closes] >= rule.strength
    was = np.where(_begins(values, sources), False, np.concatenate(([False], member[:-1])))
    joined, left = member & ~was, was & ~member
    return (ticks[joined], values[joined]), (ticks[left], values[left])


def _ceiling(times: Integers, step: int) -> Integers:
    ceiling: Integers = -(-times // step) * step
    return ceiling


def _begins(*keys: Integers) -> Booleans:
    """Where a run of equal keys begins."""
    begins = np.ones(len(keys[0]), dtype=np.bool_)
    begins[1:] = np.logical_or.reduce([key[1:] != key[:-1] for key in keys])
    return begins


def _running(steps: Integers, begins: Booleans) -> Integers:
    """The running sum of the steps, from each beginning on."""
    sums = np.cumsum(steps)
    starts = np.flatnonzero(begins)
    lengths = np.diff(np.append(starts, len(steps)))
    running: Integers = sums - np.repeat(sums[starts] - steps[starts], lengths)
    return running


def _no_updates() -> Updates:
    nothing: Integers = np.zeros(0, dtype=np.int64)
    return Updates(nothing, nothing, nothing)
