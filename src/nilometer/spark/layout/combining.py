"""Window aggregates in two places: the reader, or a first stage, turns rows into partials of slices, and a bucket
slides windows over these.

    reader    AGGR_COMBINE · TIME_WINDOW · what the reader runs      rows -> one partial per slice and group
    or stage  AGGR_COMBINE · TIME_WINDOW · LAG, a join, ...          of a batch
    bucket    AGGR_EVAL · AGGR_MERGE · EXCHANGE                      partials -> answers

These are the parts of operators/window_aggregate/sliding.py, on the two sides of an exchange. No bit of an
answer changes, because sums travel in two doubles and variances with their moments. A partial is placed at
its slice's edge, so every window sees it exactly when it sees the slice's rows. This is for aggregates with partials of
constant size. A window that is evaluated at the ticks of its rows has a slice for every tick; it is combined only where
there are no groups to divide it by, and the ticks are told beside the partials.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from nilometer.dataflow.lowering.fusion import fused
from nilometer.expressions import type_of
from nilometer.operators.aggregate_sieve import aggregate_sieve
from nilometer.operators.frames import Dtypes, dtype, empty
from nilometer.operators.logic import TICK, Logic
from nilometer.operators.window_aggregate.components import Lifting
from nilometer.operators.window_aggregate.window_aggregate import WindowAggregate
from nilometer.plan import physical
from nilometer.spark.layout.joined_partials import combined_join
from nilometer.spark.layout.nodes import AggregateCombine, StageCombine
from nilometer.spark.layout.parts import is_part
from nilometer.spark.layout.reading import in_reader

if TYPE_CHECKING:
    from nilometer.dataflow.stages import Transform

_NOTHING = np.empty(0, dtype=np.int64)


def combining(plan: physical.Node) -> physical.Node:
    """The plan with AGGR_COMBINE for each AGGR_INIT that allows it."""

    def change(node: physical.Node) -> physical.Node:
        if type(node) is not physical.AggregateInit or node.completeness is not None:
            return node
        together = _together(node)
        if together is None or not in_reader(together[1]):
            return node
        return AggregateCombine(node.input, node.keys, node.items)

    return physical.transform_plan(plan, change)


def combined_above_part(node: physical.Node) -> physical.Node | None:
    """AGGR_COMBINE for an AGGR_INIT above a part of a first stage (parts.py), which then sends partials, not rows; None:
    it cannot be."""
    if type(node) is not physical.AggregateInit or node.completeness is not None:
        return None
    together = _together(node)
    if together is not None:
        return StageCombine(node.input, node.keys, node.items) if is_part(together[1]) else None
    return combined_join(node) if is_part(node.input) else None


def parted(node: AggregateCombine) -> tuple[WindowAggregate, physical.Node]:
    """The aggregate that the node begins, and its stream."""
    together = _together(node)
    assert together is not None, "AGGR_COMBINE of what cannot be combined"
    return together


def _together(node: physical.AggregateInit) -> tuple[WindowAggregate, physical.Node] | None:
    keys = tuple((key.name, key.expression) for key in node.keys)
    together = fused(keys, tuple((item.name, item.aggregate) for item in node.items), None, node.input)
    if together is None:
        return None
    spec, stream = together
    if not isinstance(spec, WindowAggregate) or not spec.sliding or (spec.scope.period is None and spec.keys):
        return None
    return spec, stream


def combines_at_ticks(node: physical.Node) -> bool:
    """Whether a node (or the one below an exchange) combines rows of windows that are evaluated at the rows' ticks."""
    if isinstance(node, physical.Exchange):
        node = node.input
    return isinstance(node, AggregateCombine) and parted(node)[0].scope.period is None


def partial_columns(spec: WindowAggregate) -> Dtypes:
    """The columns of the partials: the slice, the keys, and the components."""
    from nilometer.operators.window_aggregate.partials import GROUP, SLICE, Partials

    keys = {name: dtype(type_of(expression)) for name, expression in spec.keys}
    components = Partials.dtypes(_lifting(spec).components)
    return {TICK: pl.Int64()} | keys | {n: kind for n, kind in components.items() if n not in (SLICE, GROUP)}


def combine(spec: WindowAggregate) -> Transform:
    """A function from rows to partials."""
    from nilometer.operators.evaluate.evaluate import compile_predicate, compile_projection
    from nilometer.operators.window_aggregate.groups import GroupCodes
    from nilometer.operators.window_aggregate.partials import LiftedRows, Partials, value_columns

    scope = spec.scope
    slicing = scope.slicing
    keys = compile_projection(spec.keys)
    key_columns = {name: dtype(type_of(expression)) for name, expression in spec.keys}
    predicate = compile_predicate(spec.predicate)
    sieve = aggregate_sieve(spec.keys, spec.items)
    lifting = _lifting(spec)
    nothing = empty(partial_columns(spec))

    def change(rows: pl.DataFrame) -> pl.DataFrame:
        seen = scope.ever_seen(rows.get_column(TICK).to_numpy())
        rows = sieve(predicate(rows if seen is None else rows.filter(pl.Series(seen))))
        if not rows.height:
            return nothing
        codes = GroupCodes(key_columns)
        groups = codes.encode(keys(rows), rows.height)
        ticks = scope.sliced(rows.get_column(TICK).to_numpy())
        lifted = LiftedRows(ticks, groups, lifting.lift(rows, None), lifting.components)
        found = Partials.of_rows(lifted, slicing, len(codes))
        values = value_columns(found.values, lifting.components)
        return pl.DataFrame([pl.Series(TICK, found.slices), *codes.decode(found.groups), *values])

    return change


def sliding_over_partials(spec: WindowAggregate) -> Logic:
    """The Logic that takes the output of `combine`."""
    from nilometer.spark.layout.partials import PartialsLogic

    return PartialsLogic(spec)


def _lifting(spec: WindowAggregate) -> Lifting:
    """A lifting with all counts, even those equal to the count of rows, so that partials always have the same
    columns.
    """
    lifting = Lifting(spec.items, heard=False)
    for name in counts_of(spec, lifting):
        lifting.add(name)
    return lifting


def counts_of(spec: WindowAggregate, lifting: Lifting) -> list[str]:
    """The counts that the lifting does not hold yet."""
    return lifting.unheld(dict.fromkeys((f"count{place}" for place in range(len(spec.items))), _NOTHING))
