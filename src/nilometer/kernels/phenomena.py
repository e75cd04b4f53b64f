"""Derives phenomena from a similarity join: how each value's group of sensors appears, moves and disappears.

It follows Nile-PDT and SNJoin, section 1. It needs only four columns of the join, one row per probing tuple:
its time, its value, its source and its arity (the sensors with this value within the join's window, its own
included). Values are whole numbers; for real ones, pass the number of their range, floor(value / width).

The law, for time cut into periods 1, 2, ... of `period` microseconds:

    evidence     a row whose arity is at least `sensors`: so many sensors agreed
    members      of value v at the end of period p: the sources with at least `strength` rows of evidence for
                 v in the last `periods` periods
    phenomenon   v has one at the end of p if it has at least `sensors` members then
    update       of v at the end of p, against the end of p - 1: it APPEARS, it DISAPPEARS, or it exists at
                 both with different members: it MOVES

So there is at most one update per value and period, none before the first reading, and none after the period
of `until`. Counting each sensor's own rows keeps a single noisy sensor from being a phenomenon (algorithms,
section 1.2). The cost is that of sorting the rows of evidence.

>>> rule = PhenomenonRule(sensors=2, strength=1, period=10, periods=1)
>>> times, sources = np.array([1, 2, 11, 12, 35]), np.array([4, 5, 5, 6, 4])
>>> found = phenomenon_updates(times, np.full(5, 7), sources, np.full(5, 2), rule)
>>> [
...     (int(end), UpdateKind(kind).name, int(count))
...     for end, kind, count in zip(found.ends, found.kinds, found.members)
... ]
[(10, 'APPEARS', 2), (20, 'MOVES', 2), (30, 'DISAPPEARS', 0)]
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
    """When sensors that agree are a phenomenon: at least `sensors` of them, each with `strength` readings in
    the last `periods` periods of `period` microseconds."""

    sensors: int
    strength: int
    period: int
    periods: int

    def __post_init__(self) -> None:
        if min(self.sensors, self.strength, self.period, self.periods) < 1:
            raise ValueError(f"{self}: all of these are at least 1")


@dataclass(frozen=True)
class Updates:
    """Ordered by the end of the period and then by value: the kind, and the number of members now."""

    ends: Integers
    values: Integers
    kinds: Integers
    members: Integers

    def __len__(self) -> int:
        return len(self.ends)

    def count(self, kind: UpdateKind) -> int:
        """The number of updates of this kind."""
        return int(np.count_nonzero(self.kinds == kind))

    def found_of(self, true: Updates) -> int:
        """How many of the true updates are among these: same kind, same value, end of the same period."""
        mine, theirs = (np.stack((each.ends, each.values, each.kinds), axis=1) for each in (self, true))
        return len(mine) + len(theirs) - len(np.unique(np.concatenate((mine, theirs)), axis=0))


def phenomenon_updates(
    times: Integers,
    values: Integers,
    sources: Integers,
    arities: Integers,
    rule: PhenomenonRule,
    until: int | None = None,
) -> Updates:
    """The updates from these rows, in any order, until the end of the period of `until` (None: of the last
    row)."""
    if not len(times):
        return _no_updates()
    last = (int(times.max()) if until is None else until) // rule.period
    evidence = arities >= rule.sensors
    periods = times[evidence] // rule.period
    joined, left = _changes_of_members(periods, values[evidence], sources[evidence], rule)
    periods, values = np.concatenate((joined[0], left[0])), np.concatenate((joined[1], left[1]))
    steps = np.repeat(np.array([1, -1]), (len(joined[0]), len(left[0])))
    order = np.lexsort((periods, values))
    periods, values, steps = periods[order], values[order], steps[order]
    now = _running(steps, _begins(values))
    # A source joins or leaves at most once a period, so any change means that the members differ.
    closes = np.append(_begins(values, periods)[1:], True) if len(values) else np.zeros(0, dtype=np.bool_)
    periods, values, now = periods[closes], values[closes], now[closes]
    before = np.where(_begins(values), 0, np.concatenate(([0], now[:-1]))[: len(now)])
    was, stands = before >= rule.sensors, now >= rule.sensors
    kinds = np.where(stands, np.where(was, UpdateKind.MOVES, UpdateKind.APPEARS), UpdateKind.DISAPPEARS)
    reported = np.flatnonzero((was | stands) & (periods <= last))
    reported = reported[np.lexsort((values[reported], periods[reported]))]
    ends = (periods[reported] + 1) * rule.period
    return Updates(ends, values[reported], kinds[reported].astype(np.int64), now[reported])


Changes = tuple[Integers, Integers]
"""The periods and the values of changes."""


def _changes_of_members(
    periods: Integers, values: Integers, sources: Integers, rule: PhenomenonRule
) -> tuple[Changes, Changes]:
    """The periods in which a source becomes a member of a value, and those in which it ceases to be one."""
    gone = periods + rule.periods
    periods, values, sources = (
        np.concatenate((periods, gone)),
        np.concatenate((values, values)),
        np.concatenate((sources, sources)),
    )
    steps = np.repeat(np.array([1, -1]), len(gone))
    order = np.lexsort((periods, sources, values))
    periods, values, sources, steps = periods[order], values[order], sources[order], steps[order]
    rows = _running(steps, _begins(values, sources))
    closes = (
        np.append(_begins(values, sources, periods)[1:], True) if len(values) else np.zeros(0, dtype=np.bool_)
    )
    periods, values, sources = periods[closes], values[closes], sources[closes]
    member = rows[closes] >= rule.strength
    was = np.where(_begins(values, sources), False, np.concatenate(([False], member[:-1]))[: len(member)])
    joined, left = member & ~was, was & ~member
    return (periods[joined], values[joined]), (periods[left], values[left])


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
    return Updates(nothing, nothing, nothing, nothing)
