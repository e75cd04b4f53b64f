"""Phenomena, recomputed from all readings at every evaluation.

At tick T the candidates of a class are the sources with enough of its readings in (T - w, T], phenomena are the
connected components of neighbouring candidates with enough members, and updates follow from comparing them with those
of the evaluation before (docs/phenomena.md).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from nilometer.algebra.cells import cells_of
from nilometer.algebra.geojson import rings, within
from nilometer.algebra.motion import Motion
from nilometer.algebra.places import Place, distance
from nilometer.algebra.prediction import Course
from nilometer.algebra.regions import middle, region_of, to_plane
from nilometer.algebra.table_function import Frame, FunctionCall, Output
from nilometer.algebra.table_functions import phenomena as words
from nilometer.plan.logical import TableFunction
from nilometer.plan.reference.rows import Evaluation, Row, order_key, source_order
from nilometer.types import INT_MAXIMUM, INT_MINIMUM, SECOND, ceil_to, format_time

Source = int | str
Members = frozenset[Source]
Pairs = frozenset[tuple[Any, Any]]
Neighbours = Callable[[int], Pairs]
"""The pairs of the table of neighbours at a tick."""


@dataclass
class Phenomenon:
    """A phenomenon at an evaluation."""

    id: str
    value: Any
    members: Members
    born: int
    parents: list[str] = field(default_factory=list)
    children: list[str] = field(default_factory=list)
    motion: Motion | None = None
    origin: Place | None = None
    places: dict[Source, Place | None] = field(default_factory=dict)
    areas: list[float] = field(default_factory=list)
    state: tuple[Any, ...] = ()

    @property
    def moves(self) -> bool:
        """Whether it has a velocity, and a place now: its members may all have lost theirs."""
        return self.motion is not None and self.state[5] is not None


@dataclass(frozen=True)
class Update:
    """An update: (tick, kind, phenomenon, its members before)."""

    tick: int
    kind: str
    phenomenon: Phenomenon
    members: Members
    before: Members


def phenomena(
    node: TableFunction,
    rows: Sequence[Row],
    first_tick: int | None,
    watermark: int,
    neighbours: Neighbours = lambda _: frozenset(),
) -> list[Row]:
    """The updates below W."""
    result = []
    for _, _, updates in _history(node, rows, first_tick, watermark, neighbours):
        for update in updates:
            found = update.phenomenon
            values = (
                update.tick,
                found.id,
                update.kind,
                found.value,
                len(update.members),
                _listed(update.members),
                _listed(update.members - update.before),
                _listed(update.before - update.members),
                found.parents,
                found.children,
                *found.state,
                found.born,
            )
            named = dict(zip(node.schema.names, values, strict=True))
            result.append(Row(update.tick, update.tick, found.id, None, named))
    return result


def current(
    node: TableFunction,
    rows: Sequence[Row],
    first_tick: int | None,
    watermark: int,
    neighbours: Neighbours = lambda _: frozenset(),
) -> list[Evaluation]:
    """All phenomena, at each evaluation below W."""
    result = []
    for tick, there, _ in _history(node, rows, first_tick, watermark, neighbours):
        bag = []
        for found in there:
            head = (tick, found.id, found.value, len(found.members), _listed(found.members))
            values = (*head, found.parents, found.children, *found.state, found.born)
            bag.append(dict(zip(node.schema.names, values, strict=True)))
        result.append(Evaluation(tick, tuple(bag)))
    return result


def predict(
    node: TableFunction,
    rows: Sequence[Row],
    first_tick: int | None,
    watermark: int,
    neighbours: Neighbours = lambda _: frozenset(),
) -> list[Row]:
    """Where each phenomenon will be, at each evaluation below W."""
    result = []
    for tick, found, course, slide, most in _courses(node, rows, first_tick, watermark, neighbours):
        for steps in range(1, most + 1):
            values = (tick, found.id, tick + steps * slide, *course.after(steps))
            named = dict(zip(node.schema.names, values, strict=True))
            result.append(Row(tick, tick, found.id, None, named))
    return result


def arrivals(
    node: TableFunction,
    rows: Sequence[Row],
    first_tick: int | None,
    watermark: int,
    neighbours: Neighbours = lambda _: frozenset(),
) -> list[Row]:
    """Whom each phenomenon will reach, at each evaluation below W."""
    readings = _classified(node.call, rows)
    result = []
    for tick, found, course, slide, most in _courses(node, rows, first_tick, watermark, neighbours):
        last = {reading.source: reading.place for reading in readings if reading.tick <= tick}
        places = {source: place for source, place in last.items() if place is not None}
        for steps, sensor in course.reaches(places, found.members, most):
            values = (tick, found.id, sensor, tick + steps * slide, steps * slide / SECOND)
            named = dict(zip(node.schema.names, values, strict=True))
            result.append(Row(tick, tick, found.id, None, named))
    return result


def summary(
    node: TableFunction,
    rows: Sequence[Row],
    first_tick: int | None,
    watermark: int,
    neighbours: Neighbours = lambda _: frozenset(),
) -> list[Row]:
    """A row for each phenomenon and each cell of the other sensors, at each summary below W."""
    call = node.call
    frame, most = call.window, call[words.CELLS.word]
    assert isinstance(frame, Frame)
    assert frame.start is not None
    assert isinstance(most, int)
    coordinates = node.input.schema[call.columns[1]].unit if len(call.columns) > 1 else None
    readings = _classified(call, rows)
    result: list[Row] = []
    told: dict[str, Members] = {}
    cells: list[list[Any]] = []
    for tick, there, _ in _history(node, rows, first_tick, watermark, neighbours):
        if tick % words.summary_interval(call):
            continue
        heard = [reading for reading in readings if reading.tick <= tick]
        places = {reading.source: reading.place for reading in heard}
        known = {reading.source for reading in heard if reading.value is not None}
        now = cells_of({source: places[source] for source in known}, most, coordinates)
        made: list[tuple[Any, ...]] = []
        for found in there:
            before = told.get(found.id, frozenset())
            changed = _listed(found.members - before), _listed(before - found.members)
            made.append((found.id, None, len(found.members), *changed, *found.state[1:5]))
        ids = {found.id for found in there}
        made += [
            (id_, None, 0, [], _listed(old), 0, None, None, None)
            for id_, old in told.items()
            if id_ not in ids
        ]
        told = {found.id: found.members for found in there}
        inside = {source for members in told.values() for source in members}
        for number in range(max(len(now), len(cells))):
            own, old = (set(each[number]) if number < len(each) else set() for each in (now, cells))
            values = [
                float(reading.value)
                for reading in heard
                if reading.source in own - inside
                and reading.value is not None
                and reading.tick > tick - frame.start
            ]
            mean = _mean(values)
            state = (len(values), mean, min(values, default=None), max(values, default=None))
            if values or own != old:
                changed = _listed(frozenset(own - old)), _listed(frozenset(old - own))
                made.append((None, number, len(own), *changed, *state))
        cells = now
        for values_ in made:
            named = dict(zip(node.schema.names, (tick, *values_), strict=True))
            result.append(Row(tick, tick, values_[0], None, named))
    return result


def _courses(
    node: TableFunction, rows: Sequence[Row], first_tick: int | None, watermark: int, neighbours: Neighbours
) -> Iterator[tuple[int, Phenomenon, Course, int, int]]:
    """At each evaluation: each phenomenon that moves, its course, the slide, and how many evaluations to look ahead."""
    frame, horizon = node.call.window, node.call["HORIZON"]
    assert isinstance(frame, Frame)
    assert isinstance(horizon, int)
    for tick, there, _ in _history(node, rows, first_tick, watermark, neighbours):
        for found in there:
            if found.moves:
                yield tick, found, _course(node, found, frame.slide), frame.slide, horizon // frame.slide


def _course(node: TableFunction, found: Phenomenon, slide: int) -> Course:
    """How a phenomenon goes on that moves."""
    assert found.motion is not None
    return Course(
        found.state[5],
        found.state[6],
        found.areas,
        found.motion.velocity,
        len(found.members),
        slide / SECOND,
        node.input.schema[node.call.columns[1]].unit,
        float(node.call["METRES"] or 1.0),  # type: ignore[arg-type]
        words.growth_of(node.call),
    )


def membership(
    node: TableFunction,
    rows: Sequence[Row],
    first_tick: int | None,
    watermark: int,
    neighbours: Neighbours = lambda _: frozenset(),
) -> list[Row]:
    """Who came to a phenomenon or left, at each evaluation below W. Sensors that can be reached from a member in so many
    hops count, and those in a region predicted within the horizon."""
    frame, hops, horizon = node.call.window, node.call[words.HOPS.word] or 0, node.call[words.SOON.word] or 0
    assert isinstance(frame, Frame)
    assert isinstance(hops, int)
    assert isinstance(horizon, int)
    readings = _classified(node.call, rows)
    before: frozenset[Source] = frozenset()
    result = []
    for tick, there, _ in _history(node, rows, first_tick, watermark, neighbours):
        field_ = _Field(node, readings, tick, neighbours(tick))
        inside = {source for found in there for source in found.members}
        for _ in range(hops):
            inside |= {
                source for source in field_.places if any(field_.adjacent(one, source) for one in inside)
            }
        for found in there if horizon else ():
            if not found.moves:
                continue
            course = _course(node, found, frame.slide)
            for steps in range(horizon // frame.slide + 1):
                around = rings(course.after(steps)[1] if steps else course.region)
                inside |= {
                    source
                    for source, place in field_.places.items()
                    if place is not None and any(within(place, ring) for ring in around)
                }
        for source in sorted(inside ^ before, key=order_key):
            values = (tick, source, source in inside)
            result.append(Row(tick, tick, source, None, dict(zip(node.schema.names, values, strict=True))))
        before = frozenset(inside)
    return result


def _mean(numbers: list[float]) -> float | None:
    """As AVG: nothing, or a sum beyond the numbers, has none."""
    try:
        total = math.fsum(numbers)
    except (OverflowError, ValueError):
        return None
    return total / len(numbers) if numbers and math.isfinite(total) else None


def _listed(members: Members) -> list[Any]:
    return sorted(members, key=order_key)


def _history(
    node: TableFunction, rows: Sequence[Row], first_tick: int | None, watermark: int, neighbours: Neighbours
) -> Iterator[tuple[int, list[Phenomenon], list[Update]]]:
    """Each evaluation: its tick, the phenomena there are, and what changed since the one before."""
    frame = node.call.window
    assert isinstance(frame, Frame)
    if first_tick is None:
        return
    readings = _classified(node.call, rows)
    before: list[Phenomenon] = []
    if node.call.function.output is Output.EVENTS:
        # When no window holds a reading any more, nothing changes.
        assert frame.start is not None
        last = max((reading.tick for reading in readings), default=first_tick) + frame.start
        watermark = min(watermark, ceil_to(last, frame.slide) + 2 * frame.slide)
    for tick in range(ceil_to(first_tick, frame.slide), watermark, frame.slide):
        field_ = _Field(node, readings, tick, neighbours(tick))
        there, updates = _step(field_, before)
        yield tick, there, updates
        before = there


# ---- readings and their classes --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Reading:
    """An accepted reading: of a source, at a tick, its class (None: of none), its value and its place."""

    source: Source
    tick: int
    value: Any
    klass: Any
    place: Place | None


def _classified(call: FunctionCall, rows: Sequence[Row]) -> list[Reading]:
    """The readings, of each source in its order."""
    before: dict[Source, Row] = {}
    found = []
    for row in sorted(rows, key=source_order):
        if row.id is None:
            continue
        value = row.values[call.columns[0]]
        if isinstance(value, float) and math.isnan(value):
            value = None
        place = row.values[call.columns[1]] if len(call.columns) > 1 else None
        klass = _class(call, value, row, before.get(row.id))
        before[row.id] = row
        found.append(Reading(row.id, row.tick, value, klass, _place(place)))
    return found


def _place(place: Any) -> Place | None:
    if place is None or place[0] is None or place[1] is None:
        return None
    return place if math.isfinite(place[0]) and math.isfinite(place[1]) else None


def _class(call: FunctionCall, value: Any, row: Row, before: Row | None) -> Any:
    if value is None:
        return None
    likeness = str(call["LIKENESS"])
    given: Any = call[likeness]
    match likeness:
        case words.EQUAL:
            return value + 0.0 if isinstance(value, float) else value
        case words.BUCKET:
            start = call["FROM"] or 0.0
            number = (value - start) / given
            if not math.isfinite(number) or not INT_MINIMUM <= math.floor(number) <= INT_MAXIMUM:
                return None
            return math.floor(number)
        case words.ABOVE:
            return "above" if value > given else None
        case words.BELOW:
            return "below" if value < given else None
        case words.BETWEEN:
            return "between" if given[0] <= value <= given[1] else None
        case words.RISING | words.FALLING:
            earlier = None if before is None else before.values[call.columns[0]]
            if before is None or earlier is None or row.time == before.time:
                return None
            rate = (float(value) - float(earlier)) / ((row.time - before.time) / SECOND)
            least = given[0] / (given[1] / SECOND)
            if likeness == words.RISING:
                return "rising" if rate >= least else None
            return "falling" if rate <= -least else None
        case _:
            return "within"


# ---- one evaluation --------------------------------------------------------------------------------------------------


class _Field:
    """The field at an evaluation: where the sources are, what they have read, who is next to whom."""

    def __init__(self, node: TableFunction, readings: Sequence[Reading], tick: int, pairs: Pairs) -> None:
        call = node.call
        frame = call.window
        assert isinstance(frame, Frame)
        assert frame.start is not None
        self.call = call
        self.tick = tick
        self.pairs = pairs
        self.coordinates = node.input.schema[call.columns[1]].unit if len(call.columns) > 1 else None
        self.metres = float(call["METRES"] or 1.0)  # type: ignore[arg-type]
        self.noise = words.noise_of(call)
        self.places: dict[Source, Place | None] = {}
        self.window: dict[tuple[Any, Source], list[Any]] = {}
        self.heard: dict[Source, int] = {}
        for reading in readings:
            if reading.tick <= tick:
                self.places[reading.source] = reading.place
            if not tick - frame.start < reading.tick <= tick:
                continue
            self.heard[reading.source] = self.heard.get(reading.source, 0) + 1
            if reading.klass is not None:
                self.window.setdefault((reading.klass, reading.source), []).append(reading.value)

    def groups(self) -> list[tuple[Any, Members]]:
        """The components of each class that have enough members."""
        least = self.call["MEMBERS"]
        assert isinstance(least, int)
        classes: dict[Any, set[Source]] = {}
        for (klass, source), values in self.window.items():
            if len(values) >= self.enough(source):
                classes.setdefault(klass, set()).add(source)
        found = []
        for klass, sources in classes.items():
            while sources:
                group = self._component(klass, sources)
                sources -= group
                if len(group) >= least:
                    found.append((None if klass == "within" and self.linking else klass, frozenset(group)))
        return found

    def enough(self, source: Source) -> int:
        """How many alike readings make it a candidate."""
        strength, share = words.alike_readings(self.call)
        return max(strength, math.ceil(share * self.heard[source] / 100))

    @property
    def linking(self) -> bool:
        return self.call["LIKENESS"] == words.WITHIN

    def _component(self, klass: Any, sources: set[Source]) -> set[Source]:
        group = {min(sources, key=order_key)}
        while True:
            more = {
                other
                for other in sources - group
                if any(self.adjacent(one, other) and self._linked(klass, one, other) for one in group)
            }
            if not more:
                return group
            group |= more

    def adjacent(self, one: Source, other: Source) -> bool:
        """Whether two sources are neighbours."""
        match self.call["NEIGHBOURS"]:
            case words.NEAR:
                near = self.call[words.NEAR]
                assert isinstance(near, float)
                away = self.away(one, other)
                return away is not None and away <= near
            case words.BY:
                return (one, other) in self.pairs or (other, one) in self.pairs
            case _:
                return True

    def away(self, one: Source, other: Source) -> float | None:
        """How far apart two sources are."""
        place, there = self.places[one], self.places[other]
        return None if place is None or there is None else distance(self.coordinates, place, there)

    def _linked(self, klass: Any, one: Source, other: Source) -> bool:
        """With WITHIN: both have enough readings with a partner of the other."""
        if not self.linking:
            return True
        epsilon = self.call[words.WITHIN]
        assert isinstance(epsilon, float)
        mine, theirs = self.window[klass, one], self.window[klass, other]
        return all(
            sum(any(abs(value - partner) <= epsilon for partner in partners) for value in values)
            >= self.enough(source)
            for source, values, partners in ((one, mine, theirs), (other, theirs, mine))
        )

    def nearest(self, before: Members, now: Members, earlier: dict[Source, Place | None]) -> float | None:
        """The distance between the nearest members of two groups, each where it was at its evaluation."""
        found = [
            distance(self.coordinates, old, new)
            for one in before
            for other in now
            if (old := earlier.get(one)) is not None and (new := self.places[other]) is not None
        ]
        return min(found, default=None)

    def describe(self, found: Phenomenon, kind: str | None) -> None:
        """Set what a phenomenon's rows say about it now."""
        klass = "within" if self.linking else found.value
        listed = _listed(found.members)
        values = [self.window[klass, source] for source in listed]
        numbers = [float(each) for one in values for each in one if not isinstance(each, str | bool)]
        places = [place for source in listed if (place := self.places[source]) is not None]
        location = middle(places, self.coordinates)
        concave, buffer = self.call[words.CONCAVE], self.call["BUFFER"]
        region, area = region_of(places, self.coordinates, self.metres, concave, buffer)  # type: ignore[arg-type]
        self._move(found, location, kind)
        found.areas = [*found.areas, area or 0.0]
        velocity = (None, None) if found.motion is None else found.motion.velocity
        found.state = (
            min(map(len, values)),
            sum(map(len, values)),
            _mean(numbers),
            min(numbers, default=None),
            max(numbers, default=None),
            location,
            region,
            area,
            *velocity,
        )

    def _move(self, found: Phenomenon, location: Place | None, kind: str | None) -> None:
        if self.noise is None or location is None:
            return
        if found.motion is None or found.origin is None:
            found.origin, found.motion = location, Motion.born((0.0, 0.0))
            return
        place = to_plane(location, found.origin, self.coordinates, self.metres)
        found.motion = found.motion.moved(place, self.noise, kind in ("MERGE", "SPLIT"))


def _step(field_: _Field, before: list[Phenomenon]) -> tuple[list[Phenomenon], list[Update]]:
    """The phenomena of an evaluation and their updates, by those of the evaluation before."""
    there: list[Phenomenon] = []
    updates: list[Update] = []
    groups = field_.groups()
    classes = {order_key(value): value for value, _ in groups}
    classes |= {order_key(each.value): each.value for each in before}
    for key, value in classes.items():
        old = [each for each in before if order_key(each.value) == key]
        new = [members for klass, members in groups if order_key(klass) == key]
        _follow(field_, value, old, new, there, updates)
    there.sort(key=lambda found: found.id)
    updates.sort(key=lambda update: update.phenomenon.id)
    return there, updates


def _rank(old: Phenomenon, new: Members) -> tuple[Any, ...]:
    return (old.born, order_key(_listed(old.members)[0]), order_key(_listed(new)[0]))


def _follow(
    field_: _Field,
    value: Any,
    old: list[Phenomenon],
    new: list[Members],
    there: list[Phenomenon],
    updates: list[Update],
) -> None:
    """Identity of the phenomena of one class, and their updates."""
    meeting = [(o, n) for o in old for n in new if o.members & n]
    matched: dict[Members, Phenomenon] = {}
    pairs = sorted(meeting, key=lambda pair: (-len(pair[0].members & pair[1]), *_rank(*pair)))
    _match(pairs, matched)
    jump = field_.call["CONTINUE WITHIN"]
    if isinstance(jump, float):
        near = []
        for o in old:
            for n in new:
                away = field_.nearest(o.members, n, o.places)
                if away is not None and away <= jump:
                    near.append((away, o, n))
        near.sort(key=lambda each: (each[0], *_rank(each[1], each[2])))
        _match([(o, n) for _, o, n in near], matched)
    ids = {n: matched[n].id if n in matched else _name(field_, value, n) for n in new}
    order = {o.id: [pair for pair in pairs if pair[0] is o] for o in old}
    for n in new:
        mine = matched.get(n)
        met = [o.id for o, other in pairs if other == n]
        if mine is None:
            found = Phenomenon(ids[n], value, n, field_.tick, met, [])
            kind: str | None = "APPEAR"
            lost: Members = frozenset()
        else:
            lost = mine.members
            kind = None if n == lost else _kind(met, [other for _, other in order[mine.id]], lost, n)
            found = Phenomenon(
                mine.id, value, n, mine.born, mine.parents, mine.children, mine.motion, mine.origin
            )
            found.areas = mine.areas
            if kind is not None:
                found.parents = [mine.id, *(each for each in met if each != mine.id)]
                children = [ids[other] for _, other in order[mine.id]]
                found.children = sorted(children, key=lambda each: each != mine.id)
        field_.describe(found, kind)
        found.places = {source: field_.places[source] for source in n}
        there.append(found)
        if kind is not None:
            updates.append(Update(field_.tick, kind, found, n, lost))
    kept = {each.id for each in matched.values()}
    for o in old:
        if o.id not in kept:
            gone = Phenomenon(o.id, value, frozenset(), o.born, [], [ids[n] for _, n in order[o.id]])
            gone.state = o.state
            updates.append(Update(field_.tick, "DISAPPEAR", gone, frozenset(), o.members))


def _match(pairs: Sequence[tuple[Phenomenon, Members]], matched: dict[Members, Phenomenon]) -> None:
    """Greedy, one to one."""
    for o, n in pairs:
        if n not in matched and all(o is not other for other in matched.values()):
            matched[n] = o


def _kind(met: Sequence[str], apart: Sequence[Members], lost: Members, now: Members) -> str:
    if len(met) > 1:
        return "MERGE"
    if len(apart) > 1:
        return "SPLIT"
    if lost <= now:
        return "GROW"
    return "SHRINK" if now <= lost else "MOVE"


def _name(field_: _Field, value: Any, members: Members) -> str:
    shown = "within" if value is None else str(value).lower() if isinstance(value, bool) else str(value)
    return f"{field_.call['NAMED']}/{shown}/{format_time(field_.tick)}/{_listed(members)[0]}"
