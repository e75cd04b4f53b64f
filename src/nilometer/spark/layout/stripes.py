"""Stripes, by which joins of near rows without an equality can be divided among buckets.

    SIMILAR ... WITHIN epsilon       WINDOW = 5 SECONDS WHERE abs(a.x - b.x) <= 3

The number line is cut into stripes, and each stripe is assigned to a bucket. Each row of one input, the
pivot, goes only to the bucket of its stripe. A row of another input has copies in the buckets of all stripes
that may hold a pivot row that pairs with it. So every result is found in its pivot's bucket, and in no other.
In SIMILAR a tuple plays both roles: it answers in its home bucket, and its copies are only found
(operators/similar/stripe_home.py).

Stripes are twice as wide as the widest reach, so that a row has at most 1.5 copies on average.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from nilometer.algebra import Collection, JoinKind
from nilometer.algebra.table_function import ByNearness
from nilometer.expressions import ColumnReference, Expression, conjuncts
from nilometer.kernels.arrays import Integers
from nilometer.kernels.stripes import spread, stripes
from nilometer.operators.bands import WHOLE, Band, bands_of
from nilometer.operators.similar.stripe_home import stripe_width
from nilometer.plan import physical
from nilometer.plan.window_join_parts import KeyPair
from nilometer.types import INT_MAXIMUM, Kind, Schema

_MEASURED = (*WHOLE, Kind.FLOAT)
_ROUNDING = 2.0**-48
"""A bound on the rounding when a condition is evaluated, relative to the values in it."""


@dataclass(frozen=True)
class Stripes:
    """A row with value v has copies in all stripes of this width that overlap v - below ... v + above, with a
    margin for rounding; `scale` is the magnitude of the other numbers that are rounded.
    """

    width: float
    below: float = 0.0
    above: float = 0.0
    scale: float = 0.0

    def spread(self, values: pl.Series, buckets: int) -> tuple[Integers, Integers]:
        """The rows bucket by bucket, and where each bucket begins (kernels/stripes.py). NULL is near nothing:
        it goes where 0 goes.
        """
        numbers = values.cast(pl.Float64).fill_null(0.0).to_numpy()
        if not self.below and not self.above and not self.scale:
            home = stripes(numbers, self.width)
            return spread(home, home, buckets)
        with np.errstate(over="ignore"):
            slack = _ROUNDING * (np.abs(numbers) + abs(self.below) + abs(self.above) + self.scale)
            low, high = numbers - self.below - slack, numbers + self.above + slack
        return spread(stripes(low, self.width), stripes(high, self.width), buckets)


Striped = tuple[tuple[Expression, Stripes], ...]
"""For each input of a join, the expression by which its rows are striped, and the stripes."""


def stripes_of(node: physical.Node) -> Striped | None:
    """The stripes that divide a join's inputs; None if nothing bounds the distance between joined rows."""
    match node:
        case physical.TableFunction(call=call):
            near = call.divides(node.input.schema)
            if not isinstance(near, ByNearness):
                return None
            value = ColumnReference(near.column, node.input.schema[near.column].type)
            return ((value, Stripes(stripe_width(near.distance), near.distance, near.distance)),)
        case physical.NlJoin(kind=JoinKind.FULL) | physical.WindowJoin(kind=JoinKind.FULL):
            return None  # it decides about the tuples of both sides by whether they have a partner
        case physical.WindowJoin(keys=keys, predicate=predicate):
            found = bands_of(conjuncts(predicate))
            equal = (_equality(key) for key in keys)
            bands = [band for band in (*found, *equal) if band is not None]
            pivots: Sequence[int] = range(len(node.inputs)) if node.kind is JoinKind.INNER else (0,)
            return _around_pivot(bands, node.inputs, pivots)
        case physical.NlJoin(predicate=predicate) if not _with_table(node):
            # A join other than INNER decides about a left row by whether it has a partner, so each left row
            # must be in one bucket only.
            pivots = (0, 1) if node.kind is JoinKind.INNER else (0,)
            return _around_pivot(bands_of(conjuncts(predicate)), node.inputs, pivots)
        case _:
            return None


def _equality(key: KeyPair) -> Band | None:
    """The equality as a band of width zero."""
    left, right = key.left_expression, key.right_expression
    if not isinstance(left, ColumnReference) or not isinstance(right, ColumnReference):
        return None
    return Band(left.name, right.name, 0, 0, 0) if left.type.kind in _MEASURED else None


def _with_table(node: physical.NlJoin) -> bool:
    return any(child.collection is Collection.TABLE for child in node.inputs)


@dataclass(frozen=True)
class _Reach:
    """How far a column can be from the pivot: column - pivot is between low and high."""

    low: float
    high: float
    scale: float = 0.0

    @property
    def spread(self) -> float:
        return self.high - self.low

    def by(self, band: Band) -> _Reach | None:
        """The reach of a column that is within this band of the present one."""
        if band.low is None or band.high is None:
            return None
        return _Reach(self.low + band.low, self.high + band.high, self.scale + band.scale)


def _around_pivot(
    bands: Sequence[Band], inputs: Sequence[physical.Node], pivots: Sequence[int]
) -> Striped | None:
    """The stripes around the pivot whose partners are nearest to it."""
    # An empty band (5 <= a - b <= 3) gives no range to search: there are no stripes from 5 up to 3.
    bands = [band for band in bands if band.low is None or band.high is None or band.low <= band.high]
    found = []
    for pivot in sorted({column for band in bands for column in (band.plus, band.minus)}):
        if not any(pivot in inputs[port].schema for port in pivots):
            continue
        reached = _reached(bands, pivot)
        nearest = [_nearest(reached, child.schema, pivot) for child in inputs]
        chosen = [column for column in nearest if column is not None]
        width = 2 * max(reached[column].spread for column in chosen)
        if len(chosen) == len(inputs) and 0 < width < INT_MAXIMUM:
            found.append((sum(reached[column].spread for column in chosen), width, chosen, reached))
    if not found:
        return None
    _, width, chosen, reached = min(found, key=lambda each: each[0])
    # v - pivot is in low ... high, so the pivot is in v - high ... v - low.
    return tuple(
        (
            ColumnReference(column, child.schema[column].type),
            Stripes(width, 0.0 + reached[column].high, 0.0 - reached[column].low, reached[column].scale),
        )
        for column, child in zip(chosen, inputs, strict=True)
    )


def _nearest(reached: dict[str, _Reach], schema: Schema, pivot: str) -> str | None:
    if pivot in schema:
        return pivot
    own = [column for column in reached if column in schema]
    return min(own, key=lambda column: (reached[column].spread, column), default=None)


def _reached(bands: Sequence[Band], pivot: str) -> dict[str, _Reach]:
    """All columns that bands connect to the pivot, each with its narrowest reach."""
    reached = {pivot: _Reach(0.0, 0.0)}
    changed = True
    while changed:
        changed = False
        for band in bands:
            for known, other in ((band.minus, band.plus), (band.plus, band.minus)):
                reach = reached[known].by(band.seen_from(other)) if known in reached else None
                if reach is not None and (other not in reached or 0 <= reach.spread < reached[other].spread):
                    reached[other] = reach
                    changed = True
    return reached
