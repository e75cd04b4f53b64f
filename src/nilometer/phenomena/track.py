"""PH_TRACK, PH_CURRENT, PH_MEMBERS: changes of candidates -> updates of phenomena, at each evaluation those there are,
or who came to one and who left.

One place sees the candidates of all sources. PH_TRACK works only at evaluations at which a candidate changes;
PH_CURRENT gives windows, at every evaluation. PH_PREDICT says where those there are will be, and PH_ARRIVALS whom they
will reach, for which it knows the places of all sources (whereabouts.py). PH_SUMMARY makes few rows of all readings
(summary.py). With WITHIN the input are readings, which are compared here
(links.py). NEIGHBOURS BY reads a table, whose versions hold from their ticks on.

The state is the candidates, the phenomena (identity and motion) and, with WITHIN, the readings in the window.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Callable, Iterator, Sequence, Set
from dataclasses import dataclass
from typing import Any

import polars as pl

from nilometer.algebra.prediction import Course
from nilometer.algebra.table_function import Frame, FunctionCall
from nilometer.algebra.table_function import Output as Kind
from nilometer.algebra.table_functions import phenomena as words
from nilometer.operators import frames
from nilometer.operators.limits import operator
from nilometer.operators.logic import ID, POSITION, TICK, Output, Progress, no_evaluations
from nilometer.operators.same_panes import SamePanes
from nilometer.operators.stored_versions import StoredVersions
from nilometer.operators.validation import require
from nilometer.operators.waiting import Waiting
from nilometer.phenomena.links import Links
from nilometer.phenomena.membership import Membership
from nilometer.phenomena.neighbours import Everyone, Listed, Near, Neighbours
from nilometer.phenomena.phenomenon import Change, Phenomenon, Shape, Update
from nilometer.phenomena.readings import Readings, place_of
from nilometer.phenomena.stored import Stored
from nilometer.phenomena.summary import Summary
from nilometer.phenomena.tracker import Tracker
from nilometer.phenomena.whereabouts import Whereabouts
from nilometer.types import INT_MINIMUM, SECOND, STRING, Schema, ceil_to

Row = tuple[Any, ...]


@dataclass(frozen=True)
class Track:
    """Phenomena of the candidates that PH_CANDIDATES gives. `beside` are the columns of the table of neighbours."""

    call: FunctionCall
    input: Schema
    beside: Schema | None = None

    def __post_init__(self) -> None:
        frame = self.call.window
        require(isinstance(frame, Frame) and frame.start is not None, "PH_TRACK without a frame")
        require((self.call[words.BY] is not None) == (self.beside is not None), "PH_TRACK and its table")

    @property
    def schema(self) -> Schema:
        """The columns of updates or of phenomena."""
        return self.call.schema(self.input)

    def build(self) -> TrackLogic:
        return TrackLogic(self)


def shape_of(call: FunctionCall, input: Schema) -> Shape:
    """How phenomena are made of candidates, by the options of the call."""
    frame = call.window
    assert isinstance(frame, Frame)
    metres = call["METRES"]
    scale = metres if isinstance(metres, float) else 1.0
    jump, concave, buffer, members = (
        call[word] for word in ("CONTINUE WITHIN", words.CONCAVE, "BUFFER", "MEMBERS")
    )
    assert isinstance(members, int)
    return Shape(
        str(call["NAMED"]),
        frame.slide,
        members,
        jump if isinstance(jump, float) else None,
        input[f"{call.alias}.place"].unit,
        scale,
        concave if isinstance(concave, float) else None,
        buffer if isinstance(buffer, float) else None,
        words.noise_of(call),
    )


class TrackLogic:
    """The tracker, and the rows that wait for their evaluation."""

    def __init__(self, spec: Track) -> None:
        self._same = SamePanes()
        call = spec.call
        frame = call.window
        assert isinstance(frame, Frame)
        assert frame.start is not None
        self._call, self._slide = call, frame.slide
        self._windows = call.function.output is Kind.WINDOWS
        horizon = call["HORIZON"]
        self._ahead = horizon // frame.slide if isinstance(horizon, int) else 0
        source = frames.dtype(call.id_type.plain)
        self._everyone = Whereabouts(source) if call.name == words.ARRIVALS.name else None
        cells = call[words.CELLS.word]
        self._summary = None
        if isinstance(cells, int):
            coordinates = spec.input[f"{call.alias}.place"].unit
            self._summary = Summary(source, words.summary_interval(call), cells, coordinates)
        self._waiting = Waiting(frames.stream_dtypes(spec.input, call.id_type.plain))
        schema = spec.schema
        self._membership = Membership.of(call, spec.input)
        of = STRING if self._membership is None else call.id_type.plain
        self._output = frames.window_dtypes(schema) if self._windows else frames.stream_dtypes(schema, of)
        epsilon = call[words.WITHIN]
        links = Links(epsilon, *words.alike_readings(call)) if isinstance(epsilon, float) else None
        self._readings = None if links is None else Readings(links, frame.start, frame.slide)
        near = call[words.NEAR]
        neighbours: Neighbours = Everyone()
        if isinstance(near, float):
            neighbours = Near(near, spec.input[f"{call.alias}.place"].unit)
        self._pairs = None if spec.beside is None else StoredVersions(spec.beside)
        self._ends = () if spec.beside is None else tuple(spec.beside.names)
        self._given: list[pl.DataFrame] = []
        self._versions: list[int] = []
        if self._pairs is not None:
            neighbours = Listed()
        self._tracker = Tracker(shape_of(call, spec.input), neighbours, links)
        self._stored = Stored(call, spec.input)
        self._next = INT_MINIMUM
        self._arriving: dict[int, list[Row]] = {}

    def update(self, port: int, rows: pl.DataFrame) -> None:
        if port == 1:
            self._given.append(rows)
        else:
            self._waiting.add(rows.drop_nulls(ID))

    @operator("PH_TRACK")
    def advance(self, progress: Progress) -> Output:
        for rows in self._given:
            assert self._pairs is not None
            self._pairs.put(rows, progress.holds_from)
            self._versions = [each for each in self._versions if each < progress.holds_from]
            self._versions.append(progress.holds_from)
        self._given = []
        if progress.first_tick is None:
            return self._nothing()
        since = max(self._next, ceil_to(progress.first_tick, self._slide))
        if progress.watermark <= since:
            return self._nothing()
        end = ceil_to(progress.watermark, self._slide)  # the first evaluation that is not complete
        rows = self._waiting.release(progress.watermark)
        if self._membership is not None:
            made = self._members(since, end, rows)
        elif self._windows:
            made = self._evaluations(since, end, rows)
        elif self._summary is not None:
            made = self._summaries(self._summary, since, end, rows)
        elif self._ahead:
            made = self._ahead_of(since, end, rows, self._arrivals if self._everyone else self._predictions)
        else:
            made = self._updates(since, end, rows)
        self._next = end
        if self._pairs is not None:
            self._pairs.forget(end - self._slide)
        return made

    def _nothing(self) -> Output:
        return Output(frames.empty(self._output), no_evaluations())

    # ---- evaluations -------------------------------------------------------------------------------------------------

    def _steps(self, since: int, end: int, rows: pl.DataFrame) -> Iterator[tuple[int, list[Update]]]:
        """The evaluations, in order: all for windows, else those at which something can change. Each is made when it
        is asked for."""
        alias = self._call.alias
        columns = [f"{alias}.{name}" for name in ("value", "n", "sum", "low", "high", "place")]
        arriving: dict[int, list[Row]] = {}
        self._arriving = arriving
        for row in rows.sort(TICK, ID, POSITION, *columns[:3]).select(TICK, ID, *columns).iter_rows():
            arriving.setdefault(max(since, ceil_to(row[0], self._slide)), []).append(row)
        versions = {ceil_to(max(each, since), self._slide) for each in self._versions}
        leaving: Set[int] = set() if self._readings is None else self._readings.leaving
        if self._windows or self._ahead or self._summary is not None:
            upcoming = deque(sorted({*arriving, *versions}))
            tick = since
            while tick < end:
                while upcoming and upcoming[0] <= tick:
                    upcoming.popleft()
                due = tick in arriving or tick in versions or tick in leaving
                yield tick, self._step(tick, arriving.get(tick, ())) if due else []
                tick += self._slide
                quiet = self._summary is None or self._summary.quiet
                if not self._windows and not self._tracker.phenomena and quiet:
                    # Nothing is there to be predicted or summarised: on to the next change, be it years away.
                    tick = max(tick, min((*leaving, *([upcoming[0]] if upcoming else [])), default=end))
            return
        ticks = deque(sorted({*arriving, *versions}))
        while (tick := min((*leaving, *([ticks[0]] if ticks else [])), default=end)) < end:
            if ticks and ticks[0] == tick:
                ticks.popleft()
            yield tick, self._step(tick, arriving.get(tick, ()))

    def _step(self, tick: int, rows: Sequence[Row]) -> list[Update]:
        tracker = self._tracker
        if self._everyone is not None:
            rows = self._everyone.take(rows)
        if self._summary is not None:
            rows = self._summary.take(rows)
        relinked = self._new_version(tick)
        if self._readings is not None:
            changes, touched = self._readings.step(tick, rows, tracker, relinked)
            updates = tracker.relinked(tick, changes, touched)
            self._readings.forget((change.source for change in changes), tracker)
            return updates
        last = {(row[1], row[2]): row for row in rows if row[2] is not None}
        changes = [
            Change(row[2], row[1], (row[3] or 0, row[4], row[5], row[6]), place_of(row[7]))
            for row in last.values()
        ]
        if relinked:
            sources = {source for klass in tracker.classes.values() for source in klass.standings}
            sources.update(change.source for change in changes)
            return tracker.relinked(tick, changes, sources)
        return tracker.step(tick, changes)

    def _new_version(self, tick: int) -> bool:
        """Whether another version of the table of neighbours holds from this evaluation on; it does now."""
        due = [each for each in self._versions if each <= tick]
        if not due or self._pairs is None:
            return False
        self._versions = [each for each in self._versions if each > tick]
        self._list_neighbours(tick)
        return True

    def _list_neighbours(self, tick: int) -> None:
        assert self._pairs is not None
        asked = pl.DataFrame({TICK: [tick]}, schema={TICK: pl.Int64})
        found = next(table for rows, table in self._pairs.met(asked) if rows.height)
        one, other = (
            next(n for n in self._ends if n.lower().endswith(f".{end}")) for end in ("from_id", "to_id")
        )
        self._tracker.neighbours = Listed(zip(found[one].to_list(), found[other].to_list(), strict=True))

    def _updates(self, since: int, end: int, rows: pl.DataFrame) -> Output:
        made: list[Row] = []
        for tick, updates in self._steps(since, end, rows):
            for each in updates:
                lists = (each.members, each.gained, each.lost, each.parents, each.children)
                head = (tick, tick, each.id, None, tick, each.id, each.kind, each.value, len(each.members))
                made.append((*head, *lists, *_state(each.state), each.born))
        return Output(self._frame(made), no_evaluations())

    def _evaluations(self, since: int, end: int, rows: pl.DataFrame) -> Output:
        made: list[Row] = []
        for tick, _ in self._steps(since, end, rows):
            for each in self._tracker.phenomena:
                self._tracker.advance(each, tick)
                head = (tick, tick, tick, each.id, each.value, len(each.members))
                lists = (each.members, each.parents, each.children)
                made.append((*head, *lists, *_state(self._tracker.state(each)), each.born))
        ticks = pl.Series(range(since, end, self._slide), dtype=pl.Int64)
        return Output(self._frame(made), frames.evaluations(ticks))

    def _members(self, since: int, end: int, rows: pl.DataFrame) -> Output:
        assert self._membership is not None
        made: list[Row] = []
        for tick, updates in self._steps(since, end, rows):
            heard = self._arriving.get(tick, ())
            for source, inside in self._membership.step(tick, updates, heard, self._tracker):
                made.append((tick, tick, source, None, tick, source, inside))
        return Output(self._frame(made), no_evaluations())

    def _ahead_of(
        self,
        since: int,
        end: int,
        rows: pl.DataFrame,
        make: Callable[[int, Phenomenon, Course], Iterator[Row]],
    ) -> Output:
        """The rows that `make` gives, at every evaluation, for each phenomenon that moves."""
        made: list[Row] = []
        shape, seconds = self._tracker.shape, self._slide / SECOND
        for tick, _ in self._steps(since, end, rows):
            for each in self._tracker.phenomena:
                self._tracker.advance(each, tick)
                if each.location is None or each.motion is None:
                    continue
                course = Course(
                    each.location,
                    each.region,
                    each.areas,
                    each.motion.velocity,
                    len(each.members),
                    seconds,
                    shape.coordinates,
                    shape.metres,
                    words.growth_of(self._call),
                )
                made += make(tick, each, course)
        return Output(self._frame(made), no_evaluations())

    def _summaries(self, summary: Summary, since: int, end: int, rows: pl.DataFrame) -> Output:
        made: list[Row] = []
        for tick, _ in self._steps(since, end, rows):
            if tick % summary.every == 0:
                made += [(tick, tick, row[1], None, *row) for row in summary.rows(tick, self._tracker)]
        return Output(self._frame(made), no_evaluations())

    def _predictions(self, tick: int, each: Phenomenon, course: Course) -> Iterator[Row]:
        for steps in range(1, self._ahead + 1):
            location, region, size = course.after(steps)
            point = {"x": location[0], "y": location[1]}
            yield tick, tick, each.id, None, tick, each.id, tick + steps * self._slide, point, region, size

    def _arrivals(self, tick: int, each: Phenomenon, course: Course) -> Iterator[Row]:
        assert self._everyone is not None
        for steps, sensor in self._everyone.reached(course, each.members, self._ahead):
            ahead = steps * self._slide
            yield tick, tick, each.id, None, tick, each.id, sensor, tick + ahead, ahead / SECOND

    def _frame(self, rows: list[Row]) -> pl.DataFrame:
        if not rows:
            return frames.empty(self._output)
        columns = zip(*rows, strict=True)
        return pl.DataFrame(
            [
                pl.Series(name, values, dtype=dtype, strict=False)
                for (name, dtype), values in zip(self._output.items(), columns, strict=True)
            ]
        )

    # ---- state -------------------------------------------------------------------------------------------------------

    def snapshot(self) -> dict[str, bytes]:
        panes = self._waiting.snapshot("waiting") | self._stored.snapshot(self._tracker)
        panes |= {} if self._membership is None else self._membership.snapshot()
        panes |= {} if self._pairs is None else self._pairs.to_panes()
        panes |= {} if self._readings is None else self._readings.snapshot(self._tracker, self._call)
        panes |= {} if self._everyone is None else self._everyone.snapshot()
        panes |= {} if self._summary is None else self._summary.snapshot()
        given = {f"given {number}": frames.to_bytes(rows) for number, rows in enumerate(self._given)}
        meta = {"next": self._next, "versions": self._versions}
        return self._same(panes | given | {"meta": json.dumps(meta).encode()})

    def restore(self, panes: dict[str, bytes]) -> None:
        self._waiting.restore("waiting", panes)
        meta = json.loads(panes["meta"])
        self._next, self._versions = meta["next"], meta["versions"]
        self._given = [frames.from_bytes(panes[name]) for name in sorted(panes) if name.startswith("given ")]
        if self._membership is not None:
            self._membership.restore(panes)
        if self._pairs is not None:
            self._pairs.from_panes(panes)
            if self._next > INT_MINIMUM:
                self._list_neighbours(self._next - self._slide)
        if self._readings is not None:
            self._readings.restore(panes, self._tracker)
        if self._everyone is not None:
            self._everyone.restore(panes)
        if self._summary is not None:
            self._summary.restore(panes)
        self._stored.restore(panes, self._tracker)


def _state(state: Row) -> Row:
    """The columns from `strength` to `velocity_y`, with the place as a frame has it."""
    *before, location, region, area, across, along = state
    point = None if location is None else {"x": location[0], "y": location[1]}
    return (*before, point, region, area, across, along)
