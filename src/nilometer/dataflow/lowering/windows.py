"""Lowers TIME_WINDOW and ROW_WINDOW (streams to windows), and RSTREAM, ISTREAM and DSTREAM (back to
streams)."""

from __future__ import annotations

from nilometer.dataflow.dataflow import Dataflow
from nilometer.dataflow.lowering.changes import changes
from nilometer.dataflow.lowering.sources_of import grid_of, id_type
from nilometer.dataflow.ticks import acquisition_interval
from nilometer.operators import fill as fill_operator
from nilometer.operators import keyed_row_window as keyed_operator
from nilometer.operators import row_window as row_operator
from nilometer.operators import time_window as time_operator
from nilometer.operators import to_stream as to_stream_operator
from nilometer.plan.physical import DStream, Fill, IStream, RowWindow, RStream, TimeWindow


def time_window(node: TimeWindow, flow: Dataflow) -> int:
    """The rows of each window, materialised."""
    spec = time_operator.TimeWindow(
        node.schema,
        node.start,
        node.end,
        node.slide,
        node.open_start,
        acquisition_interval(node.input),
        grid_of(node),
    )
    return flow.add_operator(node, spec)


def row_window(node: RowWindow, flow: Dataflow) -> int:
    """Windows over a number of rows, materialised."""
    if node.keys:
        keyed = keyed_operator.KeyedRowWindow(
            node.schema, node.start or 0, node.end, node.slide, node.keys, id_type(node.input)
        )
        return flow.add_operator(node, keyed)
    spec = row_operator.RowWindow(node.schema, node.start, node.end, node.slide, id_type(node.input))
    return flow.add_operator(node, spec)


def fill(node: Fill, flow: Dataflow) -> int:
    """A row for each group that an evaluation lacks."""
    windows = tuple((item.name, item.expression) for item in node.windows)
    return flow.add_operator(node, fill_operator.Fill(node.schema, node.keys, node.method, windows))


def to_stream(node: RStream | IStream | DStream, flow: Dataflow) -> int:
    """Windows, or their differences, as a stream. Those of a join come from deltas where possible."""
    place = None if isinstance(node, RStream) else changes(node, flow)
    if place is not None:
        return place
    return flow.add_operator(node, to_stream_operator.ToStream(node.schema, node.relation))
