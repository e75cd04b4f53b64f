"""All sensors of the streams that live queries read, each behind its proxy: queries and presences in,
commands out.

    start, stop     divides a query's demand (demand_of) among the sensors; each proxy decides what to tell
    its sensor
    steer           the same for an asker whose demands on the sensors change while it runs (guidance.py)
    heard           readings and presences: which sensors are there, listen, obey, promise
    tick            repeats commands that were not acknowledged for long
    promise         the time before which no sensor of a stream will send anything more: a heartbeat for the
    log

Proxies outlive queries (fjords.txt section 3.2). The fleet has no I/O and no clock of its own: it calls
`command` and `record`, and asks for the time. The laws: every change of the live queries' demand on a stream
is recorded once. The demand is divided among all sensors at once, and a proxy is called only if a demand
changed or a presence needs it.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from nilometer.algebra.identity_map import IdentityMap
from nilometer.catalog.extents import Sensor, Stream
from nilometer.expressions import Expression, columns_of, conjunction, conjuncts
from nilometer.ingest.adapters.adapter import Aggregation, Changes, Presence, ReadResult
from nilometer.ingest.adapters.adapter import Command as Told
from nilometer.live.proxies.demand import Demand, combine
from nilometer.live.proxies.demand_of import demand_of
from nilometer.live.proxies.filters import filter_text, passing
from nilometer.live.proxies.members import NEVER, SPARED, Members
from nilometer.live.proxies.proxy import (
    Acknowledged,
    Command,
    Event,
    Listening,
    Queries,
    QueriesStarted,
    QueryStarted,
    QueryStopped,
    Restarted,
    SensorProxy,
    Sleep,
    StartSampling,
    Unanswered,
    Wanted,
)
from nilometer.plan import physical
from nilometer.plan.summaries import Summary, parts_wanted
from nilometer.types import HOUR, MILLISECOND, SECOND

Programs = Callable[[Stream, tuple[Demand, ...]], str | None]
"""The sensor program that answers all these demands on a stream; None if its sensors have only one program.
"""

SILENCES = 3
"""A sensor that was not heard for this many heartbeats or intervals no longer counts for the promise, and
holds up nothing.
"""

CHANCES = 3
"""How often a sensor that could not be told anything, or did not answer, is tried again."""

MOST = 10_000
"""The most undeclared sensors of a stream that have a proxy, because they have said something about themselves."""

RECORDED = 16
"""Up to this many queries of a stream, each change of their demand is recorded in its log."""

WEAK, RECOVERED = 0.2, 0.3
"""A sensor with less of its battery left than the first is spared, until it has more than the second again."""

REMEMBERED = 1_000
"""The number of distinct demands that are kept for comparison."""


class Fleet:
    """The sensors of all streams with live queries. `mailbox` says whether a stream's sensors find commands
    that were given while they did not listen.
    """

    def __init__(
        self,
        sensors_of: Callable[[Stream], Iterable[Sensor]],
        command: Callable[[str, int | str, Told], bool],
        clock: Callable[[], int],
        record: Callable[[str, dict[str, Any]], None],
        *,
        mailbox: Callable[[str], bool] = lambda _: False,
        program_for: Programs = lambda *_: None,
        heartbeat: int = 10 * SECOND,
        listen_every: int = 5 * SECOND,
    ) -> None:
        self._sensors_of = sensors_of
        self._command = command
        self._clock = clock
        self._record = record
        self._mailbox = mailbox
        self._program_for = program_for
        self.heartbeat = heartbeat
        self.listen_every = listen_every
        self._members: dict[str, Members] = {}
        self._held: IdentityMap[SensorProxy, tuple[Members, int]] | None = None
        """The sensors that are not told anything before many queries have started or stopped."""
        self._demands: dict[str, dict[str, Demand]] = {}
        self._together: dict[str, Demand | None] = {}
        self._steered: dict[tuple[str, str], tuple[str, ...]] = {}
        """The demands of askers with several, by (asker, stream)."""
        self._shared: IdentityMap[Mapping[str, Demand], Wanted] = IdentityMap()
        self._combinations: dict[tuple[str, tuple[Demand, ...]], Wanted] = {}
        self._welcomes: dict[tuple[str, bytes], QueriesStarted] = {}
        self._texts: IdentityMap[Demand, str] = IdentityMap()
        # Equal demands are one object, so that thousands of commands are compared by identity.
        self._demand_objects: dict[Demand, Demand] = {}
        # A sensor may still acknowledge a command from an earlier run of the gateway, so numbers are never
        # used twice.
        self._first_number = max(0, clock() // MILLISECOND)

    # ---- queries -----------------------------------------------------------------------------------------------------

    def start(self, query: str, plan: physical.Node, *, summaries: bool = True) -> None:
        """A query has started, or its plan has changed. `summaries`: whether its host can take summaries."""
        wanted = demand_of(plan)
        if not summaries:
            wanted = {name: replace(demand, aggregate=None) for name, demand in wanted.items()}
        for leaf in physical.walk_plan(plan):
            if isinstance(leaf, physical.SpAcquire):
                self._join(leaf.stream)
        for name in [name for name in self._demands if query in self._demands[name] and name not in wanted]:
            self._leave(name, query)
        for name, demand in wanted.items():
            before = self._asked(name)
            self._demands[name][query] = demand
            self._forget_shared()
            members = self._members[name]
            self._divide(members, query, demand, np.arange(len(members)))
            self._note(name, query, "start", before)

    def steer(self, name: str, stream: Stream, demands: Sequence[Demand]) -> None:
        """What an asker wants now that has several demands, each on sensors of its own; none: it has left. Only sensors
        whose share changes are told anything."""
        self._join(stream)
        asked, members = self._demands[stream.name], self._members[stream.name]
        wanted = {f"{name} {number}": demand for number, demand in enumerate(demands, 1)}
        known = self._steered.get((name, stream.name), ())
        if {key: asked[key] for key in known} == wanted:
            return
        before = self._asked(stream.name)
        with self.together():
            for key in [*known, *(key for key in wanted if key not in known)]:
                demand = wanted.get(key)
                asked.pop(key, None)
                if demand is not None:
                    asked[key] = demand
                self._forget_shared()
                self._divide_anew(members, key, demand)
        self._steered[name, stream.name] = tuple(wanted)
        self._note(stream.name, name, "steer" if demands else "stop", before)

    @contextlib.contextmanager
    def together(self) -> Iterator[None]:
        """Let many queries start or stop, and tell each sensor only what comes of it."""
        if self._held is not None:
            yield
            return
        self._held = IdentityMap()
        try:
            yield
        finally:
            held, self._held, now = self._held, None, self._clock()
            for members, place in held.values():
                self._speak(members, place, now)

    def stop(self, query: str) -> None:
        """A query has ended; sensors that no query needs go to sleep."""
        for name in [name for name, demands in self._demands.items() if query in demands]:
            self._leave(name, query)

    def demand(self, stream: str) -> Demand | None:
        """The combined demand of the live queries on a stream."""
        if stream not in self._together:
            self._together[stream] = combine(self._demands.get(stream, {}).values())
        return self._together[stream]

    def settled(self, query: str) -> bool:
        """Whether every reachable sensor does what the query needs of it."""
        return all(
            proxy.settled
            for name, demands in self._demands.items()
            if query in demands
            for proxy, free in zip(self._members[name].proxies, self._members[name].uncontrolled, strict=True)
            if not free and query in proxy.queries
        )

    def _leave(self, name: str, query: str) -> None:
        before, now, members = self._asked(name), self._clock(), self._members[name]
        del self._demands[name][query]
        self._forget_shared()
        event = QueryStopped(query, IdentityMap())
        for place, proxy in enumerate(members.proxies):
            if query in proxy.queries:
                self._tell(members, place, event, now)
        self._note(name, query, "stop", before)

    def _asked(self, name: str) -> frozenset[Demand]:
        """The demands on a stream. Changes beyond RECORDED queries are not recorded one by one."""
        asked = self._demands[name]
        return frozenset(asked.values()) if len(asked) <= RECORDED else frozenset()

    def _note(self, name: str, query: str, event: str, before: frozenset[Demand]) -> None:
        """Record in the log a change of the demand on the stream, if there is one."""
        after = self._asked(name)
        if after == before or len(self._demands[name]) > RECORDED:
            return
        together = combine(after)
        change: dict[str, Any] = {"time": self._clock(), "query": query, "event": event}
        change |= {"queries": sorted(self._demands[name]), "demands": sorted(map(str, after))}
        change["demand"] = None if together is None else str(together)
        if together is not None:
            change |= {"interval": together.interval, "intervals": list(together.intervals)}
            change |= {"filter": filter_text(together.predicate)}
            change |= {"columns": sorted(together.columns)}
            change["sensors"] = (
                None
                if together.sensors is None
                else sorted(together.sensors, key=lambda s: (str(type(s)), s))
            )
        self._record(name, change)

    def _divide(self, members: Members, query: str, demand: Demand, places: npt.NDArray[np.int64]) -> None:
        """Tell the proxies at these places what the query asks of their sensors."""
        now = self._clock()
        mask, share = _share(demand, [members.proxies[place].sensor for place in places])
        started, stopped = QueryStarted(query, share, IdentityMap()), QueryStopped(query, IdentityMap())
        # Proxies share the demand's own object, which must live as long as they hold it.
        for place, asked in zip(places.tolist(), mask.tolist(), strict=True):
            self._tell(members, place, started if asked else stopped, now)

    def _divide_anew(self, members: Members, query: str, demand: Demand | None) -> None:
        """Tell the proxies for which it makes a difference that a demand has changed; None: it is gone."""
        now, sensors = self._clock(), members.ids()
        mask, share = (np.zeros(len(sensors), bool), None) if demand is None else _share(demand, sensors)
        stopped = QueryStopped(query, IdentityMap())
        started = None if share is None else QueryStarted(query, share, IdentityMap())
        for place, wanted in enumerate(mask.tolist()):
            held = members.proxies[place].queries.get(query)
            if wanted and started is not None and held != share:
                self._tell(members, place, started, now)
            elif not wanted and held is not None:
                self._tell(members, place, stopped, now)

    # ---- sensors -----------------------------------------------------------------------------------------------------

    def heard(self, stream: str, result: ReadResult) -> None:
        """Process the result of one read of a stream's adapter."""
        members = self._members.get(stream)
        if members is None:
            return
        now = self._clock()
        # A clock that runs ahead promises nothing: readings that the entrance refuses as future must not move
        # event time here either.
        limit = None if result.arrived is None else result.arrived + members.stream.future
        rows = members.up_to(result.rows, limit)
        if rows.height:
            members.hear(rows, now)
            self._try_again(members, now)
        if result.summaries is not None and result.summaries.height:
            found = members.up_to(result.summaries, limit)
            members.hear(found, now)
            members.promise_after(found)
        self._announced(members, result.presences)
        for presence in result.presences:
            if limit is not None and presence.time is not None and presence.time > limit:
                presence = replace(presence, time=None)
            self._present(members, presence, now)

    def _try_again(self, members: Members, now: int) -> None:
        """Retry sensors that could not be told anything, and are heard now. Their address may have become
        known (an MQTT topic with their site in it), or their source may have been unreachable.
        """
        if not members.uncontrolled.any():
            return
        heard = members.uncontrolled & (members.heard_at == now) & (members.told_at < now)
        for place in np.flatnonzero(heard & (members.attempts < CHANCES)).tolist():
            members.attempts[place] += 1
            members.uncontrolled[place] = False
            self._tell(members, place, Unanswered(), now)

    def tick(self, now: int) -> None:
        """Repeat commands that were put into a mailbox and not answered, with growing waits."""
        for members in self._members.values():
            if not members.unanswered:
                continue
            places = np.fromiter(members.unanswered, np.int64, len(members.unanswered))
            wait = SILENCES * self._pace(members) * 2 ** np.minimum(members.attempts[places], 10)
            due = places[now - members.told_at[places] >= np.minimum(wait, HOUR)]
            for place in due.tolist():
                members.attempts[place] += 1
                if members.attempts[place] > CHANCES:
                    # It understands no commands, or is not there: leave it alone until it sends something
                    # about itself.
                    members.uncontrolled[place] = True
                    members.unanswered.discard(place)
                else:
                    self._tell(members, place, Unanswered(), now)

    def promise(self, stream: str) -> int | None:
        """The least tick that all active sensors have promised; None if unknown."""
        members = self._members.get(stream)
        if members is None:
            return None
        return members.promise(self._clock(), SILENCES * self._pace(members))

    def _pace(self, members: Members) -> int:
        demand = self.demand(members.stream.name)
        summary = None if demand is None else demand.summary
        asked = self._demands.get(members.stream.name, {})
        # Of an asker with several demands, some sensors have only the slowest.
        steered = (
            asked[key].interval
            for (_, at), keys in self._steered.items()
            if at == members.stream.name
            for key in keys
        )
        intervals = (
            *steered,
            demand.interval if demand is not None else None,
            members.stream.interval,
            None if summary is None else summary.every,
        )
        heartbeat = max(self.heartbeat, 0 if demand is None else demand.heartbeat)
        return max(heartbeat, *(interval or 0 for interval in intervals))

    def _join(self, stream: Stream) -> None:
        if stream.name in self._members:
            return
        self._members[stream.name] = members = Members(stream)
        self._demands[stream.name] = {}
        self._add(members, [sensor.id for sensor in self._sensors_of(stream)])
        members.declared = len(members)

    def _add(self, members: Members, ids: Iterable[int | str]) -> None:
        mailbox = self._mailbox(members.stream.name)
        members.add(
            (
                SensorProxy(
                    identifier,
                    self.listen_every,
                    self.heartbeat,
                    commanded=self._first_number,
                    interval=members.stream.interval,
                    mailbox=mailbox,
                    combined=lambda queries: self._combined(members.stream, queries),
                )
                for identifier in ids
            ),
            self._clock(),
        )

    def _welcome(self, members: Members, strangers: list[int | str]) -> None:
        """Add undeclared sensors that have said something about themselves: the live queries ask them, too."""
        first = len(members)
        self._add(members, strangers[: max(0, MOST + members.declared - first)])
        ids, now = [proxy.sensor for proxy in members.proxies[first:]], self._clock()
        if not ids:
            return
        demands = self._demands[members.stream.name]
        shares = [_share(demand, ids) for demand in demands.values()]
        masks = np.array([mask for mask, _ in shares], dtype=bool).reshape(len(shares), len(ids))
        # Most sensors are asked by the same queries: one event, with one set of demands, serves all of these.
        for place, asked in enumerate(np.ascontiguousarray(masks.T), first):
            key = members.stream.name, asked.tobytes()
            event = self._welcomes.get(key)
            if event is None:
                wanted = {
                    query: share for query, (_, share), one in zip(demands, shares, asked, strict=True) if one
                }
                begun = frozenset(query for query, demand in wanted.items() if demand.begins)
                event = self._welcomes[key] = QueriesStarted(wanted, begun)
            self._tell(members, place, event, now)

    def _announced(self, members: Members, presences: Iterable[Presence]) -> None:
        """Welcome the undeclared sensors that say something about themselves for the first time."""
        found = {
            identifier: None
            for presence in presences
            if presence.online and str(presence.sensor) not in members.places
            if (identifier := _as_id(members.stream, presence.sensor)) is not None
        }
        if found:
            self._welcome(members, list(found))

    def _present(self, members: Members, presence: Presence, now: int) -> None:
        place = members.places.get(str(presence.sensor))
        if place is None:
            return
        members.gone[place] = not presence.online
        if not presence.online:
            return
        members.heard_at[place] = now
        if members.uncontrolled[place] and (presence.command is not None or presence.listening is not None):
            members.uncontrolled[place] = False
            members.attempts[place] = 0
            self._tell(members, place, Unanswered(), now)
        if presence.battery is not None:
            self._spare(members, place, presence.battery)
        if presence.time is not None:
            members.promised[place] = max(members.promised[place], presence.time)
        if presence.command is not None:
            event = Acknowledged(presence.command) if presence.command else Restarted()
            proxy = members.proxies[place]
            if presence.command or proxy.acknowledged is not None:
                self._tell(members, place, event, now)
        if presence.listening is not None:
            self._tell(members, place, Listening(presence.listening), now)

    def _spare(self, members: Members, place: int, battery: float) -> None:
        """Ask a sensor whose battery is nearly empty for fewer heartbeats. Readings and answers stay the same; answers
        that wait for it may come later. It takes effect with the sensor's next command."""
        if members.weak[place] != (battery < (RECOVERED if members.weak[place] else WEAK)):
            members.weak[place] = not members.weak[place]
            proxy = members.proxies[place]
            proxy.heartbeat = self.heartbeat * (SPARED if members.weak[place] else 1)

    def _tell(self, members: Members, place: int, event: Event, now: int) -> None:
        """Pass an event to a proxy, and its commands to the sensor."""
        proxy = members.proxies[place]
        proxy.note(event)
        if self._held is not None:
            self._held[proxy] = members, place
            return
        self._speak(members, place, now)

    def _speak(self, members: Members, place: int, now: int) -> None:
        """Send a proxy's commands to its sensor."""
        proxy = members.proxies[place]
        commands = proxy.speak(now)
        if not members.uncontrolled[place]:
            for command in commands:
                members.told_at[place] = now
                members.unanswered.add(place)
                if not self._command(members.stream.name, proxy.sensor, self._as_told(command)):
                    members.uncontrolled[place] = True
        members.asleep[place] = proxy.asleep
        members.obeys(place, proxy.obeyed)
        if members.unanswered and (proxy.acknowledged is not None or members.uncontrolled[place]):
            members.unanswered.discard(place)
            if proxy.acknowledged is not None:
                members.attempts[place] = 0

    # ---- shared by many sensors --------------------------------------------------------------------------------------

    def _combined(self, stream: Stream, queries: Mapping[str, Demand]) -> Wanted:
        """The combined demand; most sensors of a stream have the same demands, so it is combined once for all
        of them.
        """
        known = self._shared.get(queries)
        if known is not None:
            return known
        demands = tuple(queries.values())
        key = stream.name, demands
        found = self._combinations.get(key)
        if found is None:
            demand = queries.combine() if isinstance(queries, Queries) else combine(demands)
            program = None if demand is None else self._program_for(stream, demands)
            if demand is not None:
                # Only as far as a command says it: other columns of the same readings change nothing for a
                # sensor. Nor do other aggregates, if they need the same parts of the same columns.
                summary = demand.summary if program is None else None
                heartbeat = max(self.heartbeat, demand.heartbeat)
                changes = demand.changes if program is None and summary is None else None
                demand = replace(
                    demand,
                    columns=demand.columns if changes is not None else frozenset(),
                    aggregate=_as_told(summary),
                    changes=changes,
                    grid=demand.grid if changes is not None else None,
                    heartbeat=heartbeat,
                    begins=True,
                )
                demand = self._demand_objects.setdefault(demand, demand)
            found = self._combinations[key] = demand, program
        self._shared[queries] = found
        return found

    def _forget_shared(self) -> None:
        self._shared.clear()
        self._combinations.clear()
        self._welcomes.clear()
        self._together.clear()
        if len(self._demand_objects) > REMEMBERED:
            self._demand_objects.clear()
            self._texts.clear()

    def _as_told(self, command: Command) -> Told:
        match command:
            case Sleep(number, listen):
                return Told(sleep=True, number=number, listen=listen)
            case StartSampling(number, demand, program, heartbeat):
                if demand not in self._texts:
                    self._texts[demand] = filter_text(demand.predicate)
                text = self._texts[demand]
                several = demand.intervals if len(demand.intervals) > 1 else None
                interval = demand.interval or 0
                summary = demand.summary
                asked = None
                if summary is not None:
                    asked = Aggregation(summary.every, summary.of, summary.columns or (), summary.grid)
                    # A summary says that time goes on: no other heartbeat is needed.
                    heartbeat = max(heartbeat, summary.every)
                changes = None
                if demand.changes is not None:
                    changes = Changes(demand.changes, tuple(sorted(demand.columns)), demand.grid)
                return Told(
                    interval,
                    text,
                    program,
                    False,
                    number,
                    heartbeat,
                    intervals=several,
                    aggregate=asked,
                    changes=changes,
                )

    def intervals(self, stream: str) -> pl.DataFrame | None:
        """How often a reading may be expected of each sensor (id, interval): NULL for a sensor that sleeps, filters
        or summarises. Of one with several intervals, only the readings of the shortest are expected. None if no sensor
        is known.
        """
        members = self._members.get(stream)
        if members is None or not len(members):
            return None
        wanted = [proxy.demand for proxy in members.proxies]
        owed = [
            None if demand is None or demand.thins else min(demand.intervals, default=members.stream.interval)
            for demand in wanted
        ]
        return pl.DataFrame({"id": members.ids(), "interval": pl.Series(owed, dtype=pl.Int64)})

    # ---- for people --------------------------------------------------------------------------------------------------

    def states(self) -> dict[str, int]:
        """The number of sensors in each state."""
        counts: dict[str, int] = {}
        for members in self._members.values():
            silent = self._clock() - SILENCES * self._pace(members)
            for place in range(len(members)):
                state = _state(members, place, silent)
                counts[state] = counts.get(state, 0) + 1
        return counts

    def rows(self) -> pl.DataFrame:
        """The command and the state of each sensor."""
        found = []
        for name, members in self._members.items():
            silent = self._clock() - SILENCES * self._pace(members)
            for place, proxy in enumerate(members.proxies):
                told = proxy.acknowledged or proxy.sent
                running = told if isinstance(told, StartSampling) else None
                found.append(
                    {
                        "stream": name,
                        "sensor": str(proxy.sensor),
                        "state": _state(members, place, silent),
                        "queries": len(proxy.queries),
                        "interval": min(running.demand.intervals, default=None) if running else None,
                        "filter": filter_text(running.demand.predicate) if running else None,
                        "program": running.program if running else None,
                        "command": told.number if told else None,
                        "heard_at": _known(members.heard_at[place]),
                        "latest": _known(max(members.latest[place], members.promised[place])),
                    }
                )
        kinds = dict.fromkeys(("stream", "sensor", "state", "filter", "program"), pl.String)
        names = "stream sensor state queries interval filter program command heard_at latest".split()
        return pl.DataFrame(found, schema={name: kinds.get(name, pl.Int64) for name in names})


def _as_told(summary: Summary | None) -> Summary | None:
    """The summary, with the same aggregates for all that a command cannot tell apart."""
    if summary is None or summary.columns is None:
        return None
    return replace(summary, aggregates=parts_wanted(summary.columns))


def _state(members: Members, place: int, silent: int) -> str:
    proxy = members.proxies[place]
    if members.gone[place]:
        return "gone"
    if members.uncontrolled[place]:
        return "uncontrolled"
    if proxy.settled:
        if proxy.asleep:
            return "asleep"
        return "running" if max(members.heard_at[place], members.since[place]) > silent else "silent"
    return "told" if proxy.sent is not None and proxy.acknowledged is None else "waiting"


def _share(demand: Demand, sensors: list[int | str]) -> tuple[npt.NDArray[np.bool_], Demand]:
    """The sensors that the demand concerns, and the demand on each: `for_sensor` for all at once."""
    mask = np.ones(len(sensors), dtype=bool)
    if demand.sensors is not None:
        chosen = demand.sensors
        mask &= np.fromiter((sensor in chosen for sensor in sensors), bool, len(sensors))
    about_id: list[Expression] = []
    rest: list[Expression] = []
    for part in conjuncts(demand.predicate):
        names = columns_of(part)
        (about_id if names and all(name.lower() == "id" for name in names) else rest).append(part)
    if about_id and sensors:
        columns = {name for part in about_id for name in columns_of(part)}
        mask &= passing(conjunction(about_id), pl.DataFrame(dict.fromkeys(columns, sensors)))
    return mask, replace(demand, predicate=conjunction(rest), sensors=None)


def _as_id(stream: Stream, sensor: int | str) -> int | str | None:
    """A presence's sensor in the type of the stream's ids; None if it cannot be one (a hub's name)."""
    if stream.id_type.kind.value != "INT":
        return str(sensor)
    try:
        return int(sensor)
    except ValueError:
        return None


def _known(value: int) -> int | None:
    return None if value <= NEVER else int(value)
