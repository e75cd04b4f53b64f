"""Candidates -> phenomena and their updates, evaluation by evaluation.

Per class there is a graph of candidates, joined by Neighbours, and its connected components. A change touches the
components of the sources that come, go or move and of their neighbours; only these are searched anew, so that an
evaluation costs as much as they hold. The rest of a phenomenon's row (readings, place, region, motion) is made when it
is asked for. The motion of a phenomenon takes a step at every evaluation, also at those at which nothing changes: the
steps are made up for when it is looked at, in the same order, so that the result is the same.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from nilometer.algebra.motion import Motion
from nilometer.algebra.places import Place, distance
from nilometer.algebra.prediction import SEEN
from nilometer.algebra.regions import middle, region_of, to_plane
from nilometer.errors import ResourceError
from nilometer.phenomena.identity import Old, follow, kind_of
from nilometer.phenomena.links import Links
from nilometer.phenomena.mean import mean_of
from nilometer.phenomena.neighbours import Neighbours, Source
from nilometer.phenomena.phenomenon import (
    Change,
    Class,
    Component,
    Phenomenon,
    Shape,
    Standing,
    Touched,
    Update,
    update_of,
)
from nilometer.types import format_time

MOST_CANDIDATES = 2_000_000
"""The most candidates (pairs of a source and a class) at a time."""


class Tracker:
    """All phenomena of one definition."""

    def __init__(self, shape: Shape, neighbours: Neighbours, links: Links | None = None) -> None:
        self.shape = shape
        self.neighbours = neighbours
        self.links = links
        self.classes: dict[Any, Class] = {}
        self.places: dict[Source, Place | None] = {}
        self.count = 0
        self.turn = 0
        """How often anything has changed; a stored state of the same turn is this one."""
        self._there: dict[str, Phenomenon] = {}
        self._last: dict[
            str, tuple[Any, ...]
        ] = {}  # the states of touched phenomena at the evaluation before
        self._before: dict[
            str, list[Place]
        ] = {}  # the members' places of each phenomenon, for CONTINUE WITHIN
        self._held: dict[Source, int] = {}  # in how many classes a source is a candidate

    @property
    def phenomena(self) -> list[Phenomenon]:
        """Those there are, by id."""
        return [self._there[id_] for id_ in sorted(self._there)]

    # ---- an evaluation -----------------------------------------------------------------------------------------------

    def step(self, tick: int, changes: Sequence[Change]) -> list[Update]:
        """Apply the changes of an evaluation; return the updates by id."""
        self.turn += 1
        touched: Touched = {}
        reach: dict[Any, list[Source]] = {}
        for change in changes:
            here = self.classes.get(change.klass)
            known = here is not None and change.source in here.standings
            moved = change.standing[0] > 0 and self.places.get(change.source) != change.place
            if here is not None and known and (moved or change.standing[0] == 0):
                self._touch(touched, change.klass, here.component_of[change.source], tick)
            if change.standing[0] > 0 and (moved or not known):
                reach.setdefault(change.klass, []).append(change.source)
        for change in changes:
            if change.standing[0] > 0:
                self.places[change.source] = change.place
                self.neighbours.place(change.source, change.place)
        for value, sources in reach.items():
            here = self.classes.get(value)
            for source in sources if here is not None else ():
                assert here is not None
                for component in self._beside(here, source):
                    self._touch(touched, value, component, tick)
        return self._regroup(tick, touched, reach, self._apply(changes))

    def relinked(self, tick: int, changes: Sequence[Change], sources: Iterable[Source]) -> list[Update]:
        """As `step`, where the links of these sources have changed, too (WITHIN, and tables of neighbours)."""
        self.turn += 1
        touched: Touched = {}
        for value, here in self.classes.items():
            for source in sources:
                if source in here.component_of:
                    self._touch(touched, value, here.component_of[source], tick)
        gone = self._apply(changes)
        fresh: dict[Any, list[Source]] = {}
        for change in changes:
            if change.standing[0] > 0:
                self.places[change.source] = change.place
                self.neighbours.place(change.source, change.place)
                fresh.setdefault(change.klass, []).append(change.source)
        for value, here in self.classes.items():
            for source in sources:
                for component in self._beside(here, source) if source in here.standings else ():
                    self._touch(touched, value, component, tick)
        return self._regroup(tick, touched, fresh, gone)

    def _touch(self, touched: Touched, value: Any, component: Component, tick: int) -> None:
        """Note a component that may change, and describe it as it was at the evaluation before."""
        found = touched.setdefault(value, {})
        if id(component) not in found:
            found[id(component)] = component
            if component.phenomenon is not None:
                self.advance(component.phenomenon, tick - self.shape.slide)
                self._last[component.phenomenon.id] = self.state(component.phenomenon)

    def _beside(self, here: Class, source: Source) -> Iterator[Component]:
        """The components next to a source."""
        around = self._linked(here, source)
        if around is None:
            yield from {id(each): each for each in here.component_of.values()}.values()
            return
        seen: set[int] = set()
        for other in around:
            component = here.component_of.get(other)
            if component is not None and id(component) not in seen:
                seen.add(id(component))
                yield component

    def _linked(self, here: Class, source: Source) -> set[Source] | None:
        """The candidates that a source is linked with; None: all."""
        if self.links is not None:
            return self.links.of(source)
        around = self.neighbours.of(source)
        return None if around is None else around & here.standings.keys()

    def _apply(self, changes: Sequence[Change]) -> dict[Any, set[Source]]:
        """Set the new standings; return who is a candidate no more, by class."""
        gone: dict[Any, set[Source]] = {}
        for change in changes:
            here = self.classes.setdefault(change.klass, Class())
            known = here.standings.get(change.source)
            if change.standing[0] > 0:
                here.standings[change.source] = change.standing
                if known is None:
                    self.count += 1
                    self._held[change.source] = self._held.get(change.source, 0) + 1
                elif (component := here.component_of[change.source]).phenomenon is not None:
                    component.phenomenon.readings = None
            elif known is not None:
                del here.standings[change.source]
                gone.setdefault(change.klass, set()).add(change.source)
                self.count -= 1
                self._held[change.source] -= 1
        if self.count > MOST_CANDIDATES:
            raise ResourceError(
                f"PH_TRACK would keep {self.count:,} candidates",
                detail=f"the limit is {MOST_CANDIDATES:,}",
                hint="use a narrower likeness, a greater STRENGTH or a shorter RANGE",
            )
        return gone

    def _regroup(
        self,
        tick: int,
        touched: Touched,
        reach: dict[Any, list[Source]],
        gone: dict[Any, set[Source]],
    ) -> list[Update]:
        """Search the touched components anew, and follow their phenomena."""
        updates: list[Update] = []
        for value in {**touched, **reach}:  # in the order of the changes
            here = self.classes[value]
            old = list(touched.get(value, {}).values())
            pool = {source for component in old for source in component.members}
            pool |= {source for source in reach.get(value, ()) if source in here.standings}
            pool &= here.standings.keys()
            for component in old:
                for source in component.members:
                    here.component_of.pop(source, None)
            new = [Component(members) for members in self._components(here, pool)]
            for component in new:
                for source in component.members:
                    here.component_of[source] = component
            updates += self._follow(tick, value, old, new)
        for value, sources in gone.items():
            for source in sources:
                if self._held.get(source) == 0:
                    del self._held[source]
                    if self.links is None:
                        self.places.pop(source, None)
                        self.neighbours.forget(source)
            if not self.classes[value].standings:
                del self.classes[value]
        updates.sort(key=lambda update: update.id)
        self._last.clear()
        return updates

    def _components(self, here: Class, pool: set[Source]) -> Iterator[set[Source]]:
        while pool:
            start = pool.pop()
            found, frontier = {start}, [start]
            while frontier:
                around = self._linked(here, frontier.pop())
                more = set(pool) if around is None else around & pool
                pool -= more
                found |= more
                frontier += more
                if around is None:
                    break
            yield found

    # ---- identity ----------------------------------------------------------------------------------------------------

    def _follow(
        self, tick: int, value: Any, old: Sequence[Component], new: Sequence[Component]
    ) -> list[Update]:
        before = [each.phenomenon for each in old if each.phenomenon is not None]
        groups = [(each, sorted(each.members)) for each in new if len(each.members) >= self.shape.members]
        listed = [members for _, members in groups]
        followed = follow(
            [Old(each.id, each.born, each.members) for each in before], listed, self._nearest(before, listed)
        )
        updates = []
        ids = [
            before[known].id if known is not None else self._name(value, tick, listed[number])
            for number, known in enumerate(followed.continues)
        ]
        for number, (component, members) in enumerate(groups):
            known = followed.continues[number]
            meets = [before[each].id for each in followed.meets[number]]
            if known is None:
                kind: str | None = "APPEAR"
                earlier: list[Source] = []
                shown = value if self.links is None else None
                found = Phenomenon(ids[number], shown, members, tick, meets, [], tick)
            else:
                found = before[known]
                earlier = found.members
                met = followed.met[known]
                same = members == earlier
                kind = None if same else kind_of(len(meets), len(met), set(earlier), set(members))
                if kind is not None:
                    found.parents = [found.id, *(each for each in meets if each != found.id)]
                    found.children = sorted((ids[each] for each in met), key=lambda each: each != found.id)
                found.members = members
            component.phenomenon = self._there[found.id] = found
            self._settle(found, tick, kind)
            if kind is not None:
                updates.append(update_of(found, kind, members, earlier, self.state(found)))
        kept = {known for known in followed.continues if known is not None}
        for number, each in enumerate(before):
            if number not in kept:
                del self._there[each.id]
                self._before.pop(each.id, None)
                each.parents, each.children = [], [ids[other] for other in followed.met[number]]
                updates.append(update_of(each, "DISAPPEAR", [], each.members, self._last[each.id]))
        return updates

    def _nearest(
        self, before: Sequence[Phenomenon], new: Sequence[Sequence[Source]]
    ) -> Callable[[int, int], float | None] | None:
        """The distance between the nearest members, each where it was at its evaluation."""
        jump = self.shape.jump
        if jump is None:
            return None
        places = [self._before[each.id] for each in before]

        def nearest(old: int, group: int) -> float | None:
            there = [place for source in new[group] if (place := self.places[source]) is not None]
            away = min(
                (distance(self.shape.coordinates, one, other) for one in places[old] for other in there),
                default=math.inf,
            )
            return away if away <= jump else None

        return nearest

    def _name(self, value: Any, tick: int, members: Sequence[Source]) -> str:
        shown = str(value).lower() if isinstance(value, bool) else str(value)
        return f"{self.shape.name}/{shown}/{format_time(tick)}/{members[0]}"

    # ---- a stored state ----------------------------------------------------------------------------------------------

    def take(self, value: Any, source: Source, standing: Standing, place: Place | None) -> None:
        """A candidate of a stored state."""
        self.classes.setdefault(value, Class()).standings[source] = standing
        self.places[source] = place
        if self.links is None:
            self.neighbours.place(source, place)
        self.count += 1
        self._held[source] = self._held.get(source, 0) + 1

    def rebuild(self, belongs: dict[tuple[Any, Source], str], phenomena: dict[str, Phenomenon]) -> None:
        """Make the components of a stored state, and give them their phenomena."""
        for value, here in self.classes.items():
            for members in self._components(here, set(here.standings)):
                component = Component(members)
                here.component_of |= dict.fromkeys(members, component)
                id_ = belongs.get((value, next(iter(members))))
                if id_ is not None:
                    found = phenomena[id_]
                    found.members = sorted(members)
                    found.value = value if self.links is None else None
                    component.phenomenon = self._there[id_] = found
                    self._locate(found)

    # ---- what a row says ---------------------------------------------------------------------------------------------

    def _locate(self, found: Phenomenon) -> None:
        """Where a phenomenon is after its members or their places changed."""
        shape = self.shape
        places = [place for source in found.members if (place := self.places[source]) is not None]
        found.location = middle(places, shape.coordinates)
        found.region, found.area = region_of(
            places, shape.coordinates, shape.metres, shape.concave, shape.buffer
        )
        found.readings = None
        if shape.jump is not None:
            self._before[found.id] = places

    def _settle(self, found: Phenomenon, tick: int, kind: str | None) -> None:
        """Where it is now, and how it moves."""
        shape = self.shape
        self._locate(found)
        found.tick = tick
        found.areas = [*found.areas, found.area or 0.0][-SEEN:]
        if shape.noise is None or found.location is None:
            return
        if found.motion is None or found.origin is None:
            found.origin, found.motion = found.location, Motion.born((0.0, 0.0))
        else:
            place = to_plane(found.location, found.origin, shape.coordinates, shape.metres)
            found.motion = found.motion.moved(place, shape.noise, kind in ("MERGE", "SPLIT"))

    def advance(self, found: Phenomenon, tick: int) -> None:
        """Make up for the steps of its motion up to an evaluation."""
        noise = self.shape.noise
        if found.motion is not None and noise is not None and found.location is not None:
            assert found.origin is not None
            place = to_plane(found.location, found.origin, self.shape.coordinates, self.shape.metres)
            for _ in range(found.tick, tick, self.shape.slide):
                found.motion = found.motion.moved(place, noise)
        if tick > found.tick:
            more = min(SEEN, (tick - found.tick) // self.shape.slide)
            found.areas = [*found.areas, *[found.area or 0.0] * more][-SEEN:]
            found.tick = tick
            self.turn += 1

    def state(self, found: Phenomenon) -> tuple[Any, ...]:
        """The columns from `strength` to `velocity_y`."""
        if found.readings is None:
            found.readings = self._readings(found)
        velocity = (None, None) if found.motion is None else found.motion.velocity
        return (*found.readings, found.location, found.region, found.area, *velocity)

    def _readings(self, found: Phenomenon) -> tuple[Any, ...]:
        standings = self.classes[found.value if self.links is None else "within"].standings
        mine = [standings[source] for source in found.members]
        count = sum(each[0] for each in mine)
        strength = min(each[0] for each in mine)
        if mine[0][1] is None:
            return strength, count, None, None, None
        mean = mean_of((each[1] for each in mine), count)  # type: ignore[misc]
        return strength, count, mean, min(each[2] for each in mine), max(each[3] for each in mine)  # type: ignore[type-var]
