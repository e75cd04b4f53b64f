"""The steps of the W-join: from one stream's new tuples to N-tuples, one stream after the other (algorithms, 4.2).

`plan_steps` decides, once, in which order a delta is extended and what is tested at each step: next comes a stream that
an equality ties to those chosen, then the one with the narrowest window. `extend` carries it out on row numbers: the
candidates of a partial tuple are the tuples with equal keys in the next stream's panes between

    low = max over chosen k of (time k - D_kj)        high = min over chosen k of (time k + D_kj)

which keeps every given bound, for none is narrower than the implied width D. Keys are hashed and indexed once for each pane, so that a
round costs what is new in it, and pairs are built in chunks, depth first, so that no more than a chunk per step is ever held.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce

import numpy as np
import polars as pl

from nilometer.expressions import Expression, columns_of, conjunction, type_of, uses_now
from nilometer.kernels.candidates import expand_in_chunks
from nilometer.kernels.hash_index import Booleans, HashIndex, Numbers
from nilometer.kernels.ranges import Integers
from nilometer.operators.evaluate import Evaluator, Predicate, compile_expression, compile_predicate
from nilometer.operators.frames import dtype
from nilometer.operators.gathering import gathered
from nilometer.operators.logic import TICK
from nilometer.operators.window_panes import Pane, Panes

PAIRS_AT_ONCE = 1_000_000

Bound = tuple[int, int, int]
Member = tuple[Pane, Integers | None]
Members = dict[int, Member]
"""N-tuples, or parts of them: per port a pane, and row numbers in it (None: all of its rows, once each)."""

_HASHED = (pl.Int64(), pl.Float64(), pl.String(), pl.Boolean())


@dataclass(frozen=True)
class Key:
    """An equality between tuples of two streams, the `number`th of the join."""

    number: int
    left: int
    left_expression: Expression
    right: int
    right_expression: Expression

    def other(self, port: int) -> int:
        """The port at the other end."""
        return self.right if port == self.left else self.left

    @cached_property
    def dtype(self) -> pl.DataType:
        """In which both sides are compared."""
        return dtype(type_of(self.left_expression))

    @cached_property
    def _sides(self) -> dict[int, Evaluator]:
        return {
            self.left: compile_expression(self.left_expression),
            self.right: compile_expression(self.right_expression),
        }

    @property
    def hashed(self) -> bool:
        """Whether candidates are looked up by it; a key of another type is only compared."""
        return self.dtype in _HASHED

    def values(self, port: int, pane: Pane) -> pl.Series:
        """The key of a pane's rows."""
        if ("values", self.number) not in pane.notes:
            values = self._sides[port](pane.rows)
            pane.notes["values", self.number] = (
                values if values.dtype == self.dtype else values.cast(self.dtype)
            )
        found: pl.Series = pane.notes["values", self.number]
        return found


@dataclass(frozen=True)
class Graph:
    """What ties the streams together: columns per port, implied widths, keys, and conditions on several."""

    columns: tuple[frozenset[str], ...]
    widths: Integers
    keys: tuple[Key, ...]
    conditions: tuple[Expression, ...]

    def ports(self, condition: Expression) -> frozenset[int]:
        """The streams that a condition reads; NOW reads them all, for it is the latest member's time."""
        if uses_now(condition):
            return frozenset(range(len(self.columns)))
        read = columns_of(condition)
        return frozenset(port for port, names in enumerate(self.columns) if names & read)


@dataclass(frozen=True)
class Step:
    """Add a tuple of `port`. The `keys` that can be hashed and `reach` (chosen port, implied width) find candidates; the keys in
    `compared` and `condition`, which reads `columns` (port, name), decide."""

    port: int
    keys: tuple[Key, ...]
    compared: tuple[Key, ...]
    reach: tuple[tuple[int, int], ...]
    condition: Predicate | None
    columns: tuple[tuple[int, str], ...]


@dataclass(frozen=True)
class Steps:
    """From the new tuples of `start` to N-tuples."""

    start: int
    steps: tuple[Step, ...]


def plan_steps(graph: Graph, start: int) -> Steps:
    """The order of extension from a stream, and what each step tests."""
    chosen = [start]
    pending = list(graph.conditions)
    steps = []
    while len(chosen) < len(graph.columns):
        port = min(
            (port for port in range(len(graph.columns)) if port not in chosen),
            key=lambda port: (
                not any(port in (key.left, key.right) and key.other(port) in chosen for key in graph.keys),
                min(int(graph.widths[port, other]) for other in chosen),
                port,
            ),
        )
        known = {*chosen, port}
        ready = [condition for condition in pending if graph.ports(condition) <= known]
        pending = [condition for condition in pending if condition not in ready]
        steps.append(_step(graph, chosen, port, ready))
        chosen.append(port)
    return Steps(start, tuple(steps))


def _step(graph: Graph, chosen: Sequence[int], port: int, ready: list[Expression]) -> Step:
    keys = tuple(key for key in graph.keys if port in (key.left, key.right) and key.other(port) in chosen)
    hashed = tuple(key for key in keys if key.hashed)
    # A whole number is its own hash: then what is found is equal.
    exact = len(hashed) == 1 and hashed[0].dtype == pl.Int64()
    compared = tuple(key for key in keys if not (exact and key in hashed))
    names = {name for condition in ready for name in columns_of(condition)}
    columns = tuple(
        (one, name) for one in (*chosen, port) for name in sorted(graph.columns[one]) if name in names
    )
    condition = compile_predicate(conjunction(ready)) if ready else None
    reach = tuple((other, int(graph.widths[port, other])) for other in chosen)
    return Step(port, hashed, compared, reach, condition, columns)


@dataclass
class Side:
    """One port in one round: what was there before, and what is new."""

    old: Panes
    new: Pane | None

    def visible(self, *, everything: bool) -> Iterator[Pane]:
        """The panes of old tuples, and if `everything` is asked for that of the new ones."""
        yield from self.old
        if everything and self.new is not None:
            yield self.new


def extend(sides: Sequence[Side], steps: Steps) -> Iterator[Members]:
    """All N-tuples whose member of `steps.start` is new; of streams after it only the old tuples take part, so that a
    tuple with several new members is found from the last of their streams alone."""
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
    """A column of the pane, at the rows."""
    rows = member[1]
    return column if rows is None else gathered(column, rows)


def _count(members: Members) -> int:
    return min(len(pane.order) if rows is None else len(rows) for pane, rows in members.values())


def _candidates(
    step: Step, members: Members, pane: Pane, low: Integers, high: Integers
) -> Iterator[tuple[Integers, Integers]]:
    """Which of the members, and which rows of the pane beside them."""
    low = np.maximum(low, pane.first)  # what is dead there takes no part
    if not step.keys:
        starts, ends = np.searchsorted(pane.order, low), np.searchsorted(pane.order, high, side="right")
        yield from expand_in_chunks(starts, ends, PAIRS_AT_ONCE)
        return
    name = ("index", *(key.number for key in step.keys))
    if name not in pane.notes:
        numbers, known = combined([hashes_of(key, step.port, pane) for key in step.keys])
        pane.notes[name] = HashIndex(numbers, known, pane.order)
    index: HashIndex = pane.notes[name]
    parts = []
    for key in step.keys:
        port = key.other(step.port)
        one, rows = members[port]
        numbers, known = hashes_of(key, port, one)
        if rows is not None:
            numbers, known = numbers[rows], None if known is None else known[rows]
        parts.append((numbers, known))
    yield from index.matches(*combined(parts), low, high, PAIRS_AT_ONCE)


def hashes_of(key: Key, port: int, pane: Pane) -> tuple[Numbers, Booleans | None]:
    """Per row of a pane a number, equal where the keys are equal, and whether there is a key at all (None: everywhere)."""
    if ("hashes", key.number) not in pane.notes:
        values = key.values(port, pane)
        known = values.is_not_null().to_numpy() if values.null_count() else None
        if values.dtype == pl.Int64:
            numbers = (values if known is None else values.fill_null(0)).to_numpy().view(np.uint64)
        else:
            # Adding 0.0 makes -0.0 the 0.0 that it equals.
            numbers = (values + 0.0 if values.dtype == pl.Float64 else values).hash().to_numpy()
        pane.notes["hashes", key.number] = numbers, known
    hashes: tuple[Numbers, Booleans | None] = pane.notes["hashes", key.number]
    return hashes


def combined(parts: Sequence[tuple[Numbers, Booleans | None]]) -> tuple[Numbers, Booleans | None]:
    """One number for several, known where all are."""
    numbers, known = parts[0]
    for more, there in parts[1:]:
        numbers = numbers * np.uint64(0x9E3779B97F4A7C15) + more
        if there is not None:
            known = there if known is None else known & there
    return numbers, known


def _tested(step: Step, batch: list[Members]) -> list[Members]:
    """Those that keep the step's keys and conditions; few from each of several panes are looked at together."""
    for key in step.compared:
        if batch:
            mine, theirs = (
                pl.concat([column_of(members[port], key.values(port, members[port][0])) for members in batch])
                for port in (step.port, key.other(step.port))
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
    """The members for which it holds; it is told for all of the batch, one after the other."""
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
