"""The W-join's equalities as classes: expressions that are equal in every N-tuple are evaluated, hashed and
indexed once per stream.

`A.k = B.k AND B.k = C.k` is one class over three streams. The equivalence classes of the equalities (their
transitive closure) also imply A.k = C.k, so a step from A may go directly to C.

>>> from nilometer.expressions import ColumnReference
>>> from nilometer.types import INT
>>> a, b, c = (ColumnReference(f"{name}.k", INT) for name in "abc")
>>> [sorted(each.ports) for each in classes_of([(0, a, 1, b), (1, b, 2, c)])]
[[0, 1, 2]]
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import polars as pl

from nilometer.expressions import Expression, columns_of, type_of
from nilometer.kernels.arrays import Booleans, Words
from nilometer.operators.evaluate.evaluate import Evaluator, compile_expression
from nilometer.operators.frames import dtype
from nilometer.operators.panes import Pane

KeyPair = tuple[int, Expression, int, Expression]

_HASHED = (pl.Int64(), pl.Float64(), pl.String(), pl.Boolean())


@dataclass(frozen=True)
class KeyClass:
    """Equal expressions, one for each of two or more ports. It is the `number`th class of the join."""

    number: int
    members: tuple[tuple[int, Expression], ...]

    @cached_property
    def ports(self) -> frozenset[int]:
        """The streams that it ties together."""
        return frozenset(port for port, _ in self.members)

    @cached_property
    def dtype(self) -> pl.DataType:
        """The dtype in which all expressions are compared."""
        return dtype(type_of(self.members[0][1]))

    @property
    def hashed(self) -> bool:
        """Whether candidates are looked up by this class. A key of another type is only compared."""
        return self.dtype in _HASHED

    @property
    def exact(self) -> bool:
        """Whether equal hashes mean equal keys: an integer is its own hash."""
        return self.dtype == pl.Int64()

    @cached_property
    def _evaluators(self) -> dict[int, Evaluator]:
        return {port: compile_expression(expression) for port, expression in self.members}

    def of(self, port: int, rows: pl.DataFrame) -> pl.Series:
        """Evaluates the key of rows."""
        values = self._evaluators[port](rows)
        return values if values.dtype == self.dtype else values.cast(self.dtype)

    def columns(self, port: int) -> frozenset[str]:
        """The columns that the key of a stream reads."""
        return columns_of(dict(self.members)[port])

    def values(self, port: int, pane: Pane) -> pl.Series:
        """The key of a pane's rows. It is evaluated once."""
        if ("values", self.number) not in pane.notes:
            pane.notes["values", self.number] = self.of(port, pane.rows)
        found: pl.Series = pane.notes["values", self.number]
        return found

    def hashes(self, port: int, pane: Pane) -> tuple[Words, Booleans | None]:
        """Returns a number per row of a pane, equal where the keys are equal, and a mask of the rows that
        have a key (None: all rows).
        """
        if ("hashes", self.number) not in pane.notes:
            values = self.values(port, pane)
            known = values.is_not_null().to_numpy() if values.null_count() else None
            if self.exact:
                numbers = (values if known is None else values.fill_null(0)).to_numpy().view(np.uint64)
            else:
                # Adding 0.0 makes -0.0 the 0.0 that it equals.
                numbers = (values + 0.0 if values.dtype == pl.Float64 else values).hash().to_numpy()
            pane.notes["hashes", self.number] = numbers, known
        hashes: tuple[Words, Booleans | None] = pane.notes["hashes", self.number]
        return hashes


def classes_of(keys: Sequence[KeyPair]) -> tuple[KeyClass, ...]:
    """Groups the equalities into classes, each equality in one class. Where a class would have two
    expressions of one stream, its equalities stay separate.
    """
    groups: list[tuple[set[tuple[int, Expression]], list[KeyPair]]] = []
    for pair in keys:
        ends = {(pair[0], pair[1]), (pair[2], pair[3])}
        touched = [group for group in groups if group[0] & ends]
        groups = [group for group in groups if not group[0] & ends]
        members = ends.union(*(group[0] for group in touched))
        groups.append((members, [*(old for group in touched for old in group[1]), pair]))
    found: list[tuple[tuple[int, Expression], ...]] = []
    for members, pairs in groups:
        if len({port for port, _ in members}) == len(members):
            found.append(tuple(sorted(members, key=lambda member: member[0])))
        else:
            found += [((left, one), (right, other)) for left, one, right, other in pairs]
    return tuple(KeyClass(number, members) for number, members in enumerate(dict.fromkeys(found)))


def combined(parts: Sequence[tuple[Words, Booleans | None]]) -> tuple[Words, Booleans | None]:
    """Combines several hashes into one, which is known where all of them are."""
    numbers, known = parts[0]
    for more, there in parts[1:]:
        numbers = numbers * np.uint64(0x9E3779B97F4A7C15) + more
        if there is not None:
            known = there if known is None else known & there
    return numbers, known
