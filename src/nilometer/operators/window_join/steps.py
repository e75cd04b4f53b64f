"""The steps of the W-join: from one stream's new tuples to N-tuples, one stream after the other (algorithms,
4.2).

This is an index nested loops join of N inputs that joins each new tuple with the tuples the others hold, as
in MJoin (Viglas, Naughton and Burger, VLDB 2003). `extend` executes the plan of plan.py on row numbers. The
candidates of a partial tuple are the tuples in the next stream's panes between

    low = max over chosen k of (time k - D_kj)        high = min over chosen k of (time k + D_kj)

for the implied widths D. Those with equal keys, or within a band, are looked up in an index that is built
once per pane, so that the cost of a round depends on its new tuples. Pairs are built in chunks, depth first,
so that at most one chunk per step is held.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import reduce

import numpy as np
import polars as pl

from nilometer.kernels.arrays import Booleans, Integers, Words
from nilometer.kernels.candidates import expand_in_chunks
from nilometer.kernels.hash_index import HashIndex
from nilometer.kernels.range_scan import equal_in_ranges
from nilometer.operators.gathering import gathered
from nilometer.operators.logic import TICK
from nilometer.operators.panes import Pane, Panes
from nilometer.operators.window_join.bands import in_bands
from nilometer.operators.window_join.keys import combined
from nilometer.operators.window_join.plan import Probe, Steps

PAIRS_AT_ONCE = 1_000_000

Member = tuple[Pane, Integers | None]
Members = dict[int, Member]
"""N-tuples, or parts of them: per port a pane, and row numbers in it (None: all of its rows, once each)."""


@dataclass
class Side:
    """One port in one round: the old tuples and the new ones."""

    old: Panes
    new: Pane | None

    def visible(self, *, everything: bool) -> Iterator[Pane]:
        """Yields the panes of old tuples and, with `everything`, the pane of the new ones."""
        yield from self.old
        if everything and self.new is not None:
            yield self.new


def extend(sides: Sequence[Side], steps: Steps) -> Iterator[Members]:
    """Yields all N-tuples whose member of `steps.start` is new. Streams after `start` take part with their
    old tuples only, so that an N-tuple with several new members is found only from the last of their streams.
    """
    new = sides[steps.start].new
    if new is not None:
        yield from _extend(sides, steps, 0, {steps.start: (new, None)})


def _extend(sides: Sequence[Side], steps: Steps, depth: int, members: Members) -> Iterator[Members]:
    if depth == len(steps.steps):
        yield members
        return
    step = steps.steps[depth]
    low = reduce(np.maximum, [times_of(members[port]) - width for port, width in step.reach])
    high = reduce(np.minimum, [times_of(members[port]) + width for port, width in step.reach])
    earliest, latest = int(low.min()), int(high.max())
    batch: list[Members] = []
    found = 0
    for pane in sides[step.port].visible(everything=step.port < steps.start):
        if pane.first > latest or pane.last < earliest:
            continue
        for owners, places in _candidates(step, members, pane, low, high):
            wider: Members = {
                port: (one, owners if rows is None else rows[owners]) for port, (one, rows) in members.items()
            }
            batch.append(wider | {step.port: (pane, places)})
            found += len(places)
            if found >= PAIRS_AT_ONCE:
                for tested in _tested(step, batch):
                    yield from _extend(sides, steps, depth + 1, tested)
                batch, found = [], 0
    for tested in _tested(step, batch):
        yield from _extend(sides, steps, depth + 1, tested)


def times_of(member: Member) -> Integers:
    """The times of the rows."""
    pane, rows = member
    times: Integers = pane.order if rows is None else pane.order[rows]
    return times


def column_of(member: Member, column: pl.Series) -> pl.Series:
    """Returns a column of the pane at the rows."""
    rows = member[1]
    return column if rows is None else gathered(column, rows)


def _count(members: Members) -> int:
    return min(len(pane.order) if rows is None else len(rows) for pane, rows in members.values())


def _candidates(
    step: Probe, members: Members, pane: Pane, low: Integers, high: Integers
) -> Iterator[tuple[Integers, Integers]]:
    """Yields pairs (member, row of the pane) of candidates."""
    low = np.maximum(low, pane.first)  # dead rows take no part
    if step.hashed and not step.scanned:
        yield from _by_index(step, members, pane, low, high)
        return
    starts, ends = np.searchsorted(pane.order, low), np.searchsorted(pane.order, high, side="right")
    if step.hashed:
        rows = combined([one.hashes(step.port, pane) for _, one in step.hashed])
        yield from equal_in_ranges(*_probes(step, members), starts, ends, *rows, PAIRS_AT_ONCE)
        return
    if step.search is not None:
        near = in_bands(step.search, members, pane, starts, ends, PAIRS_AT_ONCE)
        if near is not None:
            yield from near
            return
    yield from expand_in_chunks(starts, ends, PAIRS_AT_ONCE)


def _by_index(
    step: Probe, members: Members, pane: Pane, low: Integers, high: Integers
) -> Iterator[tuple[Integers, Integers]]:
    name = ("index", *(one.number for _, one in step.hashed))
    if name not in pane.notes:
        numbers, known = combined([one.hashes(step.port, pane) for _, one in step.hashed])
        pane.notes[name] = HashIndex(numbers, known, pane.order)
    index: HashIndex = pane.notes[name]
    yield from index.matches(*_probes(step, members), low, high, PAIRS_AT_ONCE)


def _probes(step: Probe, members: Members) -> tuple[Words, Booleans | None]:
    """The hash that each of the members looks for."""
    parts = []
    for port, one in step.hashed:
        holder, rows = members[port]
        numbers, known = one.hashes(port, holder)
        if rows is not None:
            numbers, known = numbers[rows], None if known is None else known[rows]
        parts.append((numbers, known))
    return combined(parts)


def _tested(step: Probe, batch: list[Members]) -> list[Members]:
    """Returns the members that satisfy the step's keys and conditions. Small groups from several panes are
    tested together.
    """
    for other, one in step.compared:
        if batch:
            mine, theirs = (
                pl.concat([column_of(members[port], one.values(port, members[port][0])) for members in batch])
                for port in (step.port, other)
            )
            batch = _where(batch, (mine == theirs).fill_null(False).to_numpy())
    if step.condition is None or not batch:
        return batch
    frames = []
    for members in batch:
        now = reduce(np.maximum, map(times_of, members.values()))
        columns = [column_of(members[port], members[port][0].rows[name]) for port, name in step.columns]
        frames.append(pl.DataFrame([pl.Series(TICK, now), *columns]))
    return _where(batch, step.condition.mask(pl.concat(frames, rechunk=True)).to_numpy())


def _where(batch: list[Members], holds: Booleans) -> list[Members]:
    """Returns the members for which `holds` is true; it covers the whole batch, one group after the other."""
    if holds.all():
        return batch
    kept: list[Members] = []
    start = 0
    for members in batch:
        stop = start + _count(members)
        rows = np.flatnonzero(holds[start:stop])
        start = stop
        if len(rows):
            kept.append(
                {port: (pane, rows if all_ is None else all_[rows]) for port, (pane, all_) in members.items()}
            )
    return kept
