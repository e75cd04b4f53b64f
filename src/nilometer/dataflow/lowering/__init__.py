"""Lowers each physical node to stages of the gateway's dataflow: one function per node, one file per family.

Placement asks `ABILITIES` what the gateway can run. A test proves that it names every node of
plan/physical.py.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from nilometer.dataflow.dataflow import Dataflow
from nilometer.dataflow.lowering import (
    aggregates,
    analytic,
    joins,
    leaves,
    ordering,
    stateless,
    streams,
    table_functions,
    windows,
)
from nilometer.plan import physical

Lower = Callable[[Any, Dataflow], int]

ABILITIES: dict[type[physical.Node], Lower] = {
    physical.SpAcquire: leaves.acquire,
    physical.StoredScan: leaves.scan,
    physical.Values: leaves.values,
    physical.Select: stateless.select,
    physical.Project: stateless.project,
    physical.Rename: stateless.rename,
    physical.Unnest: stateless.unnest,
    physical.Exchange: stateless.exchange,
    physical.Deliver: stateless.deliver,
    physical.Union: joins.union,
    physical.BagOperation: joins.bag_operation,
    physical.NlJoin: joins.nested_loop_join,
    physical.HashJoin: joins.hash_join,
    physical.Sample: streams.sample,
    physical.Lag: streams.lag,
    physical.Analytic: analytic.analytic,
    physical.TableFunction: table_functions.table_function,
    physical.AsofJoin: streams.asof_join,
    physical.NlwJoin: streams.window_join,
    physical.HwJoin: streams.window_join,
    physical.MwJoin: streams.window_join,
    physical.TimeWindow: windows.time_window,
    physical.RowWindow: windows.row_window,
    physical.Aggregate: aggregates.aggregate,
    physical.AggregateInit: aggregates.initialise,
    physical.AggregateMerge: aggregates.merge,
    physical.AggregateEvaluate: aggregates.evaluate,
    physical.Fill: windows.fill,
    physical.Sort: ordering.sort,
    physical.TopK: ordering.sort,
    physical.Limit: ordering.limit,
    physical.RStream: windows.to_stream,
    physical.IStream: windows.to_stream,
    physical.DStream: windows.to_stream,
}

__all__ = ["ABILITIES", "Lower"]
