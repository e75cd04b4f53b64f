"""Aggregates over joins of windows in two places: a first stage, divided by the keys of the join, gives components of the
aggregates for each group and evaluation, and a bucket of the second merges them.

    stage 1   AGGR_COMBINE · HASH_JOIN        rows -> components of each group, at each evaluation
    stage 2   AGGR_EVAL · AGGR_MERGE          components -> answers

These are the two halves of operators/join_aggregate, on the two sides of an exchange. The components are those that
the operator adds up in one bucket: sums of INTs in 128 bits, those of FLOATs in two doubles, variances with their
moments. So only an answer can overflow, and no joined row is built or sent.
"""

from __future__ import annotations

import polars as pl

from nilometer.dataflow.lowering.eager import AggregatedJoin, aggregated_join
from nilometer.errors import InternalError
from nilometer.kernels.arrays import Integers
from nilometer.operators.frames import (
    Dtypes,
    concatenate,
    conform,
    dtype,
    from_bytes,
    to_bytes,
    window_dtypes,
)
from nilometer.operators.join_aggregate.join_aggregate import JoinAggregate, JoinAggregateLogic
from nilometer.operators.join_aggregate.merging import Merging
from nilometer.operators.join_aggregate.partial_windows import PartialWindows
from nilometer.operators.limits import operator
from nilometer.operators.logic import EVALUATION, TICK, Output, Progress
from nilometer.plan import physical
from nilometer.spark.layout.nodes import JoinCombine

SYSTEM = (EVALUATION, TICK)


def combined_join(node: physical.Node) -> JoinCombine | None:
    """AGGR_COMBINE for an AGGR_INIT over joins of windows; None: the joined rows must be made first."""
    if type(node) is not physical.AggregateInit or node.completeness is not None:
        return None
    return None if _of(node) is None else JoinCombine(node.input, node.keys, node.items)


def joined(node: JoinCombine) -> AggregatedJoin:
    """The aggregate that the node begins."""
    found = _of(node)
    assert found is not None, "AGGR_COMBINE of what is no join of windows"
    return found


def _of(node: physical.AggregateInit) -> AggregatedJoin | None:
    keys = tuple((key.name, key.expression) for key in node.keys)
    return aggregated_join(keys, tuple((item.name, item.aggregate) for item in node.items), node.input)


def component_columns(spec: JoinAggregate) -> Dtypes:
    """The columns of the components: the evaluation, the keys, and the components."""
    return _columns(spec, _merging(spec))


def _columns(spec: JoinAggregate, merging: Merging) -> Dtypes:
    types = spec.key_types
    keys = {name: dtype(types[column]) for name, column in spec.groups}
    return {name: pl.Int64() for name in SYSTEM} | keys | merging.columns


def _merging(spec: JoinAggregate) -> Merging:
    return Merging(spec, [PartialWindows(side, number) for number, side in enumerate(spec.sides)])


class JoinComponents(JoinAggregateLogic):
    """Joins and aggregates as usual, but gives the components."""

    def __init__(self, spec: JoinAggregate) -> None:
        super().__init__(spec)
        self._columns = _columns(spec, self._merging)

    def _answer(self, joined: pl.DataFrame, ticks: Integers) -> pl.DataFrame:  # noqa: ARG002 - where nothing joins, nothing is sent
        groups = list(dict.fromkeys((TICK, *(column for _, column in self._spec.groups))))
        found = self._merging.merged(joined, groups)
        keys = [pl.col(column).alias(name) for name, column in self._spec.groups]
        return conform(
            found.select(pl.col(TICK).alias(EVALUATION), TICK, *keys, *self._merging.columns), self._columns
        )


class MergedComponents:
    """Merges the components of each group and evaluation. It keeps no state between rounds."""

    def __init__(self, spec: JoinAggregate) -> None:
        self._merging = _merging(spec)
        self._taken = _columns(spec, self._merging)
        self._columns = window_dtypes(spec.schema)
        self._keys = [name for name, _ in spec.groups]
        self._parts: list[pl.DataFrame] = []

    def update(self, port: int, rows: pl.DataFrame) -> None:
        """Take components."""
        if port != 0:
            raise InternalError(f"an aggregate has no input {port}")
        self._parts.append(rows)

    @operator("an aggregate over a join")
    def advance(self, progress: Progress) -> Output:
        """The aggregates of this round's evaluations."""
        listed = progress.evaluations[0]
        given = concatenate(self._parts, self._taken)
        self._parts = []
        groups = [*SYSTEM, *self._keys]
        self._merging.check(given, groups)
        whole = self._merging.merged(given, groups)
        if not self._keys:
            whole = listed.select(SYSTEM).join(whole, on=SYSTEM, how="left", maintain_order="left")
        rows = whole.select(groups).with_columns(self._merging.answers(whole))
        return Output(conform(rows, self._columns), listed)

    def snapshot(self) -> dict[str, bytes]:
        """The components of a round that has begun; empty between rounds."""
        return {"rows": to_bytes(concatenate(self._parts, self._taken))} if self._parts else {}

    def restore(self, panes: dict[str, bytes]) -> None:
        """Take back a snapshot."""
        self._parts = [from_bytes(panes["rows"])] if "rows" in panes else []
