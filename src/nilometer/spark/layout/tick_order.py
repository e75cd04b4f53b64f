"""Decides whether a plan's answer comes in tick order, and sorts the rows of several buckets into that order.

Operators that wait for a tick to be complete (LAG, SAMPLE, SILENT, SIMILAR, ASOF JOIN, a window) return ticks
in order. A stream that is computed tuple by tuple is delivered in its order of arrival. The rows of a divided
answer carry their tick, under its system name, as far as the driver.
"""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from nilometer.algebra import Collection
from nilometer.operators.logic import TICK
from nilometer.plan import physical


def in_tick_order(plan: physical.Node) -> bool:
    """Whether a plan's rows come in the order of their ticks."""
    match plan:
        case _ if plan.collection is not Collection.STREAM:
            return plan.collection is Collection.WINDOWS
        case physical.Lag() | physical.Sample() | physical.TableFunction() | physical.AsofJoin():
            return True
        case physical.Limit() | physical.Analytic():
            return True
        case physical.RStream() | physical.IStream() | physical.DStream():
            return True
        case (
            physical.Deliver()
            | physical.Select()
            | physical.Project()
            | physical.Rename()
            | physical.Unnest()
            | physical.Exchange()
        ):
            return in_tick_order(plan.inputs[0])
        case physical.HashJoin() | physical.NlJoin():  # a stream with a table
            return any(in_tick_order(side) for side in plan.inputs)
        case _:
            return False


def by_tick(parts: Sequence[pl.DataFrame]) -> tuple[pl.DataFrame, ...]:
    """The rows of a micro-batch's buckets, sorted by tick and without the tick column, if they carry one."""
    if not parts or TICK not in parts[0].columns:
        return tuple(parts)
    return (pl.concat(parts).sort(TICK, maintain_order=True).drop(TICK),)
