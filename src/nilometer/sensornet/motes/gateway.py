"""The gateway's end of the sink's serial line: frames to rows, and rows through the part of the plan that is the gateway's.

That part is run by the gateway's own dataflow, as the simulator does it: everything that a plan may leave there works.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from nilometer.catalog.network import NodeId
from nilometer.edge.gateway.intake import row_columns
from nilometer.edge.gateway.sources import Extents
from nilometer.errors import UnsupportedError
from nilometer.operators.logic import EVALUATION, ID, POSITION, TICK, TIME, Output, no_evaluations
from nilometer.placement import Placement
from nilometer.plan import physical
from nilometer.plan.logical import Collection
from nilometer.sensornet.motes.fields import SITE, is_deferred
from nilometer.sensornet.motes.finishing import finished, with_gateway_states
from nilometer.sensornet.motes.serial_frames import read_frames
from nilometer.sensornet.motes.site import Delivered, Motes
from nilometer.sensornet.simulation.fragment_flow import FragmentFlow
from nilometer.types import Kind

Ticks = npt.NDArray[np.int64]


def check_finishing(placement: Placement) -> None:
    """Refuse a plan whose other part also reads what no mote of the network senses: an emulated run has no such readings."""
    elsewhere = placement.fragments[0].acquires
    if elsewhere:
        names = ", ".join(dict.fromkeys(acquire.stream.name for acquire in elsewhere))
        raise UnsupportedError(
            f"{names} is not sensed in the network '{placement.network.name}'",
            detail="the gateway would join it with what motes send, and the emulator has only these",
            hint="compile without --emulate, or emulate the part of the query that reads the network",
        )


def answers(
    motes: Motes,
    serial: bytes,
    start: int,
    evaluations: int,
    extents: Extents,
    names: Mapping[int, NodeId] | None = None,
) -> pl.DataFrame:
    """The answer to so many evaluations, in the columns that are delivered. `start` is the time of the first, in microseconds.
    `names` are those of nodes: what is a STRING on a mote is a node's number."""
    check_finishing(motes.placement)
    first, interval = motes.placement.fragments[0], motes.typing.interval
    given: list[list[dict[str, Any]]] = [[] for _ in motes.delivered]
    numbered = [_numbered(kind.node) for kind in motes.delivered]
    derived = [motes.typing.derived(kind.node) for kind in motes.delivered]
    fields = [motes.typing.stored(kind.node, kind.ordered) for kind in motes.delivered]
    for kind, evaluation, row in read_frames(serial, fields, start, interval):
        tick = start + evaluation * interval
        row |= {name: (names or {}).get(row[name], row[name]) for name in numbered[kind]}
        row |= {name: tick - distance * interval for name, distance in derived[kind].items()}
        site = {SITE: row.pop(SITE, None), TICK: tick}
        node = motes.delivered[kind].node
        given[kind] += [with_gateway_states(node.input, whole) | site for whole in finished(node, row, tick)]
    ticks = start + np.arange(evaluations, dtype=np.int64) * interval
    inputs = [
        _output(kind, rows, ticks, names or {}) for kind, rows in zip(motes.delivered, given, strict=True)
    ]
    flow = FragmentFlow(first, np.zeros(1, dtype=np.int64), extents)
    streams = [
        node.stream.name.lower() for fragment in motes.placement.fragments for node in fragment.acquires
    ]
    answer = flow.step(inputs, start + evaluations * interval, dict.fromkeys(streams, start), {}, first=True)
    return answer.rows.drop(SITE)


def _numbered(node: physical.Node) -> list[str]:
    """The columns of names, which are numbers in the frames."""
    while is_deferred(node):
        node = node.inputs[0]
    return [column.name for column in node.schema if column.type.kind is Kind.STRING]


def _output(kind: Delivered, rows: list[dict[str, Any]], ticks: Ticks, names: Mapping[int, NodeId]) -> Output:
    """Rows as the gateway's dataflow takes them: with system columns, in order of their ticks."""
    node = kind.node.input
    columns = row_columns(node)
    rows = sorted(rows, key=lambda row: row[TICK])
    system: dict[str, list[Any]] = {TICK: [row[TICK] for row in rows]}
    if node.collection is Collection.STREAM:
        sites = [row[SITE] for row in rows]
        system |= {
            TIME: system[TICK],
            ID: [names.get(site, site) for site in sites],
            POSITION: list(range(len(rows))),
        }
        evaluations = no_evaluations()
    else:
        # Several windows of rows may end at one tick; only operators that do not care are above them (`placement.abilities`).
        system |= {EVALUATION: system[TICK]}
        took_place = _evaluated(node, ticks, np.array(system[TICK], dtype=np.int64))
        evaluations = pl.DataFrame({EVALUATION: took_place, TICK: took_place})
    values = {column.name: [row[column.name] for row in rows] for column in node.schema}
    frame = pl.DataFrame(
        {
            name: pl.Series(name, (system | values)[name], dtype=dtype, strict=False)
            for name, dtype in columns.items()
        }
    )
    return Output(frame.with_columns(pl.lit(0, pl.Int64).alias(SITE)), evaluations)


def _evaluated(node: physical.Node, ticks: Ticks, of_rows: Ticks) -> Ticks:
    """The ticks of the evaluations that took place, also of those that gave no row: sensed streams have one at every acquisition."""
    match node:
        case physical.TimeWindow(slide=slide):
            return ticks if slide is None else ticks[ticks % slide == 0]
        case physical.RowWindow():
            return np.unique(of_rows)
    found = [
        _evaluated(child, ticks, of_rows) for child in node.inputs if child.collection is Collection.WINDOWS
    ]
    return np.unique(np.concatenate(found))
