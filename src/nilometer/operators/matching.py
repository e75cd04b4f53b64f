"""Matching: two frames and a condition -> the joined frame, in all kinds. This is the core of the binary
joins.

Equal keys (NULL equals nothing) are found by hash. The right rows are grouped by key, so that each left row
has one *range* of candidates. Without keys the range is the whole right side, which makes a nested loop. The
residual is then evaluated on chunks of at most `PAIRS_AT_ONCE` pairs, and only over the columns it reads. So
the answer bounds the memory, not the product.

    INNER  all pairs · LEFT  those, and left rows without a pair with NULLs
    FULL  those, and right rows without a pair with NULLs · SEMI / ANTI  left rows with / without a pair

>>> from nilometer.expressions import ColumnReference
>>> from nilometer.types import INT, Column
>>> a, b = Schema((Column("a.k", INT),)), Schema((Column("b.k", INT),))
>>> equal = ColumnReference("a.k", INT), ColumnReference("b.k", INT)
>>> matcher = Matching(a, b, JoinKind.LEFT, (equal,)).build()
>>> matcher(pl.DataFrame({"a.k": [1, 2, None]}), pl.DataFrame({"b.k": [2, 2, None]})).rows()
[(2, 2), (2, 2), (1, None), (None, None)]
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar

import numpy as np
import polars as pl

from nilometer.algebra import JoinKind
from nilometer.expressions import Call, Expression, columns_of, conjunction, conjuncts, uses_now
from nilometer.kernels.arrays import Integers
from nilometer.kernels.candidates import expand_in_chunks
from nilometer.kernels.ranges import expand
from nilometer.operators.evaluate.evaluate import Evaluator, Predicate, compile_expression, compile_predicate
from nilometer.operators.gathering import gather
from nilometer.operators.limits import check_built
from nilometer.operators.logic import TICK
from nilometer.operators.validation import require, require_choice, require_columns, require_condition
from nilometer.types import BOOLEAN, Schema

PAIRS_AT_ONCE = 2_000_000


def join_kind(name: str) -> JoinKind:
    """The kind of this name (the planner's own enumeration has the same names)."""
    require_choice(name, JoinKind, "a join of the kind")
    return JoinKind(name)


KeyPairs = tuple[tuple[Expression, Expression], ...]


@dataclass(frozen=True)
class Matching:
    """A join of `left` rows with `right` rows. With `by_tick` both frames have `@tick`, and only rows of
    equal ticks join, or of equal `@evaluation` if `together` says so.

    Residuals and keys may read NOW, which is the left row's tick. If the right side is a table, it has no
    column from which a right key could read NOW: such a pair of keys becomes part of the residual.
    """

    left: Schema
    right: Schema
    kind: JoinKind
    keys: KeyPairs = ()
    residual: Expression | None = None
    by_tick: bool = False
    together: str = TICK

    def __post_init__(self) -> None:
        both = self.left + self.right
        for left_key, right_key in self.keys:
            require_columns(left_key, self.left, "a join's left key")
            require_columns(right_key, self.right, "a join's right key")
        if self.residual is not None:
            require_condition(self.residual, both, "a join's residual")
        if not self.by_tick:
            awkward = [pair for pair in self.keys if uses_now(pair[1])]
            if awkward:
                equalities = [Call("=", pair, BOOLEAN) for pair in awkward]
                object.__setattr__(self, "keys", tuple(pair for pair in self.keys if pair not in awkward))
                object.__setattr__(self, "residual", conjunction([*equalities, *conjuncts(self.residual)]))

    @property
    def schema(self) -> Schema:
        """The visible columns of the answer."""
        return self.left + self.right if self.kind.pairs else self.left

    def mirrored(self) -> Matching:
        """The same join with its sides exchanged. Only INNER can be mirrored."""
        require(self.kind is JoinKind.INNER, f"a {self.kind} join whose left side is a table")
        keys = tuple((right_key, left_key) for left_key, right_key in self.keys)
        return replace(self, left=self.right, right=self.left, keys=keys)

    def build(self) -> Matcher:
        """The compiled join."""
        return Matcher(self)


@dataclass(frozen=True)
class JoinSpec:
    """The part that all Specs of binary joins share: both schemas, the kind, pairs of equal keys, and the
    residual.
    """

    left: Schema
    right: Schema
    kind: str = JoinKind.INNER
    keys: KeyPairs = ()
    residual: Expression | None = None

    by_tick: ClassVar[bool] = False

    def __post_init__(self) -> None:
        _ = self.schema

    @property
    def matching(self) -> Matching:
        """The validated join."""
        kind = join_kind(self.kind)
        return Matching(self.left, self.right, kind, self.keys, self.residual, self.by_tick)

    @property
    def schema(self) -> Schema:
        """The visible columns of the answer."""
        return self.matching.schema


@dataclass(frozen=True)
class Candidates:
    """Per left row the range of its candidates in `order`, a permutation of (some of) the right rows."""

    low: Integers
    high: Integers
    order: Integers


class Matcher:
    """A compiled `Matching`: call it with two frames."""

    def __init__(self, matching: Matching) -> None:
        self._matching = matching
        self._left_keys = [compile_expression(left_key) for left_key, _ in matching.keys]
        self._right_keys = [compile_expression(right_key) for _, right_key in matching.keys]

    @cached_property
    def _residual(self) -> Predicate | None:
        residual = self._matching.residual
        return None if residual is None else compile_predicate(residual)

    @cached_property
    def _read(self) -> tuple[list[str], list[str]]:
        residual = self._matching.residual
        assert residual is not None
        names = columns_of(residual)
        left = [name for name in self._matching.left.names if name in names]
        if uses_now(residual):
            left.append(TICK)
        return left, [name for name in self._matching.right.names if name in names]

    def __call__(self, left: pl.DataFrame, right: pl.DataFrame) -> pl.DataFrame:
        """Returns the left's columns (system columns included) and, for INNER and LEFT, the right's visible
        ones.
        """
        kind = self._matching.kind
        visible = right.select(self._matching.right.names)
        if not kind.pairs:
            matched = self._matched(left, right)
            return left.filter(pl.Series(matched if kind is JoinKind.SEMI else ~matched))
        owners, members = self.pairs(left, right)
        if kind in (JoinKind.LEFT, JoinKind.FULL):
            lonely = np.ones(left.height, dtype=np.bool_)
            lonely[owners] = False
            without = np.flatnonzero(lonely)
            owners = np.concatenate([owners, without])
            absent = pl.Series(np.zeros(0, dtype=np.int64)).extend_constant(None, len(without))
            found = pl.DataFrame([*gather(left, owners), *gather(visible, pl.Series(members).append(absent))])
            return found if kind is JoinKind.LEFT else self._with_lonely_right(found, right, members)
        return pl.DataFrame([*gather(left, owners), *gather(visible, members)])

    def _with_lonely_right(self, found: pl.DataFrame, right: pl.DataFrame, members: Integers) -> pl.DataFrame:
        """Adds the right rows without a pair. Their system columns are their own."""
        lonely = np.ones(right.height, dtype=np.bool_)
        lonely[members] = False
        alone = right.filter(pl.Series(lonely))
        own = [name for name in found.columns if name in alone.columns and name not in self._matching.left]
        return pl.concat([found, alone.select(own)], how="diagonal").select(found.columns)

    def _matched(self, left: pl.DataFrame, right: pl.DataFrame) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
        candidates = self._candidates(left, right)
        if self._residual is None:
            return candidates.high > candidates.low
        matched = np.zeros(left.height, dtype=np.bool_)
        for owners, _ in self._tested(left, right, candidates, self._residual):
            matched[owners] = True
        return matched

    def pairs(self, left: pl.DataFrame, right: pl.DataFrame) -> tuple[Integers, Integers]:
        """The places of the left and of the right row of each match."""
        candidates = self._candidates(left, right)
        if self._residual is None:
            check_built(
                float(np.maximum(candidates.high - candidates.low, 0).sum()), left.width + right.width
            )
            owners, members = expand(candidates.low, candidates.high)
            return owners, candidates.order[members]
        found = list(self._tested(left, right, candidates, self._residual))
        if not found:
            nothing = np.zeros(0, dtype=np.int64)
            return nothing, nothing
        return np.concatenate([o for o, _ in found]), np.concatenate([m for _, m in found])

    def _tested(
        self, left: pl.DataFrame, right: pl.DataFrame, candidates: Candidates, residual: Predicate
    ) -> list[tuple[Integers, Integers]]:
        """Returns the pairs that satisfy the residual."""
        left_read, right_read = (
            side.select(names) for side, names in zip((left, right), self._read, strict=True)
        )
        found = []
        total = 0
        for owners, places in expand_in_chunks(candidates.low, candidates.high, PAIRS_AT_ONCE):
            members = candidates.order[places]
            columns = [*gather(left_read, owners), *gather(right_read, members)]
            holds = residual.mask(pl.DataFrame([pl.Series("@pair", owners), *columns])).to_numpy()
            found.append((owners[holds], members[holds]))
            total += len(found[-1][0])
            check_built(total, left.width + right.width)
        return found

    def _candidates(self, left: pl.DataFrame, right: pl.DataFrame) -> Candidates:
        names = [f"@key{number}" for number in range(len(self._left_keys))]
        together = [self._matching.together] if self._matching.by_tick else []
        left_keys = _keys(left, names, self._left_keys, together)
        right_keys = _keys(right, names, self._right_keys, together)
        if not right_keys.width:
            high = np.full(left.height, right.height, dtype=np.int64)
            return Candidates(np.zeros_like(high), high, np.arange(right.height, dtype=np.int64))
        keys = right_keys.columns
        groups = (
            right_keys.with_row_index("@row").drop_nulls(keys).group_by(keys, maintain_order=True).agg("@row")
        )
        order = groups["@row"].explode(empty_as_null=False).to_numpy().astype(np.int64)
        count = groups["@row"].list.len().cast(pl.Int64)
        ends = count.cum_sum()
        ranges = groups.select(*keys, (ends - count).alias("@low"), ends.alias("@high"))
        found = left_keys.join(ranges, on=keys, how="left", maintain_order="left").select(
            pl.col("@low", "@high").fill_null(0)
        )
        return Candidates(found["@low"].to_numpy(), found["@high"].to_numpy(), order)


def _keys(rows: pl.DataFrame, names: list[str], keys: list[Evaluator], together: list[str]) -> pl.DataFrame:
    columns = [key(rows).alias(name) for name, key in zip(names, keys, strict=True)]
    return pl.DataFrame([*(rows[name] for name in together), *columns])
