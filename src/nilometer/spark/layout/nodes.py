"""The plan nodes that only Spark runs."""

from __future__ import annotations

from dataclasses import dataclass

from nilometer.plan import physical


@dataclass(frozen=True)
class AggregateCombine(physical.AggregateInit):
    """AGGR_INIT where rows are read: one partial result per group and *slice* of a batch, and not per evaluation (combining.py)."""

    operator = "AGGR_COMBINE"


@dataclass(frozen=True)
class StageCombine(AggregateCombine):
    """The same above a part of a first stage, not in a reader."""


@dataclass(frozen=True)
class JoinCombine(physical.AggregateInit):
    """AGGR_INIT over joins of windows in a first stage: the components of the aggregates for each group and evaluation, without
    the joined rows and without any rounding (joined_partials.py)."""

    operator = "AGGR_COMBINE"
