"""Evaluates a logical plan over the logs that it reads. Its answer judges every host.

The code follows "Meaning" in the language, to be read beside it, and is naive on purpose. It evaluates a plan
from the leaves up, all at once, on everything in the logs, with the one watermark W that they give. A stream
that is made tuple by tuple (selected, projected, united, joined with a table or within a WINDOW) shows every
accepted tuple. A result that depends on an order or on completeness shows only tuples below W.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from nilometer.algebra import Collection
from nilometer.catalog.extents import Sensor
from nilometer.errors import DataError, InternalError
from nilometer.plan import logical
from nilometer.plan.logical import Node
from nilometer.plan.reference.aggregates import aggregated, with_completeness
from nilometer.plan.reference.analytic import analytic_bag, analytic_stream
from nilometer.plan.reference.answer import Answer, Occurrence
from nilometer.plan.reference.bags import each, joined, subtracted_or_common, united, unnested
from nilometer.plan.reference.combination import combine
from nilometer.plan.reference.differences import to_stream
from nilometer.plan.reference.extents import acquire, stored
from nilometer.plan.reference.feed import Feed
from nilometer.plan.reference.filling import filled
from nilometer.plan.reference.functions import NAIVE
from nilometer.plan.reference.ordering import limited, ordered
from nilometer.plan.reference.rows import Evaluation, Row, Values, delivery_order
from nilometer.plan.reference.skipping import skip_rows
from nilometer.plan.reference.sources import lag, sample, united_streams
from nilometer.plan.reference.stream_joins import asof_join, window_join
from nilometer.plan.reference.table_version import Tables, TableVersion, tables_at
from nilometer.plan.reference.watermark import arrive, feed_of, first_tick, leaves, query_watermark
from nilometer.plan.reference.windows import row_window, time_window


@dataclass(frozen=True)
class World:
    """Everything besides the plan that an answer depends on."""

    feeds: Mapping[str, Feed]
    tables: Tables
    sensors: Mapping[str, Sequence[Sensor]]
    watermark: int
    versions: Sequence[TableVersion] = ()


def evaluate(
    plan: Node,
    feeds: Mapping[str, Feed],
    tables: Tables | None = None,
    sensors: Mapping[str, Sequence[Sensor]] | None = None,
    *,
    versions: Sequence[TableVersion] = (),
    finished: bool = True,
    skipping: type[DataError] | None = None,
) -> Answer:
    """The answer of a plan.

    `feeds`, `tables` and `sensors` are keyed by the lower-case name of the stream or table. `versions` are
    later contents of the tables. With `finished` False it is the answer so far while the streams still run:
    no end of a stream raises W. With `skipping`, a row for which a value cannot be given because of such an error
    is left out (skipping.py); otherwise it is an error.
    """
    with skip_rows(skipping):
        return _evaluate(plan, feeds, tables, sensors, versions, finished)


def _evaluate(
    plan: Node,
    feeds: Mapping[str, Feed],
    tables: Tables | None,
    sensors: Mapping[str, Sequence[Sensor]] | None,
    versions: Sequence[TableVersion],
    finished: bool,
) -> Answer:
    watermark = query_watermark(plan, feeds, finished)
    world = World(feeds, tables or {}, sensors or {}, watermark, versions)
    body, with_tick = (plan.input, plan.tick) if isinstance(plan, logical.Deliver) else (plan, False)
    names = body.schema.names
    rows = tuple(
        ((tick,) if with_tick else ()) + tuple(values[name] for name in names)
        for tick, values in _rows(body, world)
    )
    return Answer((("tick",) if with_tick else ()) + names, rows, watermark, tuple(_books(plan, feeds)))


def _rows(node: Node, world: World) -> list[tuple[int | None, Values]]:
    """The rows of any collection with their ticks, in order; rows of a table have no tick."""
    match node.collection:
        case Collection.STREAM:
            return [(row.tick, row.values) for row in sorted(stream(node, world), key=delivery_order)]
        case Collection.WINDOWS:
            return [
                (evaluation.tick, values) for evaluation in windows(node, world) for values in evaluation.bag
            ]
        case Collection.TABLE:
            return [(None, values) for values in table(node, world)]


def _books(plan: Node, feeds: Mapping[str, Feed]) -> list[Occurrence]:
    books = []
    for leaf in leaves(plan):
        arrivals = arrive(leaf.stream, feed_of(leaf.stream, feeds))
        books.append(Occurrence(leaf.stream.name, leaf.alias, arrivals.read, arrivals.late))
    return books


def stream(node: Node, world: World) -> list[Row]:
    """The tuples of a node that yields a stream."""
    match node:
        case logical.Acquire():
            return acquire(node, world.feeds, world.sensors)
        case logical.Select() | logical.Project() | logical.Rename():
            return [
                replace(row, values=values)
                for row in stream(node.input, world)
                for values in each(node, [row.values], row.tick)
            ]
        case logical.Unnest():
            return [
                replace(row, position=None, values=values)
                for row in stream(node.input, world)
                for values in unnested(node, [row.values], row.tick)
            ]
        case logical.Union(left=left, right=right):
            return united_streams(node, stream(left, world), stream(right, world))
        case logical.Join(left=left, right=right) if right.collection is Collection.TABLE:
            return [
                replace(row, values=values)
                for row in stream(left, world)
                for values in joined(node, [row.values], table(right, world, row.tick), row.tick)
            ]
        case logical.Join(left=left, right=right):
            return [
                replace(row, values=values)
                for row in stream(right, world)
                for values in joined(node, table(left, world, row.tick), [row.values], row.tick)
            ]
        case logical.Sample():
            return sample(node, stream(node.input, world), world.watermark)
        case logical.Limit():
            return limited(node, stream(node.input, world), world.watermark)
        case logical.Lag():
            return lag(node, stream(node.input, world), world.watermark)
        case logical.Analytic():
            return analytic_stream(node, stream(node.input, world), world.watermark)
        case logical.TableFunction():
            return _function(node, world)
        case logical.AsofJoin(left=left, right=right):
            return asof_join(node, stream(left, world), stream(right, world), world.watermark)
        case logical.WindowJoin(streams=streams):
            return window_join(node, [stream(one, world) for one in streams], world.watermark)
        case logical.ToStream():
            return to_stream(node, windows(node.input, world))
        case logical.Deliver():
            return stream(node.input, world)
    raise InternalError(f"no stream: {type(node).__name__}")


def _function(node: logical.TableFunction, world: World) -> list[Any]:
    anchor = first_tick(node.input, world.feeds)
    beside = node.beside
    if beside is None:
        return NAIVE[node.call.name](node, stream(node.input, world), anchor, world.watermark)
    ends = [
        next(n for n in beside.schema.names if n.lower().endswith(f".{end}")) for end in ("from_id", "to_id")
    ]

    def pairs(tick: int) -> frozenset[tuple[Any, ...]]:
        return frozenset(tuple(values[end] for end in ends) for values in table(beside, world, tick))

    return NAIVE[node.call.name](node, stream(node.input, world), anchor, world.watermark, pairs)


def windows(node: Node, world: World) -> list[Evaluation]:
    """The evaluations of a node that yields windows, in order."""
    match node:
        case logical.TimeWindow():
            anchor = first_tick(node.input, world.feeds)
            return time_window(node, stream(node.input, world), anchor, world.watermark)
        case logical.RowWindow():
            return row_window(node, stream(node.input, world), world.watermark)
        case logical.TableFunction():
            return _function(node, world)
        case logical.Select() | logical.Project() | logical.Rename():
            return [
                replace(evaluation, bag=tuple(each(node, evaluation.bag, evaluation.tick)))
                for evaluation in windows(node.input, world)
            ]
        case logical.Analytic():
            return [
                replace(evaluation, bag=tuple(analytic_bag(node, evaluation.bag, evaluation.tick)))
                for evaluation in windows(node.input, world)
            ]
        case logical.Unnest():
            return [
                replace(evaluation, bag=tuple(unnested(node, evaluation.bag, evaluation.tick)))
                for evaluation in windows(node.input, world)
            ]
        case logical.Union(left=left, right=right):
            return combine(
                windows(left, world), windows(right, world), lambda one, other, _: united(node, one, other)
            )
        case logical.BagOperation(left=left, right=right):
            return combine(
                windows(left, world),
                windows(right, world),
                lambda one, other, _: subtracted_or_common(node, one, other),
            )
        case logical.Join(left=left, right=right) if right.collection is Collection.TABLE:
            return [
                replace(one, bag=tuple(joined(node, one.bag, table(right, world, one.tick), one.tick)))
                for one in windows(left, world)
            ]
        case logical.Join(left=left, right=right) if left.collection is Collection.TABLE:
            return [
                replace(one, bag=tuple(joined(node, table(left, world, one.tick), one.bag, one.tick)))
                for one in windows(right, world)
            ]
        case logical.Join(left=left, right=right):
            return combine(
                windows(left, world),
                windows(right, world),
                lambda one, other, tick: joined(node, one, other, tick),
            )
        case logical.Aggregate(input=window, completeness=completeness) if completeness is not None:
            below = window.inputs[0]
            return with_completeness(
                node, windows(window, world), stream(below, world), first_tick(below, world.feeds)
            )
        case logical.Aggregate():
            return [
                replace(evaluation, bag=tuple(aggregated(node, evaluation.bag, evaluation.tick)))
                for evaluation in windows(node.input, world)
            ]
        case logical.Fill():
            return filled(node, windows(node.input, world))
        case logical.Sort():
            return [
                replace(evaluation, bag=tuple(ordered(node, evaluation.bag, evaluation.tick)))
                for evaluation in windows(node.input, world)
            ]
        case logical.Deliver():
            return windows(node.input, world)
    raise InternalError(f"no windows: {type(node).__name__}")


def table(node: Node, world: World, tick: int | None = None) -> list[Values]:
    """The rows of a node that yields a table, as of a tick; without a tick, the first version."""
    match node:
        case logical.Stored():
            return stored(node, tables_at(world.tables, world.versions, tick))
        case logical.Values(rows=rows):
            return [dict(zip(node.schema.names, row, strict=True)) for row in rows]
        case logical.Select() | logical.Project() | logical.Rename():
            return each(node, table(node.input, world, tick), None)
        case logical.Analytic():
            return analytic_bag(node, table(node.input, world, tick), None)
        case logical.Unnest():
            return unnested(node, table(node.input, world, tick), None)
        case logical.Union(left=left, right=right):
            return united(node, table(left, world, tick), table(right, world, tick))
        case logical.BagOperation(left=left, right=right):
            return subtracted_or_common(node, table(left, world, tick), table(right, world, tick))
        case logical.Join(left=left, right=right):
            return joined(node, table(left, world, tick), table(right, world, tick), None)
        case logical.Aggregate():
            return aggregated(node, table(node.input, world, tick), None)
        case logical.Sort():
            return ordered(node, table(node.input, world, tick), None)
        case logical.Deliver():
            return table(node.input, world, tick)
    raise InternalError(f"no table: {type(node).__name__}")
