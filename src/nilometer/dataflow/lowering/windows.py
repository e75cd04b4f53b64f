"""Lowers TIME_WINDOW and ROW_WINDOW (streams to windows), and RSTREAM, ISTREAM and DSTREAM (back to
streams)."""

from __future__ import annotations

from nilometer.dataflow.dataflow import Dataflow
from nilometer.dataflow.lowering.changes import changes
from nilometer.dataflow.lowering.sources_of import acquisition_interval, id_type
from nilometer.operators import row_window as row_operator
from nilometer.operators import time_window as time_operator
from nilometer.operators import to_stream as to_stream_operator
from nilometer.plan.physical import DStream, IStream, RowWindow, RStream, TimeWindow


def time_window(node: TimeWindow, flow: Dataflow) -> int:
    """The rows of each window, materialised."""
    spec = time_operator.TimeWindow(
        node.schema, node.start, node.end, node.slide, node.open_start, acquisition_interval(node.input)
    )
    return flow.add_operator(node, spec)


def row_window(node: RowWindow, flow: Dataflow) -> int:
    """Windows over a number of rows, materialised."""
    spec = row_operator.RowWindow(node.schema, node.start, node.end, node.slide, id_type(node.input))
    return flow.add_operator(node, spec)


def to_stream(node: RStream | IStream | DStream, flow: Dataflow) -> int:
    """Windows, or their differences, as a stream. Those of a join come from deltas where possible."""
    place = None if isinstance(node, RStream) else changes(node, flow)
    if place is not None:
        return place
    return flow.add_operator(node, to_stream_operator.ToStream(node.schema, node.relation))
