"""A symmetric hash join of two streams with a cleaner (fjords.txt section 3.1.4): pairs of equal keys within a window.

    (l, r)  with  keys(l) = keys(r),  |time l - time r| <= width,  and the predicate

When tuples arrive they are hashed into their side's table, and the other side's table is probed: nothing waits, and a round
costs what is new in it, not what is kept. This is `WindowJoin` over two streams, whose panes are such tables, with a cleaner that
can be given less memory: it takes out what no window can reach any more, and with `most_rows` it also gives up the oldest within
reach, and counts them in `shed_by_port`. `shedding` is the other way to bound it: per stream, and by a policy (shedding.py).
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from operator import add, sub

import numpy as np
import polars as pl

from nilometer.expressions import Expression, type_of
from nilometer.operators.limits import operator
from nilometer.operators.logic import Output, Progress
from nilometer.operators.shedding.shedding import Shedding
from nilometer.operators.validation import require
from nilometer.operators.window_join.keys import KeyPair
from nilometer.operators.window_join.parts import reads_now
from nilometer.operators.window_join.window_join import WindowJoin
from nilometer.types import INT, INT_MINIMUM, Kind, Schema, Type

HASHABLE = frozenset({Kind.INT, Kind.FLOAT, Kind.STRING, Kind.BOOLEAN, Kind.TIME, Kind.DURATION})


@dataclass(frozen=True)
class SymmetricHashJoin:
    """Left (port 0) and right (port 1), within `width` of each other. `keys` are (left, right) expressions, at least one of
    them without NOW; `most_rows` bounds what both tables hold together."""

    left: Schema
    right: Schema
    width: int
    keys: tuple[tuple[Expression, Expression], ...]
    predicate: Expression | None = None
    id_type: Type = INT
    most_rows: int | None = None
    shedding: Shedding | None = None

    def __post_init__(self) -> None:
        _ = self.as_window_join
        require(self.most_rows is None or self.most_rows > 0, "a hash table without room for a row")
        require(bool(hashable(self.as_window_join.keys)), "a symmetric hash join without a key to hash")

    @property
    def as_window_join(self) -> WindowJoin:
        """The join that gives the same answer."""
        keys: tuple[KeyPair, ...] = tuple((0, left, 1, right) for left, right in self.keys)
        bounds = ((0, 1, self.width),)
        return WindowJoin(
            (self.left, self.right), bounds, keys, self.predicate, self.id_type, shedding=self.shedding
        )

    @property
    def schema(self) -> Schema:
        """The left's columns and then the right's."""
        return self.left + self.right

    def build(self) -> SymmetricHashJoinLogic:
        return SymmetricHashJoinLogic(self)


def hashable(keys: Sequence[KeyPair]) -> list[KeyPair]:
    """The keys that can be hashed when a tuple arrives: NOW is known only with the pair."""
    return [
        pair
        for pair in keys
        if not reads_now(pair) and type_of(pair[1]).kind in HASHABLE and type_of(pair[1]) == type_of(pair[3])
    ]


class SymmetricHashJoinLogic:
    """The W-join of both sides, and its cleaner."""

    def __init__(self, spec: SymmetricHashJoin) -> None:
        self._cleaned: tuple[int, ...] = (0, 0)
        self._width = spec.width
        self._most = spec.most_rows
        self._join = spec.as_window_join.build()
        self._horizon = INT_MINIMUM

    @property
    def shed_by_port(self) -> tuple[int, ...]:
        """What was given up of either side."""
        return tuple(map(add, self._cleaned, self._join.shed_by_port))

    @property
    def shed(self) -> int:
        """What was given up of both."""
        return sum(self.shed_by_port)

    def update(self, port: int, rows: pl.DataFrame) -> None:
        self._join.update(port, rows)

    @operator("a join by WINDOW")
    def advance(self, progress: Progress) -> Output:
        output = self._join.advance(progress)
        if self._most is not None and self._join.height > self._most:
            self._clean(self._most, max(progress.watermark - self._width, INT_MINIMUM))
        return output

    def _clean(self, most: int, reach: int) -> None:
        """Section 3.1.4's cleaner: what is out of reach is no loss; then the oldest."""
        times = np.sort(self._join.times())
        times = times[times >= reach]
        if len(times) > most:
            self._horizon = int(times[len(times) - most - 1]) + 1
            before = self._join.heights
            self._join.forget(self._horizon)
            self._cleaned = tuple(map(add, self._cleaned, map(sub, before, self._join.heights)))

    # ---- state -------------------------------------------------------------------------------------------------------

    def snapshot(self) -> dict[str, bytes]:
        numbers = {"cleaned": self._cleaned, "horizon": self._horizon}
        return {"numbers": json.dumps(numbers).encode()} | self._join.snapshot()

    def restore(self, panes: dict[str, bytes]) -> None:
        numbers = json.loads(panes["numbers"])
        self._cleaned, self._horizon = tuple(numbers["cleaned"]), numbers["horizon"]
        self._join.restore(panes)
        self._join.forget(self._horizon)
