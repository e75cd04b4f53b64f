"""ISTREAM and DSTREAM of a join of time windows, by deltas: streams -> stream (ToStream over Joins of
TimeWindows).

A row of an input is visible from the evaluation at which it enters its window until the one at which it
leaves. A joined row exists from the last entry of its rows until the first leave:

    birth = max(enter_1, ..., enter_n)        death = min(leave_1, ..., leave_n)        if birth < death

So a round joins only the rows that enter or leave with the other windows. The joined rows with a changing
member are those of C1 ⋈ A2 ⋈ ... ⋈ An, K1 ⋈ C2 ⋈ ... ⋈ An, and so on, where Ci are the changing rows of input
i, Ki those that stay, and Ai all. D+ is the bag of joined rows born at T, and D- the bag of those that died
at T. Then window(T) - window(T') = D+ - D-, because rows that stayed cancel out (operators/to_stream.py
defines the difference).

The inputs are streams, and their ports list the evaluations of their windows (operators/window_ticks.py).

Two windows of 2 ticks are joined where their values are equal. The pair enters at tick 2, when its second row
does:

>>> r, s = (Schema((Column(f"{name}.x", INT),)) for name in "rs")
>>> window = Scope(start=2, end=0, slide=1, open_start=True)
>>> equal = Edge(0, ColumnReference("r.x", INT), 1, ColumnReference("s.x", INT))
>>> logic = JoinChanges((Side(r, window), Side(s, window)), (equal,), "ISTREAM", r + s).build()
>>> logic.update(0, pl.DataFrame([(1, 1, 1, 0, 7)], frames.stream_dtypes(r), orient="row"))
>>> logic.update(1, pl.DataFrame([(2, 2, 9, 0, 7)], frames.stream_dtypes(s), orient="row"))
>>> ticks = frames.evaluations(pl.Series([1, 2, 3]))
>>> logic.advance(Progress(4, 1, (ticks, ticks))).rows.select(TICK, "r.x", "s.x").rows()
[(2, 7, 7)]
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import polars as pl

from nilometer.algebra import JoinKind, Relation
from nilometer.errors import InternalError
from nilometer.expressions import Call, ColumnReference, Expression, conjunction, type_of
from nilometer.kernels.arrays import Integers
from nilometer.operators import frames
from nilometer.operators.evaluate.evaluate import compile_projection
from nilometer.operators.gathering import gather
from nilometer.operators.latest import union_of_ticks
from nilometer.operators.limits import operator
from nilometer.operators.logic import EVALUATION, TICK, Output, Progress, no_evaluations
from nilometer.operators.matching import Matcher, Matching
from nilometer.operators.panes import Panes
from nilometer.operators.to_stream import as_stream, bag_difference
from nilometer.operators.window_scope import Scope
from nilometer.types import BOOLEAN, INT, INT_MAXIMUM, INT_MINIMUM, Column, Schema, Type

ROWS_A_STEP = 4_096
"""A step has a fixed cost, so it covers at least this many entering rows (if there are as many) or a quarter
of a window.
"""

BEFORE, AFTER = INT_MINIMUM, INT_MAXIMUM
"""The entry time of a row that was there before, and the leave time of a row that stays."""

Transform = Callable[[pl.DataFrame], pl.DataFrame]


@dataclass(frozen=True)
class Side:
    """An input: the visible columns of its rows, and its window."""

    schema: Schema
    scope: Scope


@dataclass(frozen=True)
class Edge:
    """An equality between two inputs."""

    left: int
    left_expression: Expression
    right: int
    right_expression: Expression


@dataclass(frozen=True)
class JoinChanges:
    """Spec. `then` transforms joined rows before they are compared (columns as in the plan, after
    `@evaluation` and `@tick`). `schema` are the visible columns that it returns.
    """

    sides: tuple[Side, ...]
    edges: tuple[Edge, ...]
    relation: str
    schema: Schema
    then: tuple[Transform, ...] = ()
    id_type: Type = INT

    def __post_init__(self) -> None:
        if len(self.sides) < 2:
            raise InternalError("a join of one window")
        if self.relation not in (Relation.ISTREAM, Relation.DSTREAM):
            raise InternalError(f"changes by {self.relation}")

    def build(self) -> JoinChangesLogic:
        """A fresh Logic."""
        return JoinChangesLogic(self)


class _Window:
    """The rows of an input that its latest or a future window sees, and the tick of the latest window."""

    def __init__(self, side: Side) -> None:
        self._scope = side.scope
        self._names = list(side.schema.names)
        self._columns = {TICK: pl.Int64()} | frames.dtypes(side.schema)
        reach = side.scope.reach
        span = None if reach is None else max(reach // 16, side.scope.period or 0)
        self._panes = Panes(TICK, self._columns, span)
        self._pending: list[pl.DataFrame] = []
        self.last = BEFORE

    def take(self, rows: pl.DataFrame) -> None:
        """Take rows of the stream."""
        seen = self._scope.ever_seen(rows.get_column(TICK).to_numpy())
        kept = frames.conform(rows, self._columns)
        self._pending.append(kept if seen is None else kept.filter(pl.Series(seen)))

    def settle(self) -> None:
        """Store the round's rows."""
        self._panes.append(frames.concatenate(self._pending, self._columns))
        self._pending = []

    def lives(self, evaluations: Integers) -> tuple[pl.DataFrame, Integers, Integers]:
        """Returns the rows that the latest window or these evaluations see, and when each enters and
        leaves.
        """
        steps = np.concatenate([[self.last], evaluations]).astype(np.int64)
        reach, end = self._scope.reach, self._scope.end
        highest = int(steps[-1]) - end if steps[-1] != BEFORE else BEFORE
        rows = self._panes.between(None, highest)
        ticks = rows.get_column(TICK).to_numpy()
        entry = np.searchsorted(steps, ticks + end, side="left")
        leave = (
            np.full(len(ticks), len(steps))
            if reach is None
            else np.searchsorted(steps, ticks + reach, side="left")
        )
        seen = entry < leave
        enters = np.append(steps, AFTER)[entry]
        enters[entry == 0] = BEFORE
        leaves = np.append(steps, AFTER)[leave]
        kept = np.flatnonzero(seen)
        return rows[kept].select(self._names), enters[kept], leaves[kept]

    def entering(self, ticks: Integers) -> Integers:
        """Returns how many rows there are at or before each tick."""
        rows = self._panes.between(None, int(ticks[-1]))
        return np.searchsorted(rows.get_column(TICK).to_numpy(), ticks, side="right")

    def go_on(self, evaluations: Integers) -> None:
        """Move on to the last of these evaluations and drop the rows that it no longer sees."""
        if len(evaluations):
            self.last = int(evaluations[-1])
            if self._scope.reach is not None:
                self._panes.expire(self.last - self._scope.reach + 1)

    def to_panes(self, prefix: str) -> dict[str, bytes]:
        """Returns the state as panes."""
        self.settle()
        return self._panes.snapshot(prefix)

    def from_panes(self, prefix: str, panes: dict[str, bytes]) -> None:
        """Take back what `to_panes` gave."""
        self._panes.restore(prefix, panes)


@dataclass(frozen=True)
class _Chain:
    """The joins that lead from one input to all others."""

    first: int
    steps: tuple[tuple[int, Matcher], ...]


class JoinChangesLogic:
    """The windows of all inputs."""

    def __init__(self, spec: JoinChanges) -> None:
        self._spec = spec
        self._windows = [_Window(side) for side in spec.sides]
        self._keys = [list(_keys(spec.edges, number)) for number in range(len(spec.sides))]
        self._projectors = [compile_projection(keys) for keys in self._keys]
        self._chains = [_chain(spec, self._keys, number) for number in range(len(spec.sides))]
        self._joined = frames.window_dtypes(
            Schema(tuple(column for side in spec.sides for column in side.schema))
        )
        self._values = list(spec.schema.names)
        self._window_columns = frames.window_dtypes(spec.schema)
        self._columns = frames.stream_dtypes(spec.schema, spec.id_type)

    def update(self, port: int, rows: pl.DataFrame) -> None:
        """Take rows of a stream."""
        self._windows[port].take(rows)

    @operator("ISTREAM or DSTREAM of a join")
    def advance(self, progress: Progress) -> Output:
        """Returns the changes at every tick of the union."""
        for window in self._windows:
            window.settle()
        listed = [each.get_column(TICK).to_numpy() for each in progress.evaluations]
        ticks = union_of_ticks(*(pl.Series(each, dtype=pl.Int64) for each in listed))
        changes = []
        for low, high in self._spans(ticks):
            now = [each[(each >= low) & (each <= high)] for each in listed]
            changes.append(self._changes(now))
            for window, evaluations in zip(self._windows, now, strict=True):
                window.go_on(evaluations)
        rows = frames.concatenate(changes, self._window_columns)
        return Output(as_stream(rows, self._columns), no_evaluations())

    def _spans(self, ticks: Integers) -> Iterator[tuple[int, int]]:
        """Divides the ticks into steps. Each is long enough to be worth its cost, and short enough that most
        of its rows live at the same time.
        """
        if not len(ticks):
            return
        reaches = [side.scope.reach for side in self._spec.sides]
        span = min((reach // 4 for reach in reaches if reach is not None), default=AFTER)
        heights = np.sum([window.entering(ticks) for window in self._windows], axis=0)
        first = 0
        while first < len(ticks):
            by_time = int(
                np.searchsorted(
                    ticks, ticks[first] + min(span, AFTER - max(int(ticks[first]), 0)), side="right"
                )
            )
            before = heights[first - 1] if first else 0
            by_rows = int(np.searchsorted(heights, before + ROWS_A_STEP, side="right"))
            end = min(max(by_time, by_rows, first + 1), len(ticks))
            yield int(ticks[first]), int(ticks[end - 1])
            first = end

    def _changes(self, evaluations: list[Integers]) -> pl.DataFrame:
        lives = [window.lives(now) for window, now in zip(self._windows, evaluations, strict=True)]
        changing = [(enters != BEFORE) | (leaves != AFTER) for _, enters, leaves in lives]
        tables = [self._table(number, *life) for number, life in enumerate(lives)]
        found = [
            self._follow(chain, tables, changing) for chain in self._chains if changing[chain.first].any()
        ]
        born, died = [], []
        for rows in found:
            born.append(self._at("@birth", rows.filter(pl.col("@birth") != BEFORE), lives))
            died.append(self._at("@death", rows.filter(pl.col("@death") != AFTER), lives))
        one, other = (born, died) if self._spec.relation == Relation.ISTREAM else (died, born)
        return bag_difference(
            frames.concatenate(one, self._window_columns),
            frames.concatenate(other, self._window_columns),
            [TICK, *self._values],
        )

    def _table(self, number: int, rows: pl.DataFrame, enters: Integers, leaves: Integers) -> pl.DataFrame:
        """Returns an input's rows in the form that the joins use: their places, lives and keys."""
        keys = self._projectors[number](rows, ()).get_columns() if self._keys[number] else []
        return pl.DataFrame(
            [
                pl.Series(f"@row{number}", np.arange(len(enters), dtype=np.int64)),
                pl.Series(f"@enter{number}", enters),
                pl.Series(f"@leave{number}", leaves),
                *keys,
            ]
        )

    def _follow(self, chain: _Chain, tables: list[pl.DataFrame], changing: list[Integers]) -> pl.DataFrame:
        """Returns the joined rows in which the chain's first input changes and no input before it does."""
        first = chain.first
        rows = tables[first].filter(pl.Series(changing[first]))
        rows = rows.rename({f"@enter{first}": "@birth", f"@leave{first}": "@death"})
        for number, match in chain.steps:
            table = tables[number]
            rows = match(rows, table.filter(pl.Series(~changing[number])) if number < first else table)
            rows = rows.with_columns(
                pl.max_horizontal("@birth", f"@enter{number}").alias("@birth"),
                pl.min_horizontal("@death", f"@leave{number}").alias("@death"),
            ).drop(f"@enter{number}", f"@leave{number}")
        return rows

    def _at(
        self, when: str, rows: pl.DataFrame, lives: list[tuple[pl.DataFrame, Integers, Integers]]
    ) -> pl.DataFrame:
        """Returns joined rows at the tick of their birth or death, in the form in which they are compared."""
        at = rows.get_column(when)
        columns = [at.alias(EVALUATION), at.alias(TICK)]
        for number, (own, _, _) in enumerate(lives):
            columns += gather(own, rows.get_column(f"@row{number}").to_numpy())
        joined = frames.conform(pl.DataFrame(columns), self._joined)
        for transform in self._spec.then:
            joined = transform(joined)
        return frames.conform(joined, self._window_columns)

    def snapshot(self) -> dict[str, bytes]:
        """The panes of each input, and its latest evaluation."""
        panes = {"meta": json.dumps([window.last for window in self._windows]).encode()}
        for number, window in enumerate(self._windows):
            panes |= window.to_panes(f"{number} pane")
        return panes

    def restore(self, panes: dict[str, bytes]) -> None:
        """Take back a snapshot."""
        for number, (window, last) in enumerate(zip(self._windows, json.loads(panes["meta"]), strict=True)):
            window.last = last
            window.from_panes(f"{number} pane", panes)


# ---- compiling -------------------------------------------------------------------------------------------------------


def _keys(edges: tuple[Edge, ...], number: int) -> Iterator[tuple[str, Expression]]:
    """The key columns of an input: one for each end of an equality."""
    for place, edge in enumerate(edges):
        if edge.left == number:
            yield f"@key{place}.left", edge.left_expression
        if edge.right == number:
            yield f"@key{place}.right", edge.right_expression


def _chain(spec: JoinChanges, keys: list[list[tuple[str, Expression]]], first: int) -> _Chain:
    reached = [first]
    steps: list[tuple[int, Matcher]] = []
    held = [f"@row{first}"]
    while len(reached) < len(spec.sides):
        rest = [number for number in range(len(spec.sides)) if number not in reached]
        # Inputs that an equality reaches come first. A product is used where there is none.
        number = next((n for n in rest if _pairs(spec.edges, reached, n)), rest[0])
        left = _schema([*held, "@birth", "@death"], [key for each in reached for key in keys[each]])
        right = _schema([f"@row{number}", f"@enter{number}", f"@leave{number}"], keys[number])
        pairs = tuple(_pairs(spec.edges, reached, number))
        together = conjunction([_less(f"@enter{number}", "@death"), _less("@birth", f"@leave{number}")])
        steps.append((number, Matching(left, right, JoinKind.INNER, pairs, together).build()))
        reached.append(number)
        held.append(f"@row{number}")
    return _Chain(first, tuple(steps))


def _pairs(edges: tuple[Edge, ...], reached: list[int], number: int) -> list[tuple[Expression, Expression]]:
    """The equalities between the inputs reached and another."""
    pairs = []
    for place, edge in enumerate(edges):
        ends = (
            ColumnReference(f"@key{place}.left", type_of(edge.left_expression)),
            ColumnReference(f"@key{place}.right", type_of(edge.right_expression)),
        )
        if edge.left in reached and edge.right == number:
            pairs.append(ends)
        elif edge.right in reached and edge.left == number:
            pairs.append((ends[1], ends[0]))
    return list(pairs)


def _schema(numbers: list[str], keys: list[tuple[str, Expression]]) -> Schema:
    return Schema((*(Column(name, INT) for name in numbers), *(Column(name, type_of(e)) for name, e in keys)))


def _less(one: str, other: str) -> Expression:
    return Call("<", (ColumnReference(one, INT), ColumnReference(other, INT)), BOOLEAN)
