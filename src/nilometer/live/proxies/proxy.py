"""The proxy of one sensor: queries come and go, and the proxy tells the sensor, while it listens, what they
need together.

A pure state machine (fjords.txt section 3.2): `handle(event, time) -> commands`; no I/O and no clock. It
lives as long as the sensor, across all queries. The sensor's receiver is off most of the time, so a command
is sent only while it listens; until then the proxy keeps the wish, and only the latest. A command that is not
acknowledged is sent again in the next listening window. If no query needs the sensor, it is told to sleep and
to listen now and then. If there is a mailbox (a retained MQTT topic), the sensor reads it when it listens,
and a command may be given at any time.

The law: after an acknowledgement in a window, with no event since, the sensor does what `combine` of the live
queries' demands says; and while wish and state agree, nothing is sent.

A sensor that filters must send its first reading after a command, whatever the filter and the rate (a query's
windows start at the stream's first tuple), and a heartbeat at least every `heartbeat` (event time must
advance). So a sensor that filters, or samples less often than it could, gets a new command for every query
that starts, even if nothing else changes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from nilometer.algebra.identity_map import IdentityMap
from nilometer.live.proxies.demand import Demand, combine, for_sensor
from nilometer.types import SECOND

Changes = IdentityMap[Any, Any]
"""The new values of what proxies hold, by the old ones. Most sensors of a stream have the same
queries, so an event that comes to all of them changes one object, and they share the new one."""

# ---- events ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class QueryStarted:
    """A query needs this of the sensor's stream. A second event with another demand means that the demand has
    changed.
    """

    query: str
    demand: Demand
    changes: Changes | None = field(default=None, compare=False)


@dataclass(frozen=True)
class QueriesStarted:
    """These queries, and no others, need something of a sensor that has just appeared. `names` are theirs."""

    demands: Mapping[str, Demand]
    names: frozenset[str]


@dataclass(frozen=True)
class QueryStopped:
    """A query has ended."""

    query: str
    changes: Changes | None = field(default=None, compare=False)


@dataclass(frozen=True)
class Listening:
    """The sensor said, with a reading, that its receiver is on until then."""

    until: int


@dataclass(frozen=True)
class Acknowledged:
    """The sensor obeys the command with that number."""

    number: int


@dataclass(frozen=True)
class Restarted:
    """The sensor has lost its commands: a new battery, a last will, a first hello."""


@dataclass(frozen=True)
class Unanswered:
    """No acknowledgement has come for so long that the command is given again."""


Event = QueryStarted | QueriesStarted | QueryStopped | Listening | Acknowledged | Restarted | Unanswered

# ---- commands --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class StartSampling:
    """Sample and send as the demand says, by the program of that name (None: the sensor has only one)."""

    number: int
    demand: Demand
    program: str | None
    heartbeat: int


@dataclass(frozen=True)
class Sleep:
    """Sample nothing; listen for commands every so often."""

    number: int
    listen_every: int


Command = StartSampling | Sleep


Wanted = tuple[Demand | None, str | None]
"""The demand on a sensor (None: nothing) and its program."""


Value = TypeVar("Value")


def _changed(changes: Changes | None, old: Value, change: Callable[[Value], Value]) -> Value:
    """The changed value: the one that another proxy with the same old value got, if there is one."""
    if changes is None:
        return change(old)
    if old not in changes:
        changes[old] = change(old)
    value: Value = changes[old]
    return value


class Queries(dict[str, Demand]):
    """The demands of the queries on a sensor. `combined` is their combination, if it is known. If it is not, it is that of
    `base` and `added`: so the combination of many queries is not made anew for each that starts."""

    combined: Demand | None = None
    base: Demand | None = None
    added: Demand | None = None

    @staticmethod
    def grown(old: Mapping[str, Demand], query: str, demand: Demand) -> Queries:
        """The demands with one more."""
        new = Queries({**old, query: demand})
        if isinstance(old, Queries) and query not in old:
            new.base, new.added = old.combined, demand
        return new

    def combine(self) -> Demand | None:
        """The least demand that serves all of them."""
        if self.combined is None:
            asked = self.values() if self.base is None or self.added is None else (self.base, self.added)
            self.combined = combine(asked)
        return self.combined


NOBODY = Queries()
"""No query at all. All new proxies share it, and so everything that follows."""


@dataclass
class SensorProxy:
    """The proxy of one sensor. `program_for` picks the sensor's program (`programs.cheapest` for a traffic
    sensor); `interval` is the sensor's own. `combined` combines the queries' demands; a caller with many
    proxies can share the result.
    """

    sensor: int | str
    listen_every: int = 5 * SECOND
    heartbeat: int = 10 * SECOND
    program_for: Callable[[Demand], str] | None = None
    queries: Mapping[str, Demand] = field(default_factory=lambda: NOBODY)
    """Shared with other proxies: it is replaced, never changed."""
    listening_until: int | None = None
    commanded: int = 0
    acknowledged: Command | None = None
    interval: int | None = None
    mailbox: bool = False
    combined: Callable[[Mapping[str, Demand]], Wanted] | None = None
    _sent: Command | None = None
    _sent_window: int | None = None
    _wanted: Wanted | None = None
    _begun: frozenset[str] = frozenset()
    _told: frozenset[str] = frozenset()

    @property
    def demand(self) -> Demand | None:
        """The combined demand of the live queries on this sensor; None: nothing, it may sleep."""
        return self._want()[0]

    @property
    def asleep(self) -> bool:
        """Whether the sensor has confirmed that it sleeps."""
        return isinstance(self.acknowledged, Sleep)

    @property
    def obeyed(self) -> int:
        """The sensor is known to send only readings at multiples of this interval; 0: that is not known."""
        done = self.acknowledged
        if not isinstance(done, StartSampling) or done.program is not None or done.demand.summary is not None:
            return 0
        return done.demand.interval or 0

    @property
    def settled(self) -> bool:
        """Whether the sensor is known to do what is wanted of it."""
        done = self.acknowledged
        return done is not None and not self._owes(done) and done == self._wish(done.number)

    @property
    def sent(self) -> Command | None:
        """The last command given that is still in force."""
        return self._sent

    def handle(self, event: Event, time: int) -> tuple[Command, ...]:
        """Process an event at `time`, and return the commands to send now."""
        self.note(event)
        return self.speak(time)

    def note(self, event: Event) -> None:
        """Process an event, and say nothing yet."""
        match event:
            case QueryStarted(query, demand, changes):
                self.queries = _changed(changes, self.queries, lambda old: Queries.grown(old, query, demand))
                if demand.begins:
                    self._begun = _changed(changes, self._begun, lambda old: old | {query})
                self._wanted = None
            case QueriesStarted(demands, names):
                self.queries, self._begun, self._wanted = demands, names, None
            case QueryStopped(query, changes):
                if query in self.queries:
                    self.queries = _changed(
                        changes, self.queries, lambda old: {name: old[name] for name in old if name != query}
                    )
                    self._begun = _changed(changes, self._begun, lambda old: old - {query})
                    self._told = _changed(changes, self._told, lambda old: old - {query})
                    self._wanted = None
            case Listening(until):
                if until != self.listening_until:
                    self._sent_window = None
                self.listening_until = until
            case Acknowledged(number):
                if self._sent is not None and self._sent.number == number:
                    self.acknowledged = self._sent
                    self._begun -= self._told
                elif self.acknowledged is not None and self.acknowledged.number != number:
                    self.acknowledged = self._sent = (
                        None  # it obeys another command, so it must be told again
                    )
            case Restarted():
                self.acknowledged = self._sent = None
                self._sent_window = None
            case Unanswered():
                if self.acknowledged is None:
                    self._sent = None

    def speak(self, time: int) -> tuple[Command, ...]:
        """The commands to send now."""
        if not self.mailbox and (self.listening_until is None or time >= self.listening_until):
            return ()
        if self.settled:
            return ()
        if (
            self._sent is not None
            and (self.mailbox or self._sent_window == self.listening_until)
            and self._begun <= self._told
            and self._sent == self._wish(self._sent.number)
            and self._sent is not self.acknowledged
        ):
            return ()  # already sent in this window, or in the mailbox: wait for the answer
        # A command without an answer may or may not have been obeyed, so it is no longer known what the
        # sensor does.
        self.acknowledged = None
        self.commanded += 1
        self._sent = self._wish(self.commanded)
        self._sent_window = self.listening_until
        self._told = self._begun
        return (self._sent,)

    def _owes(self, done: Command) -> bool:
        """Whether a query has started whose first reading the sensor, in this state, may hold back."""
        if not self._begun or not isinstance(done, StartSampling):
            return False
        everything = not done.demand.thins and done.demand.intervals in ((), (self.interval,))
        return not everything or done.program is not None

    def _want(self) -> Wanted:
        if self._wanted is None:
            if self.combined is not None:
                self._wanted = self.combined(self.queries)
            else:
                asked = (for_sensor(demand, self.sensor) for demand in self.queries.values())
                demand = combine(found for found in asked if found is not None)
                choose = None if demand is None else self.program_for
                self._wanted = demand, None if choose is None or demand is None else choose(demand)
        return self._wanted

    def _wish(self, number: int) -> Command:
        demand, program = self._want()
        if demand is None:
            return Sleep(number, self.listen_every)
        return StartSampling(number, demand, program, max(self.heartbeat, demand.heartbeat))
