"""Plans from a log's record headers how far the next micro-batch reads, and in which pieces.

The driver reads headers only, with three exceptions. A record larger than the limit is divided, for which its
times are read. The first record of all is read for the tick of its first accepted row, to which sliding
windows are aligned. And a record with doubles by KEY (log/doubles.py) is read, because doubles raise no
watermark.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import polars as pl

from nilometer.catalog.extents import Stream
from nilometer.dataflow.door import NEVER
from nilometer.errors import DataError
from nilometer.log import Offset, StreamLog
from nilometer.log.gaps import Continuity
from nilometer.log.record import ENTRIES, Header, RecordKind
from nilometer.log.segment import SegmentId, look, refuse, segment_ids
from nilometer.spark.places import LogPlace, Places
from nilometer.spark.records import reached_by, runs_of


@dataclass(frozen=True)
class Piece:
    """What one task reads of one segment: whole records from byte `start` to `end`, without the first `skip`
    rows, and at most `rows` rows. `place` is the state of the door before them.
    """

    stream: str
    segment: SegmentId
    start: int
    end: int
    skip: int
    rows: int
    place: LogPlace


@dataclass(frozen=True)
class Admitted:
    """A record, or a part of one, and the place after it."""

    segment: SegmentId
    header: Header
    skip: int
    rows: int
    after: LogPlace


class HeaderWalk:
    """The headers of one stream's log. Each is read once, as long as the walk goes on where it stopped."""

    def __init__(self, stream: Stream, log: StreamLog) -> None:
        self.stream = stream
        self.log = log
        self._doubles = log.recorded_doubles
        self._segment: SegmentId | None = None
        # The entries from number `_first` on whose headers have been read, up to byte `_end` of the segment.
        # They need not be consecutive: some may be on record as lost.
        self._first = 0
        self._reached = SegmentId(0, 0)
        self._headers: list[Header] = []
        self._end = 0

    def steps(self, place: LogPlace, limit: int | None = None) -> Iterator[Admitted]:
        """The records from a place on, up to the present end. The last is cut so that there are at most
        `limit` rows.
        """
        left = limit
        while left is None or left > 0:
            found = self._record(place.number)
            if found is None:
                return
            step = self._step(*found, place, left)
            place = step.after
            if left is not None:
                # Heartbeats and empty batches count too, or the log of a silent stream would be one endless
                # micro-batch.
                left -= max(1, step.rows)
            yield step

    def _step(self, segment: SegmentId, header: Header, place: LogPlace, limit: int | None) -> Admitted:
        following = LogPlace(
            header.number + 1,
            header.position + header.rows,
            place.watermark,
            place.first_tick,
            place.greatest_tick,
            place.greatest_time,
        )
        if header.kind == RecordKind.HEARTBEAT:
            after = replace(following, watermark=max(place.watermark, header.greatest_time))
            return Admitted(segment, header, 0, 0, after)
        if header.kind == RecordKind.SUMMARIES:
            # Queries on Spark take no summaries; event time moves as on the gateway.
            after = replace(following, watermark=max(place.watermark, reached_by(header, self.stream)))
            return Admitted(segment, header, 0, 0, after)
        skip = max(0, place.position - header.position)
        rows = header.rows - skip
        cut = limit is not None and rows > limit
        if cut:
            rows = limit or 0
            following = replace(following, number=header.number, position=header.position + skip + rows)
        if not header.timed or not rows:
            return Admitted(segment, header, skip, rows, following)
        times, first_tick = (header.least_time, header.greatest_time), None
        readings = self._doubles.left(header.position + skip, rows)
        if cut or skip or place.first_tick is None or readings is not None:
            found = self._times(segment, header)[skip : skip + rows]
            found = found if readings is None else found[readings]
            found = found[found != NEVER]
            if not len(found):
                return Admitted(segment, header, skip, rows, following)
            times, first_tick = (int(found.min()), int(found.max())), self._first_tick(found, place)
        after = replace(following, **place.door_numbers(self.stream, times, first_tick))
        return Admitted(segment, header, skip, rows, after)

    def _times(self, segment: SegmentId, header: Header) -> npt.NDArray[np.int64]:
        """The event times of all rows of a record: a row without a time is no reading, but has a position."""
        (rows,) = runs_of(self.log.files, segment, header.start, header.end, self.stream, frozenset({"time"}))
        assert isinstance(rows, pl.DataFrame)
        return rows.to_series().fill_null(NEVER).to_numpy()

    def _first_tick(self, times: npt.NDArray[np.int64], place: LogPlace) -> int | None:
        """The tick of the first row that is not late."""
        if place.first_tick is not None:
            return place.first_tick
        ticks = times if self.stream.every is None else times // self.stream.every * self.stream.every
        # Before the first accepted row, only a heartbeat can have raised the watermark.
        accepted = ticks >= place.watermark
        return int(ticks[accepted.argmax()]) if accepted.any() else None

    def _record(self, number: int) -> tuple[SegmentId, Header] | None:
        """The record of an entry, or of the next one if it is on record as lost; None if it does not exist yet."""
        known = self._segment is not None and self._first <= number <= self._reached.number
        if not known and not self._enter(number):
            return None
        while True:
            assert self._segment is not None
            at = bisect_left(self._headers, number, key=lambda header: header.number)
            if at < len(self._headers):
                return self._segment, self._headers[at]
            if self._more():
                continue
            # List the segments first, then look: a segment that already had a successor is complete when it
            # is read.
            later = [each for each in segment_ids(self.log.files) if each > self._segment]
            if self._more():
                continue
            if not later:
                return None
            Continuity(self.log.files, refuse).check(self._reached, later[0])
            self._begin(later[0])

    def _begin(self, segment: SegmentId) -> None:
        self._segment, self._first, self._headers, self._end = segment, segment.number, [], 0
        self._reached = segment

    def _enter(self, number: int) -> bool:
        ids = segment_ids(self.log.files)
        before = [each for each in ids if each.number <= number]
        if not before:
            if ids:
                raise DataError(
                    f"the log of {self.stream.name} begins after what the query has read",
                    detail=f"it was trimmed up to entry {ids[0].number}; the query stands at {number}",
                    hint="replay the query from the beginning of what is left",
                )
            return False
        self._begin(before[-1])
        return True

    def _more(self) -> bool:
        """Read further in the segment. Returns whether there was anything."""
        assert self._segment is not None
        _, contents = look(self.log.files, self._segment, self._end)
        found = [header for header, _ in contents if header.kind in ENTRIES]
        self._reached = max(self._reached, contents.reached)
        moved, self._end = contents.end > self._end, contents.end
        self._headers += found
        return moved

    def forget(self, number: int) -> None:
        """Forget the entries before this one, which are not asked for again."""
        passed = bisect_left(self._headers, number, key=lambda header: header.number)
        self._first = max(self._first, min(number, self._reached.number))
        del self._headers[:passed]


class Admission:
    """How far micro-batches read, for all streams of a query."""

    def __init__(self, streams: Mapping[str, Stream], logs: Mapping[str, StreamLog]) -> None:
        self._walks = {name: HeaderWalk(stream, logs[name]) for name, stream in streams.items()}

    def latest(self, start: Places, limit: int | None, until: Mapping[str, Offset] | None = None) -> Places:
        """The end of the next micro-batch of about `limit` rows. The stream that is furthest behind in event
        time comes first, so that none is ahead of the others by more than a micro-batch. No stream is read
        beyond `until`.
        """
        places = dict(start.streams)
        left = limit
        walks: dict[str, Iterator[Admitted]] = {}
        open_streams = set(places)
        while open_streams and (left is None or left > 0):
            name = min(open_streams, key=lambda each: (places[each].watermark, each))
            place = places[name]
            stop = None if until is None else until.get(name)
            wanted = left
            if stop is not None:
                if place.offset >= stop:
                    open_streams.discard(name)
                    continue
                if stop.number == place.number:
                    inside = stop.position - place.position
                    wanted = inside if left is None else min(left, inside)
            if wanted is not None or name not in walks:
                walks[name] = self._walks[name].steps(place, wanted)
            step = next(walks[name], None)
            if step is None:
                open_streams.discard(name)
                continue
            places[name] = step.after
            if left is not None:
                left -= max(1, step.rows)
        return replace(start, streams=places)

    def ends(self) -> dict[str, Offset]:
        """The present end of each log."""
        return {name: walk.log.end for name, walk in self._walks.items()}

    def pieces(self, start: Places, end: Places, tasks: int) -> list[list[Piece]]:
        """The records between two offsets, divided among `tasks` tasks with about the same number of rows."""
        total = sum(end.streams[name].position - place.position for name, place in start.streams.items())
        share = -(-max(1, total) // tasks)
        found: list[list[Piece]] = [[]]
        room = share
        for name in sorted(start.streams):
            place, stop = start.streams[name], end.streams[name].offset
            current: Piece | None = None
            while place.offset < stop:
                inside = stop.position - place.position if stop.number == place.number else None
                wanted = room if inside is None else min(room, inside)
                step = next(self._walks[name].steps(place, wanted), None)
                if step is None:
                    raise DataError(
                        f"the log of {name} ends before what the query has read",
                        detail=f"at entry {place.number}; the query has read up to {stop.number}",
                        hint="the log has lost its end: replay the query from the beginning",
                    )
                header = step.header
                if current is not None and current.segment == step.segment and not step.skip:
                    current = replace(current, end=header.end, rows=current.rows + step.rows)
                else:
                    if current is not None:
                        found[-1].append(current)
                    current = Piece(name, step.segment, header.start, header.end, step.skip, step.rows, place)
                place = step.after
                room -= max(1, step.rows)
                if room <= 0:
                    found[-1].append(current)
                    current, room = None, share
                    found.append([])
            if current is not None:
                found[-1].append(current)
        return [pieces for pieces in found if pieces]

    def forget(self, places: Places) -> None:
        """Forget everything before these places, which is not asked for again."""
        for name, place in places.streams.items():
            self._walks[name].forget(place.number)
