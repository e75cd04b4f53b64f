"""Aggregates over equi-joins of time windows by eager aggregation: streams -> windows (logical.Aggregate over
Joins of TimeWindows).

    Aggregate(keys, items) · (w1 ⋈ w2 ⋈ ... ⋈ wn)
        =>   each input aggregated by its keys, then joined, then aggregated

Each input keeps, for its window, one partial aggregate per value of its keys: the keys of the join and of
GROUP BY. At a tick the partials of two inputs are joined by key. A left partial of l rows and a right one of
r rows stand for l x r joined rows. So COUNT(*) is the sum of the products, and SUM of a left column is the
sum of the left sums times r (weighing.py). Columns that no later step needs are then aggregated away, before
the next input is joined. The cost of a tick depends on its keys, not on its joined rows.

The inputs are streams, and their ports list the evaluations of their windows (operators/window_ticks.py). As
in a window join, each tick of their union sees each input's latest window. An ungrouped aggregate gives one
row per tick, a grouped one a row per group that has a joined row.

Two windows of 2 ticks are joined where their values are equal. 2 rows x 1 row are 2 joined rows, and none of
them is built:

>>> from nilometer.operators.frames import evaluations, stream_dtypes
>>> from nilometer.types import INT
>>> x = ColumnReference("r.x", INT), ColumnReference("s.x", INT)
>>> sides = tuple(WindowAggregate(2, 0, 1, True, keys=((f"{n}.key", x[n]),)) for n in (0, 1))
>>> count = Item("n", AggregateExpression("count", None, False, INT))
>>> logic = JoinAggregate(sides, (Pairing(0, 1, (("0.key", "1.key"),), ()),), (), (count,)).build()
>>> def rows(name, *values):
...     schema = Schema((Column(f"{name}.x", INT),))
...     listed = [(1, 1, 1, place, value) for place, value in enumerate(values)]
...     return pl.DataFrame(listed, stream_dtypes(schema), orient="row")
>>> logic.update(0, rows("r", 7, 7, 8))
>>> logic.update(1, rows("s", 7, 9))
>>> ticks = evaluations(pl.Series([1, 2, 3]))
>>> logic.advance(Progress(4, 1, (ticks, ticks))).rows.select(TICK, "n").rows()
[(1, 2), (2, 2), (3, 0)]
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import polars as pl

from nilometer.algebra import JoinKind
from nilometer.errors import InternalError
from nilometer.expressions import Aggregate as AggregateExpression
from nilometer.expressions import ColumnReference, type_of
from nilometer.kernels.arrays import Integers
from nilometer.operators.frames import concatenate, conform, evaluations, window_dtypes
from nilometer.operators.join_aggregate.merging import Merging
from nilometer.operators.join_aggregate.partial_windows import PartialWindows
from nilometer.operators.join_aggregate.weighing import check_counts
from nilometer.operators.latest import union_of_ticks
from nilometer.operators.limits import operator
from nilometer.operators.logic import EVALUATION, TICK, Output, Progress
from nilometer.operators.matching import Matcher, Matching
from nilometer.operators.window_aggregate.components import ROWS
from nilometer.operators.window_aggregate.window_aggregate import WindowAggregate
from nilometer.types import INT, Column, Schema, Type

PARTIALS_AT_ONCE = 1_000_000
"""At most this many partial aggregates of a side are processed in one step."""


@dataclass(frozen=True)
class Pairing:
    """A join of two results. The results of the inputs are numbered 0, 1, ..., and those of earlier pairings
    follow. `keys` are pairs of key columns that must be equal. `kept` are the key columns that later steps
    need.
    """

    left: int
    right: int
    keys: tuple[tuple[str, str], ...]
    kept: tuple[str, ...]


@dataclass(frozen=True)
class Item:
    """An aggregate of the answer: its input (`side`) and its place in that input's list. `place` is None for
    COUNT(*), which every input has.
    """

    name: str
    aggregate: AggregateExpression
    side: int = 0
    place: int | None = None


@dataclass(frozen=True)
class JoinAggregate:
    """Spec.

    Parameters
    ----------
    sides
        Per input its window, its keys (as columns with names of their own) and the aggregates of its columns.
    pairings
        The joins, the last of which gives all.
    groups
        (name, key column) pairs of GROUP BY; none: one row per tick.
    items
        The aggregates.

    References
    ----------
    Yan, Larson: Eager aggregation and lazy aggregation, VLDB 1995.
    """

    sides: tuple[WindowAggregate, ...]
    pairings: tuple[Pairing, ...]
    groups: tuple[tuple[str, str], ...]
    items: tuple[Item, ...]

    def __post_init__(self) -> None:
        if len(self.sides) < 2 or len(self.pairings) != len(self.sides) - 1:
            raise InternalError("a join of one window, or windows that are not joined")
        if not all(side.sliding and side.completeness is None for side in self.sides):
            raise InternalError("an aggregate over a join whose partials have no constant size")

    @property
    def key_types(self) -> dict[str, Type]:
        """The key columns of all inputs."""
        return {name: type_of(expression) for side in self.sides for name, expression in side.keys}

    @property
    def schema(self) -> Schema:
        """The visible columns of the answer."""
        types = self.key_types
        keys = tuple(Column(name, types[column]) for name, column in self.groups)
        return Schema((*keys, *(Column(item.name, item.aggregate.type) for item in self.items)))

    def build(self) -> JoinAggregateLogic:
        """A fresh Logic."""
        return JoinAggregateLogic(self)


@dataclass(frozen=True)
class _CompiledPairing:
    """A compiled pairing."""

    left: int
    right: int
    match: Matcher
    columns: list[pl.Expr]
    groups: list[str]
    added: list[pl.Expr] | None


class JoinAggregateLogic:
    """The windows of all inputs, as partial aggregates."""

    def __init__(self, spec: JoinAggregate) -> None:
        self._spec = spec
        self._sides = [PartialWindows(side, number) for number, side in enumerate(spec.sides)]
        self._merging = Merging(spec, self._sides)
        self._weighed = self._merging.weighed
        self._columns = window_dtypes(spec.schema)
        self._steps = list(self._compiled())

    def update(self, port: int, rows: pl.DataFrame) -> None:
        """Take rows of a stream."""
        self._sides[port].update(0, rows)

    @operator("an aggregate over a join")
    def advance(self, progress: Progress) -> Output:
        """Returns the aggregates at every tick of the union, computed for a part of the ticks at a time."""
        for side in self._sides:
            side.settle(progress.watermark)
        listed = progress.evaluations
        ticks = union_of_ticks(*(each.get_column(TICK) for each in listed))
        parts = []
        size = max(1, PARTIALS_AT_ONCE // max(1, *map(len, self._sides)))
        for begin in range(0, len(ticks), size):
            part = ticks[begin : begin + size]
            for side, each in zip(self._sides, listed, strict=True):
                side.slide(each.filter(pl.col(TICK).is_between(int(part[0]), int(part[-1]))))
            parts.append(self._aggregated(part))
            for side in self._sides:
                side.forget()
        for side in self._sides:
            side.forget(round_is_over=True)
        return Output(concatenate(parts, self._columns), evaluations(pl.Series(ticks)))

    def _aggregated(self, ticks: Integers) -> pl.DataFrame:
        results = [
            weighed.begun(side.at(ticks)) for side, weighed in zip(self._sides, self._weighed, strict=True)
        ]
        for step, rows in zip(self._steps, self._rows[len(self._sides) :], strict=True):
            left, right = self._rows[step.left], self._rows[step.right]
            pairs = step.match(results[step.left], results[step.right])
            check_counts(pairs, left, right)
            joined = pairs.with_columns((pl.col(left) * pl.col(right)).alias(rows), *step.columns)
            if step.added is not None:
                joined = joined.group_by(step.groups, maintain_order=True).agg(
                    pl.col(rows).sum(), *step.added
                )
            results.append(joined)
        return self._answer(results[-1], ticks)

    def _answer(self, joined: pl.DataFrame, ticks: Integers) -> pl.DataFrame:
        groups = list(dict.fromkeys((TICK, *(column for _, column in self._spec.groups))))
        whole = self._merging.merged(joined, groups)
        if not self._spec.groups:
            every = pl.DataFrame({TICK: pl.Series(ticks, dtype=pl.Int64)})
            whole = every.join(whole, on=TICK, how="left", maintain_order="left")
        keys = [pl.col(column).alias(name) for name, column in self._spec.groups]
        found = whole.select(pl.col(TICK).alias(EVALUATION), TICK, *keys)
        return conform(found.with_columns(self._merging.answers(whole)), self._columns)

    # ---- compiling ---------------------------------------------------------------------------------------------------

    @property
    def _rows(self) -> list[str]:
        """Per result, the name of the column that counts the joined rows a partial stands for."""
        sides = [side.prefix + ROWS for side in self._sides]
        return sides + [f"pair{number}.{ROWS}" for number in range(len(self._spec.pairings))]

    def _compiled(self) -> Iterator[_CompiledPairing]:
        """Compiles the pairings."""
        types = self._spec.key_types
        members = [[number] for number in range(len(self._sides))]
        keys = [list(side.keys) for side in self._sides]
        for number, pairing in enumerate(self._spec.pairings):
            left, right = pairing.left, pairing.right
            schemas = [
                Schema(
                    (
                        *(Column(name, types[name]) for name in keys[at]),
                        *(Column(name, INT) for name in (self._rows[at], *self._carried(members[at]))),
                    )
                )
                for at in (left, right)
            ]
            pairs = tuple(
                (ColumnReference(one, types[one]), ColumnReference(other, types[other]))
                for one, other in pairing.keys
            )
            matching = Matching(schemas[0], schemas[1], JoinKind.INNER, pairs, by_tick=True)
            columns = [
                expression
                for at, other in ((left, right), (right, left))
                for member in members[at]
                for expression in self._weighed[member].weighed(pl.col(self._rows[other]))
            ]
            members.append(members[left] + members[right])
            keys.append(list(pairing.kept))
            last = number == len(self._spec.pairings) - 1
            unique = last or self._still_unique(pairing, keys[left] + keys[right])
            added = None if unique else [e for member in members[-1] for e in self._weighed[member].added()]
            yield _CompiledPairing(left, right, matching.build(), columns, [TICK, *pairing.kept], added)

    def _carried(self, members: list[int]) -> list[str]:
        return [name for member in members for name in self._weighed[member].names]

    @staticmethod
    def _still_unique(pairing: Pairing, columns: list[str]) -> bool:
        """Whether every dropped column equals a kept one, so that no two partials have to be merged."""
        partner = dict(pairing.keys) | {other: one for one, other in pairing.keys}
        return all(name in pairing.kept or partner.get(name) in pairing.kept for name in columns)

    # ---- state -------------------------------------------------------------------------------------------------------

    def snapshot(self) -> dict[str, bytes]:
        """The panes of each input."""
        return {
            f"{number} {name}": data
            for number, side in enumerate(self._sides)
            for name, data in side.snapshot().items()
        }

    def restore(self, panes: dict[str, bytes]) -> None:
        """Take back a snapshot."""
        for number, side in enumerate(self._sides):
            own = f"{number} "
            side.restore(
                {name.removeprefix(own): data for name, data in panes.items() if name.startswith(own)}
            )
