"""The steps of the W-join: from one stream's new tuples to N-tuples, one stream after the other (algorithms, 4.2).

`plan_steps` decides, once, in which order a delta is extended and what is tested at each step: next comes a stream that
an equality ties to those chosen, then the one with the narrowest window. `extend` carries it out on row numbers: the
candidates of a partial tuple are one range of the next stream's buffer, in (key, time) order, between

    low = max over chosen k of (time k - D_kj)        high = min over chosen k of (time k + D_kj)

and pairs are built in chunks, depth first, so that no more than a chunk per step is ever held.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import polars as pl

from nilometer.expressions import Expression, columns_of, conjunction, uses_now
from nilometer.kernels.candidates import expand_in_chunks, group_order, group_ranges
from nilometer.kernels.ranges import Integers
from nilometer.operators.evaluate import Predicate, compile_predicate, evaluate
from nilometer.operators.logic import TICK, TIME

PAIRS_AT_ONCE = 1_000_000

Bound = tuple[int, int, int]
Members = dict[int, Integers]
"""N-tuples, or parts of them: per port the row numbers in its buffer."""


@dataclass(frozen=True)
class Key:
    """An equality between tuples of two streams."""

    left: int
    left_expression: Expression
    right: int
    right_expression: Expression

    def other(self, port: int) -> int:
        """The port at the other end."""
        return self.right if port == self.left else self.left


@dataclass(frozen=True)
class Graph:
    """What ties the streams together: columns per port, implied widths, bounds, keys, and conditions on several."""

    columns: tuple[frozenset[str], ...]
    widths: Integers
    bounds: tuple[Bound, ...]
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
    """Add a tuple of `port`. One of `keys` (number, chosen port) and `reach` (chosen port, implied width) find candidates;
    the keys, `bounds` and `condition`, which reads `columns` (port, name), decide."""

    port: int
    keys: tuple[tuple[int, int], ...]
    reach: tuple[tuple[int, int], ...]
    bounds: tuple[tuple[int, int], ...]
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
    keys = tuple(
        (number, key.other(port))
        for number, key in enumerate(graph.keys)
        if port in (key.left, key.right) and key.other(port) in chosen
    )
    bounds = tuple(
        (right if left == port else left, width)
        for left, right, width in graph.bounds
        if port in (left, right) and (right if left == port else left) in chosen
    )
    names = {name for condition in ready for name in columns_of(condition)}
    columns = tuple(
        (one, name) for one in (*chosen, port) for name in sorted(graph.columns[one]) if name in names
    )
    condition = compile_predicate(conjunction(ready)) if ready else None
    reach = tuple((other, int(graph.widths[port, other])) for other in chosen)
    return Step(port, keys, reach, bounds, condition, columns)


class Buffers:
    """One round's tuples: per port the old and then the new rows, with their times and key codes."""

    def __init__(self, old: Sequence[pl.DataFrame], new: Sequence[pl.DataFrame], keys: Sequence[Key]) -> None:
        self.rows = [pl.concat(pair, rechunk=True) for pair in zip(old, new, strict=True)]
        self.olds = [rows.height for rows in old]
        self.times: list[Integers] = [rows[TIME].to_numpy() for rows in self.rows]
        self._keys = keys
        self._orders: dict[tuple[int, int, int | None], tuple[Integers, Integers, Integers]] = {}

    @cached_property
    def codes(self) -> list[dict[int, Integers]]:
        """Per key the codes of both streams' rows: equal where the keys are equal, negative for NULL."""
        return [self._encode(key) for key in self._keys]

    def _encode(self, key: Key) -> dict[int, Integers]:
        left = evaluate(key.left_expression, self.rows[key.left])
        right = evaluate(key.right_expression, self.rows[key.right])
        values = pl.concat([left, right.cast(left.dtype)]).alias("@key").to_frame()
        found = values.join(
            values.unique(maintain_order=True).drop_nulls().with_row_index("@code"),
            on="@key",
            how="left",
            maintain_order="left",
        )
        codes = found["@code"].cast(pl.Int64).fill_null(-1).to_numpy()
        return {key.left: codes[: len(left)], key.right: codes[len(left) :]}

    def leading(self, keys: Sequence[tuple[int, int]]) -> tuple[int, int] | None:
        """The key with the most distinct values, which leads to the fewest candidates."""
        return max(
            keys,
            key=lambda key: max(codes.max(initial=-1) for codes in self.codes[key[0]].values()),
            default=None,
        )

    def index(self, port: int, count: int, key: int | None) -> tuple[Integers, Integers, Integers]:
        """The first `count` rows of a port in (key, time) order, without NULL keys: their numbers, codes and times."""
        if (port, count, key) not in self._orders:
            times = self.times[port][:count]
            codes = np.zeros_like(times) if key is None else self.codes[key][port][:count]
            order = group_order(codes, times)
            order = order[np.searchsorted(codes[order], 0) :]
            self._orders[port, count, key] = order, codes[order], times[order]
        return self._orders[port, count, key]


def extend(buffers: Buffers, steps: Steps) -> Iterator[Members]:
    """All N-tuples whose member of `steps.start` is new; of streams after it only the old tuples take part, so that a
    tuple with several new members is found from the last of their streams alone."""
    first = np.arange(buffers.olds[steps.start], len(buffers.times[steps.start]), dtype=np.int64)
    if len(first):
        yield from _extend(buffers, steps, 0, {steps.start: first})


def _extend(buffers: Buffers, steps: Steps, depth: int, members: Members) -> Iterator[Members]:
    if depth == len(steps.steps):
        yield members
        return
    step = steps.steps[depth]
    visible = buffers.olds[step.port] if step.port > steps.start else len(buffers.times[step.port])
    leading = buffers.leading(step.keys)
    order, codes, times = buffers.index(step.port, visible, leading[0] if leading else None)
    low = np.maximum.reduce([buffers.times[port][members[port]] - width for port, width in step.reach])
    high = np.minimum.reduce([buffers.times[port][members[port]] + width for port, width in step.reach])
    probes = buffers.codes[leading[0]][leading[1]][members[leading[1]]] if leading else np.zeros_like(low)
    starts, ends = group_ranges(codes, times, probes, low, high)
    for owners, places in expand_in_chunks(starts, ends, PAIRS_AT_ONCE):
        wider = {port: rows[owners] for port, rows in members.items()} | {step.port: order[places]}
        tested = _tested(buffers, step, wider)
        if len(tested[step.port]):
            yield from _extend(buffers, steps, depth + 1, tested)


def _tested(buffers: Buffers, step: Step, members: Members) -> Members:
    """Those that keep the step's bounds, keys and conditions."""
    times = buffers.times[step.port][members[step.port]]
    holds = np.ones(len(times), dtype=np.bool_)
    for port, width in step.bounds:
        holds &= np.abs(buffers.times[port][members[port]] - times) <= width
    for number, port in step.keys:
        codes = buffers.codes[number]
        mine, theirs = codes[step.port][members[step.port]], codes[port][members[port]]
        holds &= (mine == theirs) & (mine >= 0)
    members = {port: rows[holds] for port, rows in members.items()}
    if step.condition is None or not len(members[step.port]):
        return members
    now = np.maximum.reduce([buffers.times[port][rows] for port, rows in members.items()])
    columns = [buffers.rows[port][name][members[port]] for port, name in step.columns]
    truth = step.condition.mask(pl.DataFrame([pl.Series(TICK, now), *columns])).to_numpy()
    return {port: rows[truth] for port, rows in members.items()}
