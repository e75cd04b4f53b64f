"""One sensor's proxy: queries come and go, the sensor is told, in its listening windows, what they need of it together.

A pure state machine (fjords.txt section 3.2): `handle(event, time) -> commands`; no I/O and no clock. It lives as long as
the sensor, across all queries. The sensor's receiver is off most of the time, so a command is given out only while it
listens; until then the wish is kept, and only the latest. A command that is not acknowledged is sent again in the next
window. Nobody asking: the sensor is told to sleep and to listen now and then.

The law: after an acknowledgement in a window, with no event since, the sensor does what `combine` of the live queries'
demands says, and while wish and state agree nothing is sent.

What is asked of a sensor that filters: it sends its first reading after a command whatever the filter (a query's windows
start at the extent's first tuple), and a heartbeat at least every `heartbeat` (event time must go on).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from nilometer.edge.proxies.demand import Demand, combine, for_sensor
from nilometer.types import SECOND

# ---- events ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class QueryStarted:
    """A query needs this of the sensor's stream (again with another demand: it has changed)."""

    query: str
    demand: Demand


@dataclass(frozen=True)
class QueryStopped:
    """A query has ended."""

    query: str


@dataclass(frozen=True)
class Listening:
    """The sensor said, with a reading, that its receiver is on until then."""

    until: int


@dataclass(frozen=True)
class Acknowledged:
    """The sensor obeys the command of that number."""

    number: int


@dataclass(frozen=True)
class Restarted:
    """The sensor has lost what it was told: a new battery, a last will, a first hello."""


Event = QueryStarted | QueryStopped | Listening | Acknowledged | Restarted

# ---- commands --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Run:
    """Sample and send as the demand says, by the program of that name (None: the sensor has but one)."""

    number: int
    demand: Demand
    program: str | None
    heartbeat: int


@dataclass(frozen=True)
class Sleep:
    """Sample nothing; listen every so often whether somebody asks."""

    number: int
    listen_every: int


Command = Run | Sleep


@dataclass
class SensorProxy:
    """The proxy of one sensor. `program_for` picks the sensor's program (`programs.cheapest` for a traffic sensor)."""

    sensor: int | str
    listen_every: int = 5 * SECOND
    heartbeat: int = 10 * SECOND
    program_for: Callable[[Demand], str] | None = None
    queries: dict[str, Demand] = field(default_factory=dict)
    listening_until: int | None = None
    commanded: int = 0
    acknowledged: Command | None = None
    _sent: Command | None = None
    _sent_window: int | None = None

    @property
    def demand(self) -> Demand | None:
        """What the live queries need of this sensor; None: nothing, it may sleep."""
        asked = (for_sensor(demand, self.sensor) for demand in self.queries.values())
        return combine(demand for demand in asked if demand is not None)

    @property
    def asleep(self) -> bool:
        """Whether the sensor has said that it sleeps."""
        return isinstance(self.acknowledged, Sleep)

    @property
    def settled(self) -> bool:
        """Whether the sensor is known to do what is wanted of it."""
        return self.acknowledged is not None and self.acknowledged == self._wish(self.acknowledged.number)

    def handle(self, event: Event, time: int) -> tuple[Command, ...]:
        """Take note of an event at `time`; what is to be sent to the sensor now."""
        match event:
            case QueryStarted(query, demand):
                self.queries[query] = demand
            case QueryStopped(query):
                self.queries.pop(query, None)
            case Listening(until):
                if until != self.listening_until:
                    self._sent_window = None
                self.listening_until = until
            case Acknowledged(number):
                if self._sent is not None and self._sent.number == number:
                    self.acknowledged = self._sent
            case Restarted():
                self.acknowledged = self._sent = None
                self._sent_window = None
        return self._speak(time)

    def _speak(self, time: int) -> tuple[Command, ...]:
        if self.listening_until is None or time >= self.listening_until or self.settled:
            return ()
        if (
            self._sent is not None
            and self._sent_window == self.listening_until
            and self._sent == self._wish(self._sent.number)
        ):
            return ()  # said in this window already: wait for the answer
        # A command given and not answered may or may not have been obeyed: it is not known any more what the sensor does.
        self.acknowledged = None
        self.commanded += 1
        self._sent = self._wish(self.commanded)
        self._sent_window = self.listening_until
        return (self._sent,)

    def _wish(self, number: int) -> Command:
        demand = self.demand
        if demand is None:
            return Sleep(number, self.listen_every)
        program = None if self.program_for is None else self.program_for(demand)
        return Run(number, demand, program, self.heartbeat)
