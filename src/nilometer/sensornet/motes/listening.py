"""What a sink's serial line says, as it comes -> answers, with times of this world.

Motes count evaluations from their reset and know no clock: when the first whole period has come, it is known when its evaluations were, to
within the time that a delivery takes, and these times are rounded to multiples of the acquisition interval (of the longest SLIDE that motes keep, so
that windows end where the query says). A sink that was reset begins anew, after everything that was answered.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import lcm

import polars as pl

from nilometer.catalog.network import NodeId
from nilometer.edge.gateway.sources import Extents
from nilometer.plan import physical
from nilometer.sensornet.motes.gateway import GatewayEnd, check_finishing, frame_reader
from nilometer.sensornet.motes.serial_frames import Frame
from nilometer.sensornet.motes.site import Motes


@dataclass
class Heard:
    """What came by the line. `missing`: frames that did not, of periods that are over; `resets`: how often the sink began anew."""

    frames: int = 0
    tuples: int = 0
    missing: int = 0
    resets: int = 0


class Listener:
    """`aligned`: a time at which evaluation 0 may be. `start`: when it is, if that is known, as of a line that was recorded."""

    def __init__(
        self,
        motes: Motes,
        aligned: int,
        extents: Extents,
        names: Mapping[int, NodeId] | None = None,
        start: int | None = None,
    ) -> None:
        check_finishing(motes.placement)
        self._motes = motes
        self._aligned = aligned
        self._start = start
        self._extents = extents
        self._names = names
        self._reader = frame_reader(motes)
        self._end: GatewayEnd | None = None
        self._period = 0
        self._waiting: set[int] = set()
        self._recorded = False
        self.heard = Heard()

    @property
    def skipped(self) -> int:
        """Bytes that were in no frame."""
        return self._reader.skipped

    def hear(self, data: bytes, now: int, *, recorded: bool = False) -> list[pl.DataFrame]:
        """What came until `now` (microseconds); the answers to the periods that are whole now. `recorded`: it came some other time, so
        that `now` says nothing of when a sink that was reset began anew."""
        self._recorded = recorded
        found = []
        for frame in self._reader.feed(data):
            found += self._take(frame, now)
        return [rows for rows in found if rows.height]

    def close(self) -> list[pl.DataFrame]:
        """The line is closed: the answer to a period of which some frames came."""
        self._reader.close()
        return [rows for rows in self._finish() if rows.height]

    def _take(self, frame: Frame, now: int) -> list[pl.DataFrame]:
        found: list[pl.DataFrame] = []
        self.heard.frames += 1
        self.heard.tuples += len(frame.tuples)
        if self._end is None:
            start = self._began(frame, now) if self._start is None else self._start
            self._end = GatewayEnd(self._motes, start, self._extents, self._names, frame.first)
            self._await(frame.first)
        elif frame.first < self._period or (frame.first == self._period and frame.kind not in self._waiting):
            found += self._finish()
            self.heard.resets += 1
            earliest = self._after(self._end.watermark - frame.first * self._motes.typing.interval)
            began = earliest if self._recorded else max(self._began(frame, now), earliest)
            self._end.restart(began, frame.first)
            self._await(frame.first)
        elif frame.first > self._period:
            found += self._finish()
            over = (frame.first - self._period) // self._motes.placement.beta - 1
            self.heard.missing += over * len(self._motes.delivered)
            self._await(frame.first)
        self._end.take(frame)
        self._waiting.discard(frame.kind)
        return found if self._waiting else found + self._finish()

    def _await(self, first: int) -> None:
        self._period = first
        self._waiting = set(range(len(self._motes.delivered)))

    def _finish(self) -> list[pl.DataFrame]:
        """All that will come of the period has come."""
        if self._end is None:
            return []
        end = self._period + self._motes.placement.beta
        if self._end.watermark >= self._end.time_of(end):
            return []
        self.heard.missing += len(self._waiting)
        return [self._end.advance(end)]

    def _began(self, frame: Frame, now: int) -> int:
        """When evaluation 0 was, given that a frame has just come."""
        agenda = self._motes.placement.agenda
        delivered = round(agenda.seconds(agenda.delivery) * 1e6) + frame.first * self._motes.typing.interval
        return self._aligned + round((now - delivered - self._aligned) / self._step) * self._step

    def _after(self, time: int) -> int:
        """The next time at which evaluation 0 may be."""
        return self._aligned - (self._aligned - time) // self._step * self._step

    @property
    def _step(self) -> int:
        """Programs know when a window that slides is due by counting evaluations from that of a known time."""
        slides = [
            node.slide
            for fragment in self._motes.placement.fragments
            for node in fragment.mote_operators
            if isinstance(node, physical.TimeWindow) and node.slide
        ]
        return lcm(self._motes.typing.interval, *slides)
