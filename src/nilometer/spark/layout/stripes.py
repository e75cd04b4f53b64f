"""Joins of rows that are near each other, without an equality -> stripes by which their inputs can be divided among buckets.

    SIMILAR ... WITHIN epsilon       WINDOW = 5 SECONDS WHERE abs(a.x - b.x) <= 3

The number line is cut into stripes, and each goes to a bucket. One input, the pivot, has each row in the bucket of its stripe alone; a row of
another has copies in the buckets of all stripes that hold a pivot it may pair with. So every result is found in its pivot's bucket, and in no other. In
SIMILAR a tuple is both: it answers at home, and its copies are only found (operators/stripe_home.py).

Stripes are twice as wide as the widest reach, so that a row has one copy and a half on average at most.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from nilometer.expressions import ColumnReference, Expression, conjuncts
from nilometer.kernels.stripes import Integers, spread, stripes
from nilometer.operators.similar_table import alike_is_equal
from nilometer.operators.stripe_home import stripe_width
from nilometer.plan import physical
from nilometer.plan.bands import MEASURED, Band, Side, bands_of
from nilometer.plan.logical import Collection, JoinKind
from nilometer.types import INT_MAXIMUM

_ROUNDING = 2.0**-48
"""More than is ever rounded when a condition is evaluated, of the values in it."""


@dataclass(frozen=True)
class Stripes:
    """A row with value v has copies in all stripes of this width that hold any of v - below ... v + above, and a little more: `constants` says how large
    the numbers are that are rounded beside it."""

    width: float
    below: float = 0.0
    above: float = 0.0
    constants: float = 0.0

    def spread(self, values: pl.Series, buckets: int) -> tuple[Integers, Integers]:
        """The rows bucket by bucket, and where each begins (kernels/stripes.py). NULL is near nothing: it goes where 0 goes."""
        numbers = values.cast(pl.Float64).fill_null(0.0).to_numpy()
        if not self.below and not self.above:
            home = stripes(numbers, self.width)
            return spread(home, home, buckets)
        with np.errstate(over="ignore"):
            slack = _ROUNDING * (np.abs(numbers) + abs(self.below) + abs(self.above) + self.constants)
            low, high = numbers - self.below - slack, numbers + self.above + slack
        return spread(stripes(low, self.width), stripes(high, self.width), buckets)


Striped = tuple[tuple[Expression, Stripes], ...]
"""For each input of a join what its rows are striped by, and how."""


def stripes_of(node: physical.Node) -> Striped | None:
    """The stripes that divide a join's inputs; None where nothing bounds how far its rows can be apart."""
    match node:
        case physical.SnJoin(column=column, epsilon=epsilon):
            value = node.input.schema[column].type
            if alike_is_equal(value, epsilon) or value.kind not in MEASURED:
                return None
            width = stripe_width(epsilon)
            return ((ColumnReference(column, value), Stripes(width, epsilon, epsilon)),)
        case physical.NlwJoin(keys=keys, predicate=predicate):
            found = bands_of(conjuncts(predicate), _columns(node))
            pairs = (((k.left, k.left_expression), (k.right, k.right_expression)) for k in keys)
            equal = tuple(Band(*pair, 0.0, 0.0) for pair in pairs if _measured(pair))
            return _around_pivot(found + equal, len(node.inputs), range(len(node.inputs)))
        case physical.NlJoin(predicate=predicate) if not _with_table(node):
            # The left rows are what the others keep, miss or look for: each must be in one bucket only.
            pivots = (0, 1) if node.kind is JoinKind.INNER else (0,)
            return _around_pivot(bands_of(conjuncts(predicate), _columns(node)), 2, pivots)
        case _:
            return None


def _columns(node: physical.Node) -> list[frozenset[str]]:
    return [frozenset(child.schema.names) for child in node.inputs]


def _measured(pair: tuple[Side, Side]) -> bool:
    return all(expression.type.kind in MEASURED for _, expression in pair)  # type: ignore[attr-defined]


def _with_table(node: physical.NlJoin) -> bool:
    return any(child.collection is Collection.TABLE for child in node.inputs)


@dataclass(frozen=True)
class _Reach:
    """How far a side can be from the pivot: side - pivot is between low and high."""

    low: float
    high: float
    constants: float = 0.0

    @property
    def spread(self) -> float:
        return self.high - self.low

    def on(self, low: float, high: float, constants: float) -> _Reach:
        """Of a side that is so far from this one."""
        return _Reach(self.low + low, self.high + high, self.constants + constants)


def _around_pivot(bands: Sequence[Band], inputs: int, pivots: Sequence[int]) -> Striped | None:
    """By the pivot whose partners are nearest to it."""
    found = []
    sides = {side for band in bands for side in (band.left, band.right) if side[0] in pivots}
    for pivot in sorted(sides, key=lambda side: (side[0], str(side[1]))):
        reached = _reached(bands, pivot)
        nearest = [pivot if port == pivot[0] else _nearest(reached, port) for port in range(inputs)]
        chosen = [side for side in nearest if side is not None]
        width = 2 * max(reached[side].spread for side in chosen)
        if len(chosen) == inputs and 0 < width < INT_MAXIMUM:
            found.append((sum(reached[side].spread for side in chosen), width, chosen, reached))
    if not found:
        return None
    _, width, chosen, reached = min(found, key=lambda each: each[0])
    # v - pivot is in low ... high, so the pivot is in v - high ... v - low.
    return tuple(
        (side[1], Stripes(width, 0.0 + reached[side].high, 0.0 - reached[side].low, reached[side].constants))
        for side in chosen
    )


def _nearest(reached: dict[Side, _Reach], port: int) -> Side | None:
    own = [side for side in reached if side[0] == port]
    return min(own, key=lambda side: (reached[side].spread, str(side[1])), default=None)


def _reached(bands: Sequence[Band], pivot: Side) -> dict[Side, _Reach]:
    """All sides that are tied to the pivot, by whichever bands say best how far they are from it."""
    reached = {pivot: _Reach(0.0, 0.0)}
    changed = True
    while changed:
        changed = False
        for band in bands:
            for known, other, low, high in (
                (band.right, band.left, band.low, band.high),
                (band.left, band.right, -band.high, -band.low),
            ):
                if known not in reached:
                    continue
                reach = reached[known].on(low, high, band.constants)
                if other not in reached or 0 <= reach.spread < reached[other].spread:
                    reached[other] = reach
                    changed = True
    return reached
