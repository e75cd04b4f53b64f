"""Estimates what a query asks of the machine that runs it: readings and rows a second, and the rows that it holds.

A stream brings its sources' readings at the measured rate, else at the declared one. A condition keeps a share of them
(selectivity.py). A window holds what its RANGE brings, an aggregate over it one row a group and slice. A stream of which
neither a rate was measured nor an interval is declared has no estimate: `unknown` names it.

    SELECT id, AVG(x) FROM air [RANGE 1 HOUR SLIDE 1 MINUTE] GROUP BY id    10 sources, a reading a second each
    10 readings/s in, 10 rows a minute out, 10 x 61 rows of state
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from math import prod

from nilometer.algebra import JoinKind, Relation
from nilometer.catalog.extents import Stream
from nilometer.expressions import ALGEBRAIC, ColumnReference, Expression
from nilometer.optimizer.cardinality import measured_below
from nilometer.optimizer.context import OptimizerContext
from nilometer.optimizer.phenomenon_state import (
    CANDIDATE_BYTES,
    SLICE_BYTES,
    SOURCE_BYTES,
    rows_of_source,
)
from nilometer.optimizer.selectivity import selectivity
from nilometer.plan import logical
from nilometer.plan.logical import Node, walk_plan
from nilometer.types import DAY, SECOND, Kind, Schema

WIDTHS = {Kind.BOOLEAN: 1, Kind.STRING: 24, Kind.POINT: 16, Kind.LIST: 64, Kind.STRUCT: 64, Kind.VECTOR: 64}
"""The assumed bytes of a value; all others take eight."""
SYSTEM = 32
"""The bytes of a row's tick, time, id and position."""


@dataclass(frozen=True)
class Load:
    """Rows a second read and answered, and the rows and bytes held. None where no rate is known: `unknown` says of
    which streams. `measured` are the streams whose statistics were measured; the others are as declared."""

    rows_in: float | None
    rows_out: float | None
    state_rows: float | None
    state_bytes: float | None
    measured: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()


@dataclass(frozen=True)
class _Flow:
    """What a node brings. A stream: `rows` a second. Windows: `rows` an evaluation, one `every` seconds, of tuples of
    the last `span` seconds. A table: `rows`, with neither. `held` and `size`: the rows and bytes of state below."""

    rows: float
    every: float | None = None
    span: float = 0.0
    held: float = 0.0
    size: float = 0.0
    windows: bool = False

    @property
    def rate(self) -> float:
        """Rows a second."""
        return self.rows / self.every if self.windows and self.every else self.rows


def load_of(plan: logical.Deliver, context: OptimizerContext) -> Load:
    """The load of a query."""
    streams = {n.stream.name: n.stream for n in walk_plan(plan) if isinstance(n, logical.Acquire)}
    unknown = tuple(name for name, stream in streams.items() if rate_of(stream, context) is None)
    measured = tuple(name for name, stream in streams.items() if context.measured(stream) is not None)
    rates = [rate for stream in streams.values() if (rate := rate_of(stream, context)) is not None]
    if unknown:
        return Load(None, None, None, None, measured, unknown)
    flow = _flow(plan, context)
    return Load(sum(rates), flow.rate, flow.held, flow.size, measured)


def rate_of(stream: Stream, context: OptimizerContext) -> float | None:
    """Readings a second of all sources."""
    measured = context.measured(stream)
    if measured is not None and measured.rate is not None:
        return measured.rate
    interval = context.interval(stream)
    return None if interval is None else context.sources(stream) * SECOND / interval


def _flow(node: Node, context: OptimizerContext) -> _Flow:
    match node:
        case logical.Acquire(stream=stream, sensors=sensors, predicate=predicate):
            part = 1.0 if sensors is None else len(sensors) / max(1, context.sources(stream))
            share = min(1.0, part) * selectivity(predicate, measured_below(node, context))
            return _Flow((rate_of(stream, context) or 0.0) * share)
        case logical.Stored(table=table):
            rows = float(context.table_rows(table))
            return _Flow(rows, held=rows, size=rows * _width(node.schema))
        case logical.Values(rows=rows):
            return _Flow(float(len(rows)))
        case logical.Select(input, predicate):
            return _times(_flow(input, context), selectivity(predicate, measured_below(node, context)))
        case logical.TimeWindow(input, start, end, slide):
            return _window(
                node, _flow(input, context), (DAY if start is None else start - end), slide, context
            )
        case logical.RowWindow(input, start):
            flow = _flow(input, context)
            rows = float(start or 1)
            return _Flow(rows, _interval(node, context), 0.0, rows, rows * _width(node.schema), windows=True)
        case logical.Aggregate(input, keys):
            return _aggregate(node, _flow(input, context), _groups(node, context) if keys else 1.0)
        case logical.Join(left, right, kind, predicate):
            return _join(kind, _flow(left, context), _flow(right, context), _share(node, predicate, context))
        case logical.WindowJoin(bounds=bounds, predicate=predicate):
            width = max((bound.width for bound in bounds), default=0) / SECOND
            return _window_join(node, width, _share(node, predicate, context), context)
        case logical.TableFunction(input, call) if call.function.defined is not None:
            return _phenomenon(node, _flow(input, context), context)
        case logical.ToStream(input, relation):
            return _to_stream(_flow(input, context), relation)
        case logical.Sort(input, limit=limit) | logical.Limit(input, limit=limit) if limit is not None:
            flow = _flow(input, context)
            return replace(flow, rows=min(flow.rows, limit)) if flow.windows else flow
        case logical.Sample(input, every):
            return _times(_flow(input, context), 1.0 / max(1, every))
        case _:
            return _sum(_flow(child, context) for child in node.inputs)


def _share(node: Node, predicate: Expression | None, context: OptimizerContext) -> float:
    return selectivity(predicate, measured_below(node, context))


def _window(
    node: logical.TimeWindow, flow: _Flow, length: int, slide: int | None, context: OptimizerContext
) -> _Flow:
    """A window of the last `length` microseconds. One without a SLIDE is evaluated whenever readings come."""
    interval = _interval(node, context)
    every = slide / SECOND if slide else interval
    if node.grid is not None:
        every = max(every, length / SECOND)
    span = max(length / SECOND, interval)
    rows = flow.rate * span
    return _Flow(rows, every, span, flow.held + rows, flow.size + rows * _width(node.schema), windows=True)


def _interval(node: Node, context: OptimizerContext) -> float:
    """Seconds between two readings of one source, and so between two ticks."""
    streams = [n.stream for n in walk_plan(node) if isinstance(n, logical.Acquire)]
    found = [interval for stream in streams if (interval := context.interval(stream))]
    return min(found, default=SECOND) / SECOND


def _aggregate(node: logical.Aggregate, flow: _Flow, groups: float) -> _Flow:
    """One row a group. Over a window, a slice keeps one row a group, not its tuples."""
    rows = min(flow.rows, groups) if flow.windows else flow.rows
    held, size = flow.held, flow.size
    slices = flow.span / flow.every + 1 if flow.windows and flow.every else 0.0
    if slices and all(item.aggregate.function in ALGEBRAIC for item in node.items):
        kept = min(flow.held, groups * slices)
        held, size = kept, kept * _width(node.schema)
    return replace(flow, rows=rows, held=held, size=size)


def _groups(node: logical.Aggregate, context: OptimizerContext) -> float:
    """The number of groups: what was measured of the keys; else a source each for `id`, and ten for anything else."""
    known = measured_below(node, context)
    counts = []
    for key in node.keys:
        name = key.expression.name if isinstance(key.expression, ColumnReference) else ""
        if name in known:
            counts.append(float(max(1, known[name].distinct)))
        elif name.rpartition(".")[2].lower() == "id":
            leaves = [n for n in walk_plan(node) if isinstance(n, logical.Acquire)]
            counts.append(float(max((context.sources(leaf.stream) for leaf in leaves), default=1)))
        else:
            counts.append(10.0)
    return prod(counts)


def _join(kind: JoinKind, left: _Flow, right: _Flow, share: float) -> _Flow:
    """Of two windows, or of a window or stream and a table."""
    held, size = left.held + right.held, left.size + right.size
    timed = [flow for flow in (left, right) if flow.windows]
    every = min((flow.every for flow in timed if flow.every is not None), default=None)
    span = max((flow.span for flow in timed), default=0.0)
    rows = left.rows if kind in (JoinKind.SEMI, JoinKind.ANTI) else left.rows * right.rows * share
    if kind in (JoinKind.LEFT, JoinKind.FULL):
        rows = max(rows, left.rows)
    return _Flow(rows, every, span, held, size, windows=bool(timed))


def _window_join(node: logical.WindowJoin, width: float, share: float, context: OptimizerContext) -> _Flow:
    """Each reading meets those of the other streams in the window."""
    flows = [_flow(child, context) for child in node.inputs]
    rates = [flow.rate for flow in flows]
    pairs = sum(
        rate * prod(other * width for at, other in enumerate(rates) if at != own)
        for own, rate in enumerate(rates)
    )
    held = sum(rates) * width
    size = sum(rate * width * _width(child.schema) for rate, child in zip(rates, node.inputs, strict=True))
    return _Flow(pairs * share, held=held, size=size)


def _phenomenon(node: logical.TableFunction, flow: _Flow, context: OptimizerContext) -> _Flow:
    """Slices of each source (phenomenon_state.py), and one candidate. What comes out of it is few rows."""
    streams = [leaf.stream for leaf in walk_plan(node.input) if isinstance(leaf, logical.Acquire)]
    sources = float(max((context.sources(stream) for stream in streams), default=1))
    rows = rows_of_source(node.call, round(_interval(node.input, context) * SECOND))
    size = rows * SLICE_BYTES + SOURCE_BYTES + CANDIDATE_BYTES
    return replace(flow, held=flow.held + sources * (rows + 1), size=flow.size + sources * size)


def _to_stream(flow: _Flow, relation: Relation) -> _Flow:
    """RSTREAM gives every row of every evaluation, ISTREAM and DSTREAM those that are new or gone."""
    changed = 1.0
    if relation is not Relation.RSTREAM and flow.every and flow.span:
        changed = min(1.0, flow.every / flow.span)
    return _Flow(flow.rate * changed, held=flow.held, size=flow.size)


def _times(flow: _Flow, share: float) -> _Flow:
    return replace(flow, rows=flow.rows * share)


def _sum(flows: Iterable[_Flow]) -> _Flow:
    found = list(flows)
    if len(found) == 1:
        return found[0]
    every = min((flow.every for flow in found if flow.every is not None), default=None)
    return _Flow(
        sum(flow.rows for flow in found),
        every,
        max((flow.span for flow in found), default=0.0),
        sum(flow.held for flow in found),
        sum(flow.size for flow in found),
        windows=any(flow.windows for flow in found),
    )


def _width(schema: Schema) -> int:
    return SYSTEM + sum(WIDTHS.get(column.type.kind, 8) for column in schema)
