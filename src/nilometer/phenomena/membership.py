"""Who is at a phenomenon: its members, with HOPS also the sensors so many steps from neighbour to neighbour away, and
with HORIZON those in its region, now or as it is predicted within that time. Evaluation by evaluation, only changes.

The steps are those of the graph of all sources heard, not only of candidates: PH_SOURCES says where every source is. An evaluation costs something only if phenomena or places changed; with HORIZON
each does, because regions move. The state is a place for each source, and who is inside.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import polars as pl

from nilometer.algebra.geojson import rings
from nilometer.algebra.places import Place
from nilometer.algebra.prediction import Course
from nilometer.algebra.table_function import Frame, FunctionCall
from nilometer.algebra.table_functions import phenomena as words
from nilometer.kernels.arrays import Floats
from nilometer.kernels.point_in_ring import within_ring
from nilometer.operators import frames
from nilometer.operators.limits import check_kept
from nilometer.operators.logic import ID
from nilometer.phenomena.neighbours import Listed, Near, Source
from nilometer.phenomena.phenomenon import Phenomenon
from nilometer.phenomena.readings import place_of
from nilometer.phenomena.tracker import Tracker
from nilometer.types import SECOND, Schema

_INSIDE, _X, _Y = "@inside", "@x", "@y"


class Membership:
    """The sources that are at a phenomenon, and the places of all."""

    def __init__(self, call: FunctionCall, input: Schema) -> None:
        frame, hops, horizon = call.window, call[words.HOPS.word], call[words.SOON.word]
        assert isinstance(frame, Frame)
        self._hops, self._slide = hops if isinstance(hops, int) else 0, frame.slide
        self._ahead = horizon // frame.slide if isinstance(horizon, int) else 0
        near = call[words.NEAR]
        self._near = (
            Near(near, input[f"{call.alias}.place"].unit) if isinstance(near, float) and self._hops else None
        )
        self._places: dict[Source, Place | None] = {}
        self._arrays: tuple[list[Source], Floats, Floats] | None = None
        self._growth = words.growth_of(call)
        self._wide = bool(self._hops or self._ahead)
        self.inside: frozenset[Source] = frozenset()
        self._id = frames.dtype(call.id_type.plain)

    @staticmethod
    def of(call: FunctionCall, input: Schema) -> Membership | None:
        """The membership of a call of MEMBERSHIP; None for other functions."""
        return Membership(call, input) if call.name == words.MEMBERSHIP.name else None

    def step(
        self, tick: int, updates: Sequence[Any], heard: Sequence[tuple[Any, ...]], tracker: Tracker
    ) -> Iterator[tuple[Source, bool]]:
        """Who came (True) and who left at an evaluation, by id. `heard` are its rows of PH_CANDIDATES."""
        moved = self._move(heard) if self._wide else False
        relinked = isinstance(tracker.neighbours, Listed) and self._hops > 0
        if not (updates or moved or relinked or self._ahead):
            return
        now = {source for found in tracker.phenomena for source in found.members}
        edge = now
        for _ in range(self._hops):
            edge = self._around(edge, tracker) - now
            now |= edge
        for found in tracker.phenomena if self._ahead else ():
            tracker.advance(found, tick)
            now |= self._awaiting(found, tracker)
        before, self.inside = self.inside, frozenset(now)
        for source in sorted(self.inside ^ before):
            yield source, source in self.inside

    def _move(self, heard: Sequence[tuple[Any, ...]]) -> bool:
        moved = False
        for row in heard:
            source, place = row[1], place_of(row[7])
            if source not in self._places or self._places[source] != place:
                moved = True
                self._put(source, place)
        check_kept(len(self._places))
        return moved

    def _put(self, source: Source, place: Place | None) -> None:
        self._places[source] = place
        self._arrays = None
        if self._near is not None:
            self._near.place(source, place)

    def _around(self, sources: set[Source], tracker: Tracker) -> set[Source]:
        """The neighbours of these among all sources heard."""
        found: set[Source] = set()
        graph = self._near or tracker.neighbours
        for source in sources:
            around = graph.of(source)
            if around is None:
                return set(self._places)
            found |= around
        return found & self._places.keys()

    def _awaiting(self, found: Phenomenon, tracker: Tracker) -> set[Source]:
        """The sources in the region of a phenomenon, now or as it is predicted."""
        if found.location is None or found.motion is None:
            return set()
        shape = tracker.shape
        course = Course(
            found.location,
            found.region,
            found.areas,
            found.motion.velocity,
            len(found.members),
            self._slide / SECOND,
            shape.coordinates,
            shape.metres,
            self._growth,
        )
        sources, x, y = self._settled()
        there = np.zeros(len(sources), dtype=np.bool_)
        for steps in range(self._ahead + 1):
            for ring in rings(course.after(steps)[1] if steps else course.region):
                there |= within_ring(x, y, ring)
        return {sources[each] for each in np.flatnonzero(there).tolist()}

    def _settled(self) -> tuple[list[Source], Floats, Floats]:
        """The sources with a place, and their places; made anew when one has changed."""
        if self._arrays is None:
            sources = [source for source, place in self._places.items() if place is not None]
            places = np.array([self._places[each] for each in sources], dtype=np.float64).reshape(-1, 2)
            self._arrays = sources, places[:, 0].copy(), places[:, 1].copy()
        return self._arrays

    def snapshot(self) -> dict[str, bytes]:
        """Returns who is inside and where all are, as a pane."""
        sources = sorted(self._places.keys() | self.inside)
        places = [self._places.get(source) for source in sources]
        known = {
            ID: pl.Series(sources, dtype=self._id),
            _INSIDE: pl.Series([source in self.inside for source in sources], dtype=pl.Boolean),
            "@heard": pl.Series([source in self._places for source in sources], dtype=pl.Boolean),
            _X: pl.Series([None if place is None else place[0] for place in places], dtype=pl.Float64),
            _Y: pl.Series([None if place is None else place[1] for place in places], dtype=pl.Float64),
        }
        return {"membership": frames.to_bytes(pl.DataFrame(known))}

    def restore(self, panes: dict[str, bytes]) -> None:
        """Take back what `snapshot` gave."""
        inside = set()
        for source, within, heard, x, y in frames.from_bytes(panes["membership"]).iter_rows():
            if within:
                inside.add(source)
            if heard:
                self._put(source, None if x is None else (x, y))
        self.inside = frozenset(inside)
