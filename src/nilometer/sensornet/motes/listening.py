"""The bytes of a sink's serial line, as they arrive -> answers with wall-clock times.

Motes count evaluations from their reset and know no calendar. The arrival of a period tells when its
evaluations took place, to within the time of a delivery. These times are rounded to multiples of
`Motes.alignment`, so that windows end where the query says. A frame may be delayed on its way but never
arrives early. So a period that seems earlier than expected corrects the time at once; one that seems later
corrects it only if those after it seem later, too. In this way the times follow the sink's crystal, however
long it runs. Rows that a jump back would bring again are skipped and counted. A sink that was reset continues
after everything that was already answered.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise, takewhile

import polars as pl

from nilometer.catalog.network import NodeId
from nilometer.dataflow.sources import Extents
from nilometer.sensornet.motes.gateway import GatewayEnd, check_finishing, frame_reader
from nilometer.sensornet.motes.serial_frames import Frame
from nilometer.sensornet.motes.site import Motes

MOST_MISSING = 1_000_000
"""The most evaluations that may be missing between two frames of a recorded line. A larger jump means that
the sink was reset."""

LATE_PERIODS = 16
"""The number of consecutive periods that must seem late before the time is corrected, because a line may be
delayed for a while."""


@dataclass
class Heard:
    """Counts of what the line brought. `missing`: frames that never came, of periods that are over. `resets`:
    how often the sink started again. `corrections`: how often its clock was found to be an evaluation off.
    `late`: tuples of evaluations that had already been answered."""

    frames: int = 0
    tuples: int = 0
    missing: int = 0
    resets: int = 0
    corrections: int = 0
    late: int = 0


class Listener:
    """`aligned`: a possible time of evaluation 0. `start`: the actual time, if it is known, as for a recorded
    line. Then nothing depends on when bytes arrive."""

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
        self._reader = frame_reader(motes, aligned)
        self._end: GatewayEnd | None = None
        self._period = 0
        self._waiting: set[int] = set()
        self._follows = start is None
        self._delays: deque[int] = deque(maxlen=LATE_PERIODS)
        self.heard = Heard()

    @property
    def skipped(self) -> int:
        """Bytes that were in no frame."""
        return self._reader.skipped

    def hear(self, data: bytes, now: int, *, recorded: bool = False) -> list[pl.DataFrame]:
        """Take the bytes that came until `now` (microseconds), and return the answers to the periods that are
        now complete. `recorded`: the bytes came at some other time, so `now` dates only the first frame."""
        self._follows = self._start is None and not recorded
        frames = self._reader.feed(data)
        if self._end is None and frames:
            start = self._anchored(frames, now) if self._start is None else self._start
            self._end = GatewayEnd(self._motes, start, self._extents, self._names, frames[0].first)
            self._await(frames[0].first)
        found = [rows for frame in frames[:-1] for rows in self._take(frame, None)]
        found += [rows for frame in frames[-1:] for rows in self._take(frame, now if self._follows else None)]
        return [rows for rows in found if rows.height]

    def close(self) -> list[pl.DataFrame]:
        """Close the line, and return the answer to a period of which only some frames came."""
        self._reader.close()
        return [rows for rows in self._finish() if rows.height]

    def _take(self, frame: Frame, now: int | None) -> list[pl.DataFrame]:
        """Take a frame. `now`: the frame has just come; None: it came some time ago, together with later
        ones, or from a file."""
        found: list[pl.DataFrame] = []
        self.heard.frames += 1
        self.heard.tuples += len(frame.tuples)
        assert self._end is not None
        if self._is_of_another_count(frame, now):
            found += self._finish()
            self.heard.resets += 1
            self._delays.clear()
            earliest = self._after(self._end.watermark - frame.first * self._motes.typing.interval)
            began = earliest if now is None else max(self._rounded(self._began(frame, now)), earliest)
            self._end.restart(began, frame.first)
            self._await(frame.first)
        elif frame.first > self._period:
            found += self._finish()
            over = (frame.first - self._period) // self._motes.placement.beta - 1
            self.heard.missing += over * len(self._motes.delivered)
            if now is not None:
                self._follow(frame, now)
            self._await(frame.first)
        self.heard.late += self._end.take(frame)
        self._waiting.discard(frame.kind)
        return found if self._waiting else found + self._finish()

    def _is_of_another_count(self, frame: Frame, now: int | None) -> bool:
        """Whether the sink has been reset: it counts from the beginning again, or from a number that it
        cannot have reached."""
        assert self._end is not None
        if frame.first < self._period or (frame.first == self._period and frame.kind not in self._waiting):
            return True
        if now is None:
            return frame.first - self._period > MOST_MISSING
        period = self._motes.placement.beta * self._motes.typing.interval
        return self._end.time_of(0) - self._began(frame, now) > 2 * period + self._motes.alignment

    def _follow(self, frame: Frame, now: int) -> None:
        """Correct the time if the sink's clock has drifted from ours."""
        assert self._end is not None
        step = self._motes.alignment
        self._delays.append(self._began(frame, now) - self._end.time_of(0))
        apart = self._delays[-1] if self._delays[-1] < 0 else min(self._delays)
        late = apart > 3 * step / 4 and len(self._delays) == LATE_PERIODS
        if not late and not -7 * step / 4 <= apart < -3 * step / 4:
            return  # a jump back further than clocks drift: the first frame was delayed, and going there would lose rows
        self.heard.corrections += 1
        self._delays.clear()
        self._end.restart(self._end.time_of(0) + round(apart / step) * step, frame.first)

    def _await(self, first: int) -> None:
        self._period = first
        self._waiting = set(range(len(self._motes.delivered)))

    def _finish(self) -> list[pl.DataFrame]:
        """Answer the period: no more of it will arrive."""
        if self._end is None:
            return []
        end = self._period + self._motes.placement.beta
        if self._end.watermark >= self._end.time_of(end):
            return []
        self.heard.missing += len(self._waiting)
        return [self._end.advance(end)]

    def _anchored(self, frames: Sequence[Frame], now: int) -> int:
        """The time of evaluation 0 from the first frames. If several periods came at once, the last was
        delayed least."""
        counted = takewhile(lambda pair: pair[0].first <= pair[1].first, pairwise([frames[0], *frames]))
        return self._rounded(min(self._began(frame, now) for _, frame in counted))

    def _began(self, frame: Frame, now: int) -> int:
        """The time of evaluation 0, if this frame has just come and was not delayed."""
        agenda = self._motes.placement.agenda
        delivered = round(agenda.seconds(agenda.delivery) * 1e6)
        return now - delivered - frame.first * self._motes.typing.interval

    def _rounded(self, time: int) -> int:
        """The nearest possible time of evaluation 0."""
        return self._aligned + round((time - self._aligned) / self._motes.alignment) * self._motes.alignment

    def _after(self, time: int) -> int:
        """The next possible time of evaluation 0."""
        step = self._motes.alignment
        return self._aligned - (self._aligned - time) // step * step
