"""Lets sensors follow phenomena: who is at one -> what the sensors there are asked for, evaluation by evaluation.

While a query runs whose demand follows a phenomenon (proxies/guided.py), a query of the station's own runs beside it, which
says who comes there and who leaves. It begins as far back in the log as readings count, so that after a restart, also
after kill -9, the sensors are soon asked as before. Each change is a DEMAND record of the stream's log. Guidance never
changes what others are asked for: demands of all askers are combined (proxies/demand.py).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from nilometer.catalog import Stream
from nilometer.live.declarations import CompiledQuery
from nilometer.live.live_query import LiveQuery
from nilometer.live.proxies import Fleet
from nilometer.live.proxies.guided import Guided, Place, Sensors, guided_demands
from nilometer.plan import physical

WATCHES = "who is at"
"""Begins the names of the station's own queries; no other query has a name with a blank."""


@dataclass
class _Watch:
    """The station's own query for a place, and who is there."""

    live: LiveQuery
    wanted: dict[tuple[str, Guided], set[str]] = field(default_factory=dict)
    """By (asker, demand), the queries because of which it stands."""
    inside: Sensors = frozenset()


class Guidance:
    """The demands that follow phenomena. `install` runs a query from a time on, `remove` ends it."""

    def __init__(
        self,
        fleet: Fleet,
        compile: Callable[[str], CompiledQuery],
        install: Callable[[CompiledQuery, str, int], LiveQuery],
        remove: Callable[[str], object],
        clock: Callable[[], int],
    ) -> None:
        self._fleet = fleet
        self._compile = compile
        self._install = install
        self._remove = remove
        self._clock = clock
        self._watches: dict[Place, _Watch] = {}

    def start(self, query: str, plan: physical.Node) -> None:
        """A query has started."""
        if query.startswith(WATCHES):
            return
        for guided in guided_demands(plan):
            watch = self._watches.get(guided.place)
            if watch is None:
                place = guided.place
                name = f"{WATCHES} {place.phenomenon}, {place.hops} hops, {place.horizon} us"
                live = self._install(self._compile(place.text), name, self._clock() - place.lasts)
                watch = self._watches[place] = _Watch(live)
            key = guided.asker or f"{query} at {guided.place.phenomenon}", guided
            watch.wanted.setdefault(key, set()).add(query)
            self._fleet.steer(key[0], guided.stream, guided.demands(watch.inside))

    def stop(self, query: str) -> None:
        """A query has ended. What nobody follows any more steers nobody."""
        for place, watch in list(self._watches.items()):
            for (asker, guided), queries in list(watch.wanted.items()):
                queries.discard(query)
                if not queries:
                    del watch.wanted[asker, guided]
                    self._fleet.steer(asker, guided.stream, ())
            if not watch.wanted:
                del self._watches[place]
                self._remove(watch.live.name)

    def follow(self) -> dict[str, Stream]:
        """Ask sensors for what they are wanted for now. Returns the streams whose sensors are told something new."""
        changed: dict[str, Stream] = {}
        for watch in self._watches.values():
            if not watch.live.waiting:
                continue
            inside = set(watch.inside)
            for answer in watch.live.take():
                for source, there in answer.rows:
                    (inside.add if there else inside.discard)(source)
            if inside != watch.inside:
                watch.inside = frozenset(inside)
                for asker, guided in watch.wanted:
                    self._fleet.steer(asker, guided.stream, guided.demands(watch.inside))
                    changed[guided.stream.name.lower()] = guided.stream
        return changed
