"""Gives an aggregate over a time window a second input: the summaries that its stream's sensors made themselves.

    AGGR · TIME_WINDOW · SP_ACQUIRE    =>    WindowAggregate(readings, summaries)

The law: a summary is taken if it is of exactly the readings that the query would take itself, lies in one pane of its
windows, has all the columns, and has no reading from before the query's start. This is decided from the summary and the plan alone, so a replay decides the same.
"""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from nilometer.algebra.summary import FROM, OF, PARTS, READINGS, WHOLE
from nilometer.dataflow.attributes import attach, attribute_frame
from nilometer.dataflow.dataflow import Dataflow
from nilometer.dataflow.stages import Operator, Stage, SummaryReader, Transform, pick
from nilometer.expressions import columns_of, conjunction, conjuncts
from nilometer.operators.evaluate.evaluate import compile_predicate
from nilometer.operators.frames import dtype, empty
from nilometer.operators.logic import ID, STREAM_COLUMNS, TICK
from nilometer.operators.window_aggregate.window_aggregate import WindowAggregate
from nilometer.plan.physical import AggregateInit, Node, SpAcquire, TimeWindow
from nilometer.plan.summaries import Summary, asked, bare, summary_columns
from nilometer.types import INT


@dataclass(frozen=True)
class Summarised:
    """The leaf of an aggregate that can take summaries, and the summaries that it can take."""

    leaf: SpAcquire
    summary: Summary


def summaries_for(node: AggregateInit) -> Summarised | None:
    """The summaries that an aggregate can take; None if it needs the readings themselves."""
    above: tuple[Node, ...] = (node,)
    below = node.input
    while isinstance(below, TimeWindow):
        above, below = (below, *above), below.input
    if not isinstance(below, SpAcquire):
        return None
    summary = asked(below, above).summary
    return None if summary is None or summary.columns is None else Summarised(below, summary)


def with_summaries(
    node: Node, spec: WindowAggregate, stream: Node, summarised: Summarised, flow: Dataflow
) -> int:
    """The aggregate of a stream's readings and summaries."""
    name = summarised.leaf.stream.name.lower()
    reader = summary_reader(summarised, flow)
    places = (flow.lower(stream), flow.add_stage(Stage("SUMMARIES", reader, (), frozenset({name}))))
    return flow.add(node, Operator(spec.build()), places)


def summary_reader(summarised: Summarised, flow: Dataflow) -> SummaryReader:
    """Reads the summaries that the aggregate can take."""
    return SummaryReader(summarised.leaf.stream.name.lower(), *_acceptance(summarised, flow))


def _acceptance(summarised: Summarised, flow: Dataflow) -> tuple[pl.DataFrame, Transform]:
    leaf, summary, stream = summarised.leaf, summarised.summary, summarised.leaf.stream
    columns = summary.columns or ()
    wanted = leaf.columns + leaf.reads
    identity = next(column.name for column in stream.columns if column.name.lower() == "id")
    static = tuple(column for column in wanted if stream.column(column.name) is None)
    attributes = attribute_frame(flow.sources.sensors(stream), static, stream.id_type) if static else None
    # Conditions on the id alone are not part of what sensors are told.
    about_id = [
        part
        for part in (bare(each, leaf.alias) for each in conjuncts(leaf.predicate))
        if columns_of(part) and all(name.lower() == "id" for name in columns_of(part))
    ]
    chosen = compile_predicate(conjunction(about_id)) if about_id else None
    running = (
        None
        if leaf.sensors is None
        else pl.Series(sorted(leaf.sensors, key=str), dtype=dtype(stream.id_type))
    )
    names = {name: name for name in STREAM_COLUMNS} | {READINGS: READINGS}
    names |= {f"{leaf.alias}.{identity}": identity}
    names |= {f"{leaf.alias}.{column.name}": column.name for column in static}
    types = {column.name: column.type for column in static} | summary_columns(stream)
    for column, _ in columns:
        names |= {f"{leaf.alias}.{column}#{part}": f"{column}#{part}" for part in PARTS}
    end = pl.col(TICK) if summary.grid is None else pl.col(TICK) // summary.grid * summary.grid
    accepted = (
        pl.col(WHOLE)
        & (pl.col(OF) == summary.of)
        & (pl.col(FROM) // summary.every == (end - 1) // summary.every)
    )
    for column, parts in columns:
        empty_of = pl.col(f"{column}#count") == 0
        for part in parts:
            accepted &= pl.col(f"{column}#{part}").is_not_null() | (empty_of & (part != "count"))

    def prepare(rows: pl.DataFrame) -> pl.DataFrame:
        rows = rows.filter(accepted)
        if running is not None:
            rows = rows.filter(pl.col(ID).is_in(running.implode()))
        if chosen is not None:
            rows = chosen(rows)
        if attributes is not None:
            rows = attach(rows, attributes)
        return pick(rows, names)

    kinds = {
        name: dtype(stream.id_type if name == ID else types.get(found, INT)) for name, found in names.items()
    }
    return empty(kinds), prepare
