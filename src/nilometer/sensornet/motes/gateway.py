"""The gateway's end of the sink's serial line: frames -> the gateway's part of the plan -> answers.

The gateway's own dataflow runs that part, as in the simulator, so every operator that a plan may leave there
works. Before that, rows are Python values: a line of 57,600 Bd brings some hundreds of rows per second.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from nilometer.algebra import Collection
from nilometer.catalog.network import NodeId
from nilometer.dataflow.intake import row_columns
from nilometer.dataflow.sources import Extents
from nilometer.errors import DataError, UnsupportedError
from nilometer.operators.logic import EVALUATION, ID, POSITION, TICK, TIME, Output, no_evaluations
from nilometer.placement import Placement
from nilometer.plan import physical
from nilometer.sensornet.motes.fields import SITE, is_deferred
from nilometer.sensornet.motes.finishing import finished, with_gateway_states
from nilometer.sensornet.motes.serial_frames import Frame, FrameKind, FrameReader, unpacked
from nilometer.sensornet.motes.site import Delivered, Motes
from nilometer.sensornet.simulation.site_flow import SiteFlow
from nilometer.types import Kind

Ticks = npt.NDArray[np.int64]
Rows = list[dict[str, Any]]


def check_finishing(placement: Placement) -> None:
    """Refuse a plan whose gateway part also reads a source outside the network, because the sink's line does
    not carry it."""
    elsewhere = placement.fragments[0].acquires
    if elsewhere:
        names = ", ".join(dict.fromkeys(acquire.stream.name for acquire in elsewhere))
        raise UnsupportedError(
            f"{names} is not sensed in the network '{placement.network.name}'",
            detail="the gateway would join it with what motes send, and only these come by the sink's serial line",
            hint="ask for the part of the query that reads the network; `compile` alone builds the programs",
        )


def frame_reader(motes: Motes, start: int) -> FrameReader:
    """Reads the output of these motes' sink, if their first evaluation was compiled for `start` or for a time
    that is a multiple of `Motes.alignment` away from it."""
    sink = motes.site(motes.placement.routing.sink)
    kinds = []
    for kind in motes.delivered:
        most = sum(
            tray.capacity for tray in sink.trays if (tray.fragment, tray.consumer) == (kind.producer, 0)
        )
        kinds.append(FrameKind(motes.typing.stored(kind.node, kind.ordered), most))
    return FrameReader(kinds, motes.placement.beta, motes.fingerprint(start))


def answers(
    motes: Motes,
    serial: bytes,
    start: int,
    evaluations: int,
    extents: Extents,
    names: Mapping[int, NodeId] | None = None,
) -> pl.DataFrame:
    """The answer to that many evaluations, in the delivered columns. All their frames must be there."""
    reader, end = frame_reader(motes, start), GatewayEnd(motes, start, extents, names)
    for frame in reader.feed(serial):
        end.take(frame)
    # A run may end within a frame; such a frame is not garbled.
    if reader.skipped:
        raise DataError(
            "the sink's serial line is garbled",
            detail=f"{reader.skipped} of {len(serial)} bytes are in no frame",
            hint="this should not happen: report it",
        )
    return end.advance(evaluations)


class GatewayEnd:
    """The running gateway part. `start` is the time of evaluation 0, in microseconds. `first` is the first
    evaluation that arrives, which is a later one if the gateway started late. `names` are the names of nodes:
    a STRING on a mote is a node's number."""

    def __init__(
        self,
        motes: Motes,
        start: int,
        extents: Extents,
        names: Mapping[int, NodeId] | None = None,
        first: int = 0,
    ) -> None:
        check_finishing(motes.placement)
        self._motes = motes
        self._start = start
        self._names = names or {}
        self._next = first
        self._position = 0
        self._first = True
        self._fields = [motes.typing.stored(kind.node, kind.ordered) for kind in motes.delivered]
        self._derived = [motes.typing.derived(kind.node) for kind in motes.delivered]
        self._numbered = [_numbered(kind.node) for kind in motes.delivered]
        self._given: list[Rows] = [[] for _ in motes.delivered]
        self._flow = SiteFlow(motes.placement.fragments[0], np.zeros(1, dtype=np.int64), extents)
        streams = (node.stream for fragment in motes.placement.fragments for node in fragment.acquires)
        self._first_ticks = {stream.name.lower(): self.watermark for stream in streams}

    @property
    def watermark(self) -> int:
        """The time before which everything has been answered."""
        return self.time_of(self._next)

    def time_of(self, evaluation: int) -> int:
        """The time of an evaluation."""
        return self._start + evaluation * self._motes.typing.interval

    def restart(self, start: int, first: int) -> None:
        """Set another time for evaluation 0, because the motes started again or their clock drifted from
        ours. The next evaluation to arrive is `first`. Rows before the watermark have been answered and are
        skipped."""
        answered = self.watermark
        self._start = start
        self._next = first + max(0, -(-(answered - self.time_of(first)) // self._motes.typing.interval))

    def take(self, frame: Frame) -> int:
        """Take the rows of evaluations that have not been answered, and return the number of other rows."""
        kind, interval = frame.kind, self._motes.typing.interval
        node = self._motes.delivered[kind].node
        late = 0
        for epoch, *values in frame.tuples:
            if frame.first + epoch < self._next:
                late += 1
                continue
            tick = self.time_of(frame.first + epoch)
            row = unpacked(values, self._fields[kind], self._start, interval)
            row |= {name: self._names.get(row[name], row[name]) for name in self._numbered[kind]}
            row |= {name: tick - distance * interval for name, distance in self._derived[kind].items()}
            hidden = {SITE: row.pop(SITE, None), TICK: tick}
            whole = finished(node, row, tick)
            self._given[kind] += [with_gateway_states(node.input, one) | hidden for one in whole]
        return late

    def advance(self, evaluation: int) -> pl.DataFrame:
        """Return the answers that follow once all rows before that evaluation have arrived."""
        interval = self._motes.typing.interval
        ticks = np.arange(self.watermark, self.time_of(evaluation), interval, dtype=np.int64)
        inputs = [
            self._output(kind, rows, ticks)
            for kind, rows in zip(self._motes.delivered, self._given, strict=True)
        ]
        self._given = [[] for _ in inputs]
        self._next = evaluation
        answer = self._flow.step(inputs, self.watermark, self._first_ticks, {}, first=self._first)
        self._first = False
        return answer.rows.drop(SITE)

    def _output(self, kind: Delivered, rows: Rows, ticks: Ticks) -> Output:
        """Rows in the form that the gateway's dataflow takes: with system columns, in tick order."""
        node = kind.node.input
        columns = row_columns(node)
        rows = sorted(rows, key=lambda row: row[TICK])
        values: dict[str, list[Any]] = {TICK: [row[TICK] for row in rows]}
        if node.collection is Collection.STREAM:
            values[TIME] = values[TICK]
            values[ID] = [self._names.get(row[SITE], row[SITE]) for row in rows]
            values[POSITION] = list(range(self._position, self._position + len(rows)))
            self._position += len(rows)
            evaluations = no_evaluations()
        else:
            # Several row windows may end at one tick; operators that tell them apart are never above (`placement.abilities`).
            values[EVALUATION] = values[TICK]
            took_place = _evaluated(node, ticks, np.array(values[TICK], dtype=np.int64))
            evaluations = pl.DataFrame({EVALUATION: took_place, TICK: took_place})
        values |= {column.name: [row[column.name] for row in rows] for column in node.schema}
        frame = pl.DataFrame(
            {name: pl.Series(name, values[name], dtype, strict=False) for name, dtype in columns.items()}
        )
        return Output(frame.with_columns(pl.lit(0, pl.Int64).alias(SITE)), evaluations)


def _numbered(node: physical.Node) -> list[str]:
    """The columns of names, which are numbers in the frames."""
    while is_deferred(node):
        node = node.inputs[0]
    return [column.name for column in node.schema if column.type.kind is Kind.STRING]


def _evaluated(node: physical.Node, ticks: Ticks, of_rows: Ticks) -> Ticks:
    """The ticks of the evaluations that took place, including those without rows: a sensed stream has one at
    every acquisition."""
    match node:
        case physical.TimeWindow(slide=slide):
            return ticks if slide is None else ticks[ticks % slide == 0]
        case physical.RowWindow():
            return np.unique(of_rows)
    found = [
        _evaluated(child, ticks, of_rows) for child in node.inputs if child.collection is Collection.WINDOWS
    ]
    return np.unique(np.concatenate(found))
